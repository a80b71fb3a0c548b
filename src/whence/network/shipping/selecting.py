"""Aggregate selection before shipping: of the rows of a group that are derived here, only the best are sent.

A row that is outdone here is outdone at home as well, where the better one goes. It is withheld with all its
derivations, and sent when everything better that was derived here is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Generic, TypeAlias, TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.model.types import Row
from whence.network.holders import Holders
from whence.network.ledger import Ledger
from whence.network.plan.selections import Selection
from whence.network.provenance.annotations import Annotations
from whence.network.shipping.ship import Ship, Target
from whence.network.values import Writer

A = TypeVar("A")

# A node, a relation, and what the rows of a group have in common.
Group: TypeAlias = tuple[int, str, Row]


class Selecting(Generic[A]):
    """`ship` gets to see the rows that are best, and relations of which all rows matter."""

    def __init__(
        self, ship: Ship[A], selections: Iterable[Selection], annotations: Annotations[A], journal: Journal
    ) -> None:
        self._ship = ship
        self._selections = {each.relation: each for each in selections}
        self._annotations = annotations
        self._derived: Ledger[Target, A] = Ledger(journal)
        self._groups: Ledger[Group, frozenset[Row]] = Ledger(journal)
        self._best: Ledger[Group, frozenset[Row]] = Ledger(journal)
        self._holders: Holders[Target] = Holders(journal)
        # Whose best rows may be others than before.
        self._unsettled: dict[Group, None] = {}

    def offer(self, target: Target, annotation: A) -> None:
        if target[1] not in self._selections:
            self._ship.offer(target, annotation)
            return
        known = self._derived.get(target)
        total = annotation if known is None else self._annotations.plus(known, annotation)
        if total == known:
            return
        self._derived.put(target, total)
        self._holders.add(target, self._annotations.leaves(total, known))
        group = self._group(target)
        if known is None:
            self._groups.put(group, self._groups.get(group, frozenset()) | {target[2]})
            self._unsettled[group] = None
        elif target[2] in self._best.get(group, ()):
            self._ship.offer(target, annotation)

    def settle(self) -> None:
        for group in self._unsettled:
            node, relation, _ = group
            rows = self._groups.get(group, frozenset())
            best = frozenset(self._selections[relation].chosen(rows))
            for row in sorted(best - self._best.get(group, frozenset()), key=repr):
                self._ship.offer((node, relation, row), self._derived[node, relation, row])
            _put(self._best, group, best)
        self._unsettled.clear()
        self._ship.settle()

    def retract(self, target: Target, last: bool) -> None:
        self._ship.retract(target, last)

    def strike(self, ids: Collection[int]) -> None:
        targets = [target for target in self._holders.take(ids) if target in self._derived]
        annotations = self._annotations.without([self._derived[target] for target in targets], ids)
        for target, left in zip(targets, annotations, strict=True):
            if self._annotations.is_zero(left):
                self._forget(target)
            else:
                self._derived.put(target, left)
        self._ship.strike(ids)

    def start_over(self, relations: Collection[str]) -> None:
        self._ship.start_over(relations)

    def flush(self) -> bool:
        return self._ship.flush()

    def write(self, writer: Writer) -> None:
        for _, _, row in self._derived:
            writer.row(row)
        writer.block(self._annotations.write(list(self._derived.values())))
        self._ship.write(writer)

    def _group(self, target: Target) -> Group:
        node, relation, row = target
        return node, relation, self._selections[relation].group_of(row)

    def _forget(self, target: Target) -> None:
        self._derived.drop(target)
        group = self._group(target)
        _put(self._groups, group, self._groups[group] - {target[2]})
        _put(self._best, group, self._best.get(group, frozenset()) - {target[2]})
        self._unsettled[group] = None


def _put(table: Ledger[Group, frozenset[Row]], group: Group, rows: frozenset[Row]) -> None:
    if rows:
        table.put(group, rows)
    elif group in table:
        table.drop(group)
