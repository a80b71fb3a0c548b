"""Aggregate selection: of the rows of a group only the best matter, where they are derived and where they are at home.

The others are kept, with all their derivations, and come back when everything better is gone. A row that is outdone
where it is derived is outdone at home as well, where the better one goes: so it is not even sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from whence.incremental.recursive.journal import UndoLog
from whence.lab.network.held import Numbering
from whence.lab.network.node import Node
from whence.lab.network.plan.placements import Selection
from whence.lab.network.provenance.annotations import NEW, SAME, Annotations
from whence.lab.network.recursion.part import News, RecursivePart, RecursiveStage
from whence.lab.network.recursion.ship import Ship
from whence.lab.network.values import ValueWriter
from whence.model.types import Row

A = TypeVar("A")

# A relation, and what the rows of a group have in common.
Group: TypeAlias = tuple[str, Row]


class SelectionGroups:
    """The rows of each group, and which groups may have other best rows than before, to be settled."""

    def __init__(self, selections: Iterable[Selection], journal: UndoLog) -> None:
        self.selections = {each.relation: each for each in selections}
        self._journal = journal
        self._rows: dict[Group, frozenset[Row]] = {}
        self._unsettled: dict[Group, None] = {}

    def group(self, relation: str, row: Row) -> Group:
        return relation, self.selections[relation].group_of(row)

    def add(self, relation: str, row: Row) -> None:
        group = self.group(relation, row)
        self._put(group, self._rows.get(group, frozenset()) | {row})

    def remove(self, relation: str, row: Row) -> None:
        group = self.group(relation, row)
        self._put(group, self._rows.get(group, frozenset()) - {row})

    def settle(self) -> Iterator[tuple[Group, frozenset[Row], frozenset[Row]]]:
        """Each group that is not settled, with its rows and the best of them."""
        for group in self._unsettled:
            rows = self._rows.get(group, frozenset())
            yield group, rows, frozenset(self.selections[group[0]].chosen(rows))
        self._unsettled.clear()

    def abandon(self) -> None:
        self._unsettled.clear()

    def _put(self, group: Group, rows: frozenset[Row]) -> None:
        self._unsettled[group] = None
        self._journal.put(self._rows, group, rows)


class SelectingShip(Ship[A]):
    """`ship` gets to see the rows that are best, and relations of which all rows matter."""

    def __init__(
        self, ship: Ship[A], selections: Iterable[Selection], annotations: Annotations[A], journal: UndoLog
    ) -> None:
        self._ship = ship
        self._annotations = annotations
        self._journal = journal
        self._rows = Numbering()
        self._derived = annotations.table(journal)
        self._groups = SelectionGroups(selections, journal)
        self._best: dict[Group, frozenset[Row]] = {}

    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[A]) -> None:
        if relation not in self._groups.selections:
            self._ship.offer(relation, rows, annotations)
            return
        effects = self._derived.add(self._rows.numbers(relation, rows), annotations)
        offered: list[int] = []
        for at, (row, effect) in enumerate(zip(rows, effects, strict=True)):
            if effect == NEW:
                self._groups.add(relation, row)
            elif effect != SAME and row in self._best.get(self._groups.group(relation, row), ()):
                offered.append(at)
        self._ship.offer(relation, [rows[at] for at in offered], [annotations[at] for at in offered])

    def settle(self) -> None:
        for group, _, best in self._groups.settle():
            relation = group[0]
            rows = sorted(best - self._best.get(group, frozenset()), key=repr)
            self._ship.offer(relation, rows, self._derived.of(self._rows.numbers(relation, rows)))
            self._journal.put(self._best, group, best)
        self._ship.settle()

    def retract(self, relation: str, rows: Sequence[Row], last: bool) -> None:
        self._ship.retract(relation, rows, last)

    def strike(self, ids: Collection[int]) -> None:
        for number in self._derived.strike(ids):
            relation, row = self._rows.tuples[number]
            group = self._groups.group(relation, row)
            self._groups.remove(relation, row)
            self._journal.put(self._best, group, self._best.get(group, frozenset()) - {row})
        self._ship.strike(ids)

    def start_over(self, relations: Collection[str]) -> None:
        self._ship.start_over(relations)

    def flush(self) -> bool:
        return self._ship.flush()

    def write(self, writer: ValueWriter) -> None:
        numbers = self._derived.rows()
        writer.rows(self._rows.tuples[number][1] for number in numbers)
        writer.block(self._annotations.write(self._derived.of(numbers)))
        self._ship.write(writer)


class SelectingPart(RecursivePart[A]):
    def __init__(self, shared: RecursiveStage, node: Node[A], ship: Ship[A]) -> None:
        super().__init__(shared, node, ship)
        self._groups = SelectionGroups(shared.stage.selections, node.context.journal)

    def learn(self, rows: Sequence[int]) -> None:
        selected, others = self._divided(rows)
        super().learn(others)
        for number in selected:
            self._groups.add(*self.rows.tuples[number])

    def is_shown(self, row: int) -> bool:
        relation, there = self.rows.tuples[row]
        return there in self.own[relation].counts

    def leave(self, rows: Sequence[int]) -> None:
        selected, others = self._divided(rows)
        super().leave(others)
        for number in selected:
            self._groups.remove(*self.rows.tuples[number])
        self.show([number for number in selected if self.is_shown(number)], -1)

    def settle(self, news: News[A]) -> None:
        for (relation, _), rows, best in self._groups.settle():
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
        super().settle(news)

    def abandon(self) -> None:
        super().abandon()
        self._groups.abandon()

    def _divided(self, rows: Iterable[int]) -> tuple[list[int], list[int]]:
        """Those that are selected from, and the others."""
        selected: list[int] = []
        others: list[int] = []
        for number in rows:
            (selected if self.rows.tuples[number][0] in self._groups.selections else others).append(number)
        return selected, others
