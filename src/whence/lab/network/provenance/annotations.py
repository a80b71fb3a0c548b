"""The annotations of rows in a recursive view, whatever they say.

Annotations are sums of products over leaves: tuples that the view reads, by their ids. A row is there unless its
annotation is zero, and the annotation is zero as soon as no derivation is left without a leaf that is gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from whence.incremental.recursive.journal import UndoLog
from whence.lab.network.held import HeldLedger
from whence.lab.network.values import DamagedError
from whence.model.types import Row

A = TypeVar("A")

# What it does to the annotation of a row when another one is added: nothing, something, or it is the first.
SAME, MORE, NEW = range(3)


class AnnotationTable(Protocol[A]):
    """The annotations of rows that have numbers. Changes are taken back with the journal that it was made for."""

    def __contains__(self, row: int) -> bool: ...

    def rows(self) -> Sequence[int]: ...

    def of(self, rows: Sequence[int]) -> list[A]:
        """The annotations of rows that have one."""

    def add(self, rows: Sequence[int], annotations: Sequence[A], *, keeps_first: bool = False) -> Sequence[int]:
        """Add annotations to those of rows, one after the other: for each SAME, MORE or NEW.

        If the first one of a row is kept, MORE tells that it says less than both would.
        """

    def drop(self, rows: Sequence[int]) -> None:
        """These have none any more."""

    def strike(self, ids: Collection[int]) -> list[int]:
        """Leaves are gone: the rows of whose annotations nothing is left, and which have none from now on."""


class Annotations(ABC, Generic[A]):
    @abstractmethod
    def leaf(self, tuple_id: int) -> A: ...

    @abstractmethod
    def derived(self, relation: str, heads: Sequence[Row], rule: int, bodies: Sequence[Sequence[A]]) -> Sequence[A]:
        """Derivations by the rule of that number, from rows with these annotations: a sequence for every literal."""

    @abstractmethod
    def plus(self, left: A, right: A) -> A: ...

    @abstractmethod
    def without(self, annotations: Sequence[A], ids: Collection[int]) -> list[A]:
        """What is left of each when these tuples are gone."""

    @abstractmethod
    def is_zero(self, annotation: A) -> bool: ...

    @abstractmethod
    def table(self, journal: UndoLog) -> AnnotationTable[A]: ...

    @abstractmethod
    def write(self, annotations: Sequence[A]) -> bytes:
        """The annotations of a batch, which may share what they have in common."""

    @abstractmethod
    def read(self, data: bytes, count: int) -> list[A]:
        """So many annotations from bytes; a DamagedError if they are not in there."""

    def arrange(self, order: Sequence[int]) -> None:
        """Take the leaves in this order from now on, where that makes a difference."""

    def tidy(self) -> None:
        """Only tables hold annotations at this moment."""

    def settle(self) -> None:
        """A change is over, or was taken back."""


class ValueAnnotations(Annotations[A]):
    """Annotations that are Python values, each with leaves that can be told."""

    @abstractmethod
    def leaves(self, annotation: A, known: A | None) -> Iterable[int]:
        """The tuples that it says anything about, and at least those of them of which `known` says nothing."""

    def table(self, journal: UndoLog) -> ValueTable[A]:
        return ValueTable(self, journal)


class ValueTable(Generic[A]):
    """Annotations by row, with an index of their leaves."""

    def __init__(self, algebra: ValueAnnotations[A], journal: UndoLog) -> None:
        self._algebra = algebra
        self._notes: HeldLedger[int, A] = HeldLedger(journal)
        # The rows that may hold a leaf, never too few: what an annotation has lost by itself is not looked for here.
        self._holders: HeldLedger[int, dict[int, None]] = HeldLedger(journal)

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
            for leaf in self._algebra.leaves(total, known):
                if leaf not in self._holders:
                    self._holders.put(leaf, {})
                self._holders[leaf][row] = None
        return NEW if known is None else MORE

    def drop(self, rows: Sequence[int]) -> None:
        for row in rows:
            self._notes.drop(row)

    def strike(self, ids: Collection[int]) -> list[int]:
        struck = [leaf for leaf in ids if leaf in self._holders]
        rows = [row for row in dict.fromkeys(row for leaf in struck for row in self._holders[leaf]) if row in self]
        for leaf in struck:
            self._holders.drop(leaf)
        gone: list[int] = []
        for row, left in zip(rows, self._algebra.without(self.of(rows), ids), strict=True):
            if self._algebra.is_zero(left):
                self._notes.drop(row)
                gone.append(row)
            else:
                self._notes.put(row, left)
        return gone


class Nothing(ValueAnnotations[bool]):
    """No provenance: a row is there. Deletes have to find out what follows from it (see `recursion.over_delete`)."""

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

    def leaves(self, annotation: bool, known: bool | None) -> Iterable[int]:  # noqa: ARG002 - no leaves
        return ()

    def write(self, annotations: Sequence[bool]) -> bytes:  # noqa: ARG002 - nothing to write
        return b""

    def read(self, data: bytes, count: int) -> list[bool]:
        if data:
            raise DamagedError("annotations where there should be none")
        return [True] * count
