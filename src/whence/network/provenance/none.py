"""No provenance: a row is there. Deletes have to find out what follows from it (see `recursion.over_deleting`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from whence.engines.local.recursive.journal import Journal
from whence.model.types import Row
from whence.network.ledger import Ledger
from whence.network.provenance.annotations import NEW, SAME
from whence.network.values import DamagedError


class Nothing:
    def leaf(self, tuple_id: int) -> bool:  # noqa: ARG002 - all leaves say the same
        return True

    def derived(self, relation: str, heads: Sequence[Row], rule: int, bodies: Sequence[Sequence[bool]]) -> list[bool]:  # noqa: ARG002 - all derivations, too
        return [True] * len(heads)

    def plus(self, left: bool, right: bool) -> bool:
        return left or right

    def without(self, annotations: Sequence[bool], ids: Collection[int]) -> list[bool]:  # noqa: ARG002 - no leaves
        return list(annotations)

    def is_zero(self, annotation: bool) -> bool:
        return not annotation

    def table(self, journal: Journal) -> Presence:
        return Presence(journal)

    def write(self, annotations: Sequence[bool]) -> bytes:  # noqa: ARG002 - nothing to write
        return b""

    def read(self, data: bytes, count: int) -> list[bool]:
        if data:
            raise DamagedError("annotations where there should be none")
        return [True] * count

    def arrange(self, order: Sequence[int]) -> None:
        """There is nothing to arrange."""

    def tidy(self) -> None:
        """There is nothing to leave behind."""

    def settle(self) -> None:
        """Tables are settled with the journal."""


class Presence:
    """A table without annotations: the rows that are there."""

    def __init__(self, journal: Journal) -> None:
        self._rows: Ledger[int, bool] = Ledger(journal)

    def __contains__(self, row: int) -> bool:
        return row in self._rows

    def rows(self) -> list[int]:
        return list(self._rows)

    def of(self, rows: Sequence[int]) -> list[bool]:
        return [True] * len(rows)

    def add(self, rows: Sequence[int], annotations: Sequence[bool], *, keeps_first: bool = False) -> list[int]:  # noqa: ARG002 - all of them say the same
        present = self._rows
        effects: list[int] = []
        for row in rows:
            if row in present:
                effects.append(SAME)
            else:
                present.put(row, True)
                effects.append(NEW)
        return effects

    def drop(self, rows: Sequence[int]) -> None:
        for row in rows:
            self._rows.drop(row)

    def strike(self, ids: Collection[int]) -> list[int]:  # noqa: ARG002 - no leaves
        return []
