"""The annotations of rows in a recursive view, whatever they say.

Annotations are sums of products over leaves: tuples that the view reads, by their ids. A row is there unless its
annotation is zero, and the annotation is zero as soon as no derivation is left without a leaf that is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from whence.model.types import Row

A = TypeVar("A")

# A row of a relation, by its name at home.
Tuple: TypeAlias = tuple[str, Row]


class Annotations(Protocol[A]):
    def leaf(self, tuple_id: int) -> A: ...

    def derived(self, head: Tuple, rule: int, body: Sequence[A]) -> A:
        """One derivation by the rule of that number, from rows with these annotations."""

    def plus(self, left: A, right: A) -> A: ...

    def without(self, annotations: Sequence[A], ids: Collection[int]) -> list[A]:
        """What is left of each when these tuples are gone."""

    def is_zero(self, annotation: A) -> bool: ...

    def leaves(self, annotation: A, known: A | None) -> Iterable[int]:
        """The tuples that it says anything about, and at least those of them of which `known` says nothing."""

    def write(self, annotations: Sequence[A]) -> bytes:
        """The annotations of a batch, which may share what they have in common."""

    def read(self, data: bytes, count: int) -> list[A]:
        """So many annotations from bytes; a DamagedError if they are not in there."""

    def arrange(self, order: Sequence[int]) -> None:
        """Take the leaves in this order from now on, where that makes a difference."""
