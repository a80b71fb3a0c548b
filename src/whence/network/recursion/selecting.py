"""A recursive view of whose rows only the best matter: the others are kept, and come back when better ones are gone."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from whence.model.types import Row
from whence.network.ledger import Ledger
from whence.network.node import Node
from whence.network.recursion.part import Key, RecursivePart
from whence.network.recursion.stage import RecursiveStage
from whence.network.shipping.ship import Ship

A = TypeVar("A")

# A relation, and what the rows of a group have in common.
Group: TypeAlias = tuple[str, Row]


class SelectingPart(RecursivePart[A]):
    def __init__(self, shared: RecursiveStage, node: Node[A], ship: Ship[A]) -> None:
        super().__init__(shared, node, ship)
        self._selections = {each.relation: each for each in shared.stage.selections}
        self._groups: Ledger[Group, frozenset[Row]] = Ledger(node.surroundings.journal)
        # Whose best rows may be others than before.
        self._unsettled: dict[Group, None] = {}

    def learn(self, key: Key, annotation: A, is_new: bool, news: dict[Key, list[A]]) -> None:
        relation, row = key
        if relation not in self._selections:
            super().learn(key, annotation, is_new, news)
        elif is_new:
            self._put(key, {row}, set())
        elif row in self.own[relation].counts:
            news.setdefault(key, []).append(annotation)

    def leave(self, key: Key) -> None:
        relation, row = key
        if relation not in self._selections:
            super().leave(key)
            return
        self.notes.drop(key)
        self._put(key, set(), {row})
        if row in self.own[relation].counts:
            self.show(key, -1)

    def settle(self, news: dict[Key, list[A]]) -> None:
        for group in self._unsettled:
            relation = group[0]
            rows = self._groups.get(group, frozenset())
            best = self._selections[relation].chosen(rows)
            shown = self.own[relation].counts
            for row in rows - best:
                if row in shown:
                    self.show((relation, row), -1)
                    news.pop((relation, row), None)
            for row in best:
                if row not in shown:
                    self.show((relation, row), 1)
                    self.latest = (relation, row)
                    news[relation, row] = [self.notes[relation, row]]
        self._unsettled.clear()
        super().settle(news)

    def abandon(self) -> None:
        super().abandon()
        self._unsettled.clear()

    def _put(self, key: Key, come: set[Row], gone: set[Row]) -> None:
        relation, row = key
        group = (relation, self._selections[relation].group_of(row))
        self._unsettled[group] = None
        rows = (self._groups.get(group, frozenset()) | come) - gone
        if rows:
            self._groups.put(group, rows)
        elif group in self._groups:
            self._groups.drop(group)
