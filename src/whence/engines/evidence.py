"""What an engine knows that answers "why": the rows as they are now, and the derivations that it keeps anyway.

Everything here is read from the maintained state. Nothing derives a view again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from whence.analysis.analyze import Analysis
from whence.engines.engine import Functions
from whence.incremental.keyed import Key
from whence.model.rules import Rule
from whence.model.types import Row

T = TypeVar("T")


class Derivation(NamedTuple):
    """One use of a rule: the rows that its positive atoms took, in the order of the text."""

    rule: Rule
    body: tuple[Row, ...]


class Readable(Protocol):
    """The rows of a relation, looked up by some of their columns."""

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        """The rows that hold the key at the positions, and how often; a bare value is the key for one position.

        No positions at all match every row, with the key ().
        """


class Contents(Readable, Protocol):
    def count(self, row: Row) -> int:
        """How often a row is there."""


class Evidence(Protocol):
    @property
    def analysis(self) -> Analysis: ...

    @property
    def functions(self) -> Functions: ...

    def contents(self, relation: str) -> Contents: ...

    def size(self, relation: str) -> int:
        """About how many rows there are; a guess where counting would take a pass over them."""

    def live(self, relation: str, row: Row) -> Sequence[Derivation]:
        """The derivations by which the engine holds a row of a recursive view, if it keeps any: one, or one for each
        min and max. To follow them from row to row always ends in rows from below.
        """

    def stored(self, relation: str, row: Row) -> Sequence[Derivation] | None:
        """Every derivation of a row, where the engine keeps them all; else None."""

    def basis(self, relation: str, row: Row) -> Mapping[str, Readable] | None:
        """Rows from below that suffice for a row of a recursive view, where the engine keeps those beside it.

        They are all that there is of the relations that the component joins.
        """

    def gather(self, look: Callable[[], T]) -> T:
        """What `look` finds. Rows may have to be fetched first; then it is called again, and must not mind."""
