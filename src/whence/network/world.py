"""All nodes of a program, and how a change goes through them.

Stages take turns: one begins when the network is quiet after the one before. This process sees that it is quiet; on
machines of their own nodes would have to find out, with messages that are not counted here. Within a stage nodes work
on what arrives when it arrives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whence.analysis.analyze import Analysis
from whence.engines.engine import Functions
from whence.engines.local.recursive.journal import Journal
from whence.engines.reference.fixpoint import Limits
from whence.model.types import Row
from whence.model.updates import Delta, Update
from whence.network.counted import CountedPart, CountedStage
from whence.network.exchange import Exchange
from whence.network.messages import Counts, Deleted, Derived, Rows, Section, Struck
from whence.network.node import Node, Surroundings
from whence.network.options import Options
from whence.network.ordering import Ordering
from whence.network.placing import Placing
from whence.network.plan.localize import localize
from whence.network.plan.placements import Way
from whence.network.recursion.over_deleting import OverDeletingPart
from whence.network.recursion.part import RecursivePart
from whence.network.recursion.stage import RecursiveStage
from whence.network.values import DamagedError
from whence.network.wire import Wire


class World:
    def __init__(
        self, analysis: Analysis, functions: Functions, limits: Limits, options: Options, placing: Placing, wire: Wire
    ) -> None:
        plan = localize(analysis, functions, options.partition, options.best, options.selects)
        self._visible = tuple(analysis.relations)
        self._options = options
        self._wire = wire
        self._journal = Journal()
        self._surroundings = Surroundings(plan, placing, functions, limits, self._journal)
        self._exchange = Exchange(plan, everywhere=options.provenance != "none")
        self._ordering = Ordering(plan) if options.order == "depth-first" else None
        self._stages = [
            RecursiveStage(stage, plan, limits)
            if stage.way is Way.RECURSIVE
            else CountedStage(stage, plan, functions, limits)
            for stage in plan.stages
        ]
        self._nodes: dict[int, Node[Any]] = {}
        self._parts: dict[tuple[int, int], CountedPart | RecursivePart[Any]] = {}
        self._fresh = True
        if self._surroundings.gathering is not None:
            self._node(self._surroundings.gathering)

    @property
    def nodes(self) -> Mapping[int, Node[Any]]:
        return self._nodes

    def recursive_parts(self, node: int) -> list[RecursivePart[Any]]:
        """What a node does for recursive views."""
        return [part for (_, at), part in self._parts.items() if at == node and isinstance(part, RecursivePart)]

    def change(self, update: Update) -> Mapping[str, Delta]:
        """What follows from a change of base tables, in every relation. It happens on all nodes, or on none."""
        self._wire.start()
        try:
            for name, delta in update.deltas.items():
                for row, change in delta.items():
                    self._node(self._surroundings.home(name, row)).held(name).change(row, change)
            self._announce(self._surroundings.plan.base)
            for number in range(len(self._stages)):
                self._run(number)
        except BaseException:
            self._journal.undo()
            for part in self._parts.values():
                part.abandon()
            self._settle()
            raise
        deltas = {name: delta for name in self._visible if (delta := self._changed(name))}
        self._journal.settle()
        self._settle()
        self._fresh = False
        return deltas

    def counts(self, relation: str) -> dict[Row, int]:
        counts: dict[Row, int] = {}
        for node in self._nodes.values():
            counts.update(node.held(relation).store.counts)
        return counts

    def _changed(self, relation: str) -> dict[Row, int]:
        delta: dict[Row, int] = {}
        for node in self._nodes.values():
            delta.update(node.held(relation).changed)
        return delta

    def _settle(self) -> None:
        for node in self._nodes.values():
            node.settle()

    def _announce(self, relations: Sequence[str]) -> None:
        """What has changed in these relations goes where it is read."""
        for node in list(self._nodes.values()):
            for relation in relations:
                self._exchange.announce(node, relation, self._nodes.keys())
        self._exchange_all(None)
        if self._ordering is not None:
            self._ordering.follow(self._nodes.values())

    def _run(self, number: int) -> None:
        stage = self._stages[number].stage
        if not self._fresh and not any(
            node.held(name).changed for node in self._nodes.values() for name in stage.reads
        ):
            return
        gathering = self._surroundings.gathering
        phases = self._options.phases if stage.way is Way.RECURSIVE else 1
        for phase in range(phases):
            renew = any(part.removed for (at, _), part in self._parts.items() if at == number)
            for node in list(self._nodes):
                self._part(number, node).enter(phase, renew)
            if self._fresh and phase == 0 and gathering is not None:
                self._part(number, gathering).begin()
            self._exchange_all(number)
        for (at, _), part in self._parts.items():
            if at == number:
                part.finish()
        self._announce(stage.relations)

    def _exchange_all(self, number: int | None) -> None:
        """Round after round, until nothing is under way and nobody has anything to say."""
        rounds = 0
        while True:
            local = self._post()
            if not local and not self._wire.is_busy:
                if number is None or not self._flush(number):
                    return
                continue
            arrived = [*local, *self._wire.tick()]
            for sender, receiver, sections in arrived:
                self._deliver(number, sender, receiver, sections)
            if number is not None:
                for receiver in dict.fromkeys(receiver for _, receiver, _ in arrived):
                    self._part(number, receiver).work()
                rounds += 1
                self._brake(number, rounds)

    def _flush(self, number: int) -> bool:
        flushed = [part.flush() for (at, _), part in self._parts.items() if at == number]
        return any(flushed)

    def _post(self) -> list[tuple[int, int, Sequence[Section]]]:
        """Everything that nodes have to say goes out, except for what they say to themselves."""
        local: list[tuple[int, int, Sequence[Section]]] = []
        for node in list(self._nodes.values()):
            for receiver, sections in node.outbox.take().items():
                if receiver == node.number:
                    local.append((receiver, receiver, sections))
                else:
                    self._wire.post(node.number, receiver, sections)
        return local

    def _deliver(self, number: int | None, sender: int, receiver: int, sections: Sequence[Section]) -> None:
        node = self._node(receiver)
        try:
            for section in sections:
                self._hear(number, node, section)
        except DamagedError as reason:
            raise self._wire.unreadable(sender, receiver, reason) from None

    def _hear(self, number: int | None, node: Node[Any], section: Section) -> None:
        part = None if number is None else self._part(number, node.number)
        match section, part:
            case Rows(), None:
                node.take_rows(section)
            case Struck(ids=ids), None:
                for tuple_id in ids:
                    node.strike(tuple_id)
            case Struck(ids=ids), RecursivePart():
                part.strike(ids)
            case Derived(), RecursivePart():
                part.receive(section)
            case Deleted(), OverDeletingPart():
                part.receive_deleted(section)
            case Counts(), CountedPart():
                part.receive(section)
            case _:
                raise DamagedError(f"it tells of {type(section).__name__.lower()}, and nobody asked for that")

    def _brake(self, number: int, rounds: int) -> None:
        """Stop a recursion that makes new values without end."""
        stage = self._stages[number]
        if not isinstance(stage, RecursiveStage) or stage.brake.depth == float("inf"):
            return
        parts = [part for (at, _), part in self._parts.items() if at == number and isinstance(part, RecursivePart)]
        rules = {rule.head.relation: rule for rule in stage.stage.rules}
        for name in stage.stage.relations:
            stage.brake.check_size(sum(len(part.own[name].counts) for part in parts), rules[name])
        latest = [part.latest for part in parts if part.latest is not None]
        for part in parts:
            part.latest = None
        if latest and rounds > stage.brake.depth * stage.hops * self._wire.slowest:
            relation, row = latest[0]
            raise stage.brake.too_deep(row, rules.get(relation, stage.stage.rules[0]))

    def _node(self, number: int) -> Node[Any]:
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes[number] = Node(number, self._surroundings, self._options.annotations())
        return node

    def _part(self, stage: int, node: int) -> CountedPart | RecursivePart[Any]:
        part = self._parts.get((stage, node))
        if part is None:
            shared = self._stages[stage]
            there = self._node(node)
            part = (
                CountedPart(shared, there)
                if isinstance(shared, CountedStage)
                else self._options.part(shared, there, self._journal)
            )
            self._parts[stage, node] = part
        return part
