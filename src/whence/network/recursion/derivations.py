"""Ways to satisfy the body of one rule, gathered to be worked on together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from whence.engines.local.recursive.matching import Found, Matcher
from whence.incremental.plan import Pattern
from whence.model.types import Row

A = TypeVar("A")


class Derivations(Generic[A]):
    """`position` is the atom, if any, of which annotations are given."""

    def __init__(self, matcher: Matcher, position: int | None = None) -> None:
        self.matcher = matcher
        self.heads: list[Row] = []
        self._position = position
        self._bodies: list[tuple[Row, ...]] = []
        self._absent: list[tuple[Row, ...]] = []
        self._given: list[A] = []

    def add(self, way: Found, given: Sequence[A] | None = None) -> None:
        """One derivation, or one with each of the annotations that are given."""
        count = 1 if given is None else len(given)
        self.heads += [way.head] * count
        self._bodies += [way.body] * count
        if way.absent:
            self._absent += [way.absent] * count
        if given is not None:
            self._given += given

    def bodies(
        self,
        annotations: Callable[[str, Sequence[Row]], Sequence[A]],
        absences: Callable[[Pattern, Sequence[Row]], Sequence[A]],
    ) -> list[Sequence[A]]:
        """For every literal its annotations, with those of rows and of absent keys told by their owner."""
        atoms = (
            zip(self.matcher.positive, zip(*self._bodies, strict=True), strict=True) if self.matcher.positive else ()
        )
        return [
            *(
                self._given if at == self._position else annotations(relation, rows)
                for at, (relation, rows) in enumerate(atoms)
            ),
            *(
                absences(pattern, keys)
                for pattern, keys in zip(self.matcher.absences, zip(*self._absent, strict=True), strict=True)
            ),
        ]
