"""The annotations of rows in a recursive view, whatever they say.

Annotations are sums of products over leaves: tuples that the view reads, by their ids. A row is there unless its
annotation is zero, and the annotation is zero as soon as no derivation is left without a leaf that is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.model.types import Row

A = TypeVar("A")

# A row of a relation, by its name at home.
Tuple: TypeAlias = tuple[str, Row]

# What it does to the annotation of a row when another one is added: nothing, something, or it is the first.
SAME, MORE, NEW = range(3)


class Table(Protocol[A]):
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


class Annotations(Protocol[A]):
    def leaf(self, tuple_id: int) -> A: ...

    def derived(self, relation: str, heads: Sequence[Row], rule: int, bodies: Sequence[Sequence[A]]) -> Sequence[A]:
        """Derivations by the rule of that number, from rows with these annotations: a sequence for every literal."""

    def plus(self, left: A, right: A) -> A: ...

    def without(self, annotations: Sequence[A], ids: Collection[int]) -> list[A]:
        """What is left of each when these tuples are gone."""

    def is_zero(self, annotation: A) -> bool: ...

    def table(self, journal: Journal) -> Table[A]: ...

    def write(self, annotations: Sequence[A]) -> bytes:
        """The annotations of a batch, which may share what they have in common."""

    def read(self, data: bytes, count: int) -> list[A]:
        """So many annotations from bytes; a DamagedError if they are not in there."""

    def arrange(self, order: Sequence[int]) -> None:
        """Take the leaves in this order from now on, where that makes a difference."""

    def tidy(self) -> None:
        """Nobody has annotations at this moment but those in tables."""

    def settle(self) -> None:
        """A change is over, or was taken back."""


class LeafAware(Protocol[A]):
    """What a table of single values asks of annotations."""

    def plus(self, left: A, right: A) -> A: ...

    def without(self, annotations: Sequence[A], ids: Collection[int]) -> list[A]: ...

    def is_zero(self, annotation: A) -> bool: ...

    def leaves(self, annotation: A, known: A | None) -> Iterable[int]:
        """The tuples that it says anything about, and at least those of them of which `known` says nothing."""
