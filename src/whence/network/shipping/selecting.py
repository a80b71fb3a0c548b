"""Aggregate selection before shipping: of the rows of a group that are derived here, only the best are sent.

A row that is outdone here is outdone at home as well, where the better one goes. It is withheld with all its
derivations, and sent when everything better that was derived here is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.model.types import Row
from whence.network.ledger import Ledger
from whence.network.numbering import Numbering
from whence.network.plan.selections import Selection
from whence.network.provenance.annotations import NEW, SAME, Annotations
from whence.network.shipping.ship import Ship
from whence.network.values import Writer

A = TypeVar("A")

# A relation, and what the rows of a group have in common.
Group: TypeAlias = tuple[str, Row]


class Selecting(Generic[A]):
    """`ship` gets to see the rows that are best, and relations of which all rows matter."""

    def __init__(
        self, ship: Ship[A], selections: Iterable[Selection], annotations: Annotations[A], journal: Journal
    ) -> None:
        self._ship = ship
        self._selections = {each.relation: each for each in selections}
        self._annotations = annotations
        self._rows = Numbering()
        self._derived = annotations.table(journal)
        self._groups: Ledger[Group, frozenset[Row]] = Ledger(journal)
        self._best: Ledger[Group, frozenset[Row]] = Ledger(journal)
        # Whose best rows may be others than before.
        self._unsettled: dict[Group, None] = {}

    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[A]) -> None:
        if relation not in self._selections:
            self._ship.offer(relation, rows, annotations)
            return
        effects = self._derived.add(self._rows.numbers(relation, rows), annotations)
        offered: list[int] = []
        for at, (row, effect) in enumerate(zip(rows, effects, strict=True)):
            if effect == SAME:
                continue
            group = self._group(relation, row)
            if effect == NEW:
                self._groups.put(group, self._groups.get(group, frozenset()) | {row})
                self._unsettled[group] = None
            elif row in self._best.get(group, ()):
                offered.append(at)
        self._ship.offer(relation, [rows[at] for at in offered], [annotations[at] for at in offered])

    def settle(self) -> None:
        for group in self._unsettled:
            relation = group[0]
            best = frozenset(self._selections[relation].chosen(self._groups.get(group, frozenset())))
            rows = sorted(best - self._best.get(group, frozenset()), key=repr)
            self._ship.offer(relation, rows, self._derived.of(self._rows.numbers(relation, rows)))
            _put(self._best, group, best)
        self._unsettled.clear()
        self._ship.settle()

    def retract(self, relation: str, rows: Sequence[Row], last: bool) -> None:
        self._ship.retract(relation, rows, last)

    def strike(self, ids: Collection[int]) -> None:
        for number in self._derived.strike(ids):
            relation, row = self._rows.tuples[number]
            group = self._group(relation, row)
            _put(self._groups, group, self._groups[group] - {row})
            _put(self._best, group, self._best.get(group, frozenset()) - {row})
            self._unsettled[group] = None
        self._ship.strike(ids)

    def start_over(self, relations: Collection[str]) -> None:
        self._ship.start_over(relations)

    def flush(self) -> bool:
        return self._ship.flush()

    def write(self, writer: Writer) -> None:
        numbers = self._derived.rows()
        writer.rows(self._rows.tuples[number][1] for number in numbers)
        writer.block(self._annotations.write(self._derived.of(numbers)))
        self._ship.write(writer)

    def _group(self, relation: str, row: Row) -> Group:
        return relation, self._selections[relation].group_of(row)


def _put(table: Ledger[Group, frozenset[Row]], group: Group, rows: frozenset[Row]) -> None:
    if rows:
        table.put(group, rows)
    elif group in table:
        table.drop(group)
