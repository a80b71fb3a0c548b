"""A table of annotations that are Python values, with an index of their leaves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.network.holders import Holders
from whence.network.ledger import Ledger
from whence.network.provenance.annotations import MORE, NEW, SAME, LeafAware

A = TypeVar("A")


class PlainTable(Generic[A]):
    def __init__(self, algebra: LeafAware[A], journal: Journal) -> None:
        self._algebra = algebra
        self._notes: Ledger[int, A] = Ledger(journal)
        self._holders: Holders[int] = Holders(journal)

    def __contains__(self, row: int) -> bool:
        return row in self._notes

    def rows(self) -> list[int]:
        return list(self._notes)

    def of(self, rows: Sequence[int]) -> list[A]:
        return [self._notes[row] for row in rows]

    def add(self, rows: Sequence[int], annotations: Sequence[A], *, keeps_first: bool = False) -> list[int]:
        return [self._add(row, annotation, keeps_first) for row, annotation in zip(rows, annotations, strict=True)]

    def _add(self, row: int, annotation: A, keeps_first: bool) -> int:
        known = self._notes.get(row)
        total = annotation if known is None else self._algebra.plus(known, annotation)
        if total == known:
            return SAME
        if known is None or not keeps_first:
            self._notes.put(row, total)
            self._holders.add(row, self._algebra.leaves(total, known))
        return NEW if known is None else MORE

    def drop(self, rows: Sequence[int]) -> None:
        for row in rows:
            self._notes.drop(row)

    def strike(self, ids: Collection[int]) -> list[int]:
        rows = [row for row in self._holders.take(ids) if row in self._notes]
        gone: list[int] = []
        for row, left in zip(rows, self._algebra.without(self.of(rows), ids), strict=True):
            if self._algebra.is_zero(left):
                self._notes.drop(row)
                gone.append(row)
            else:
                self._notes.put(row, left)
        return gone
