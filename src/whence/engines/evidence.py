"""What an engine knows that answers "why": the rows as they are now, and the derivations that it keeps anyway.

Everything here is read from the maintained state. Nothing derives a view again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.incremental.keyed import Key
from whence.model.rules import Rule
from whence.model.types import Row

T = TypeVar("T")


class RowsMissingError(Exception):
    """What is looked at has to be fetched first. Whoever has other things to look at as well goes on with them."""


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


class Rows(Protocol):
    """Some rows of a relation, each once. They may not have been made yet: to count them is cheaper than to look."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Row]: ...

    def differing(self, positions: Sequence[int]) -> Iterator[Row]:
        """One of them for each combination of values at these positions."""


class Dependents(NamedTuple):
    """Rows of views that follow from others; if not `is_complete`, some of them."""

    rows: Mapping[str, Rows]
    is_complete: bool


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

    def bases(self, facts: Sequence[tuple[str, Row]]) -> Sequence[Mapping[str, Readable] | None]:
        """For each row of a recursive view, rows from below that suffice for it; None where the engine keeps none.

        They are all that there is of the relations that the component joins.
        """

    def dependents_within(self, component: Component, below: Mapping[str, Rows]) -> Dependents | None:
        """The rows of a component that have a derivation in which one of these rows takes part, which it reads; None
        where the engine cannot follow all derivations at once.
        """

    def gather(self, look: Callable[[], T]) -> T:
        """What `look` finds. Rows may have to be fetched first; then it is called again, and must not mind.

        Inside of another look, raises RowsMissingError instead: what all of them miss is fetched together after it.
        """
