"""A finished relation goes where rules read it: new rows as copies, and of those that are gone the ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from whence.model.types import Row
from whence.network.node import Node
from whence.network.plan.placements import Column, LocalProgram, value_at

A = TypeVar("A")


class Exchange:
    """`everywhere`: derivations carry ids along, so that every node must hear which are gone."""

    def __init__(self, plan: LocalProgram, everywhere: bool) -> None:
        read = {name for stage in plan.stages for name in stage.reads}
        self._copies = {
            relation: {name: column for name, column in copies.items() if name in read}
            for relation, copies in plan.placements.copies.items()
        }
        self._broadcast = plan.leaves if everywhere else frozenset()
        self._leaves = plan.leaves

    def announce(self, node: Node[A], relation: str, nodes: Collection[int]) -> None:
        """Tell who must know what has changed in a relation at home here."""
        held = node.held(relation)
        copies = self._copies.get(relation, {})
        if not held.changed or not (copies or relation in self._leaves):
            return
        for row, change in held.changed.items():
            if row not in held.store.counts:
                self._strike(node, relation, row, copies, nodes)
                continue
            if row not in held.ids:
                held.ids.put(row, node.new_id())
            for name, column in copies.items():
                target = node.surroundings.placing.node(value_at(row, column))
                node.outbox.row(target, name, held.ids[row], row, change)

    def _strike(
        self, node: Node[A], relation: str, row: Row, copies: dict[str, Column], nodes: Collection[int]
    ) -> None:
        held = node.held(relation)
        tuple_id = held.ids[row]
        held.ids.drop(row)
        targets: Iterable[int] = {node.surroundings.placing.node(value_at(row, at)) for at in copies.values()}
        if relation in self._broadcast:
            targets = {*nodes, *targets}
        for target in sorted(targets):
            if target != node.number:
                node.outbox.struck(target, tuple_id)
        node.strike(tuple_id)
