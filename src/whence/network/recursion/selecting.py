"""A recursive view of whose rows only the best matter: the others are kept, and come back when better ones are gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

from whence.model.types import Row
from whence.network.ledger import Ledger
from whence.network.node import Node
from whence.network.recursion.part import News, RecursivePart
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

    def learn(self, rows: Sequence[int]) -> None:
        selected, others = self._divided(rows)
        super().learn(others)
        for number in selected:
            self._put(number, come=True)

    def is_shown(self, row: int) -> bool:
        relation, there = self.rows.tuples[row]
        return there in self.own[relation].counts

    def leave(self, rows: Sequence[int]) -> None:
        selected, others = self._divided(rows)
        super().leave(others)
        for number in selected:
            self._put(number, come=False)
        self.show([number for number in selected if self.is_shown(number)], -1)

    def settle(self, news: News[A]) -> None:
        for group in self._unsettled:
            relation = group[0]
            rows = self._groups.get(group, frozenset())
            best = self._selections[relation].chosen(rows)
            shown = self.own[relation].counts
            outdone = self.rows.numbers(relation, [row for row in rows - best if row in shown])
            self.show(outdone, -1)
            for number in outdone:
                news.pop(number, None)
            come = self.rows.numbers(relation, [row for row in best if row not in shown])
            self.show(come, 1)
            for number, annotation in zip(come, self.notes.of(come), strict=True):
                self.latest = self.rows.tuples[number]
                news[number] = [annotation]
        self._unsettled.clear()
        super().settle(news)

    def abandon(self) -> None:
        super().abandon()
        self._unsettled.clear()

    def _divided(self, rows: Iterable[int]) -> tuple[list[int], list[int]]:
        """Those that are selected from, and the others."""
        selected: list[int] = []
        others: list[int] = []
        for number in rows:
            (selected if self.rows.tuples[number][0] in self._selections else others).append(number)
        return selected, others

    def _put(self, number: int, *, come: bool) -> None:
        relation, row = self.rows.tuples[number]
        group = (relation, self._selections[relation].group_of(row))
        self._unsettled[group] = None
        before = self._groups.get(group, frozenset())
        rows = before | {row} if come else before - {row}
        if rows:
            self._groups.put(group, rows)
        elif group in self._groups:
            self._groups.drop(group)
