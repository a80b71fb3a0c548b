"""What every engine does: take a program, take changes to its base tables, say what changed in consequence.

An engine trusts its caller: programs are analyzed, rows are checked, sets stay sets and no count of a base row goes
below zero. It owes atomicity: a call that raises has changed nothing.

What only some engines do is a capability: a small protocol. Callers ask `engine.capabilities` for it, and look at
nothing else of an engine; what is None there it cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.model.program import Functions
from whence.model.rules import Rule
from whence.model.types import Row, Value
from whence.model.updates import Delta, Update
from whence.planning.statistics import Statistics
from whence.rewriting.adaptation import Adaptation
from whence.rewriting.costs import PlanCosts


class Engine(Protocol):
    def define(self, analysis: Analysis, functions: Functions, update: Update) -> Mapping[str, Delta]:
        """Maintain this program from now on, with `update` as the first change to it.

        Base tables that the former program had too keep their rows. The answer is as `apply` gives it; a relation
        that is new, or whose columns are others than before, comes with all its rows.
        """

    def apply(self, update: Update) -> Mapping[str, Delta]:
        """Change base tables, bring the views up to date, and return what changed in every relation that did."""

    def counts(self, relation: str) -> Mapping[Row, int]:
        """The rows that are there, and how often; never 0. The mapping is to be used before the next change."""

    def evaluate(self, analysis: Analysis, functions: Functions, relation: str) -> Mapping[Row, int]:
        """The rows of one relation of a program that reads this database, as it is now, and how often; always above 0.

        Relations without rules are those of the database. Nothing changes, and nothing of the program is kept.
        """

    def metrics(self) -> Mapping[str, int | float]:
        """What the last change cost: how many `components` it touched, and what else the engine counts."""

    @property
    def capabilities(self) -> Capabilities:
        """What else it can do."""


T = TypeVar("T")


class RowsMissingError(Exception):
    """What is looked at has to be fetched first. A caller with other things to look at goes on with them."""


class Derivation(NamedTuple):
    """One use of a rule: the rows that its positive atoms took, in the order of the text."""

    rule: Rule
    body: tuple[Row, ...]


class Readable(Protocol):
    """The rows of a relation, looked up by some of their columns."""

    def matching(self, positions: tuple[int, ...], key: Value | tuple[Value, ...]) -> Mapping[Row, int]:
        """The rows that hold the key at the positions, and how often; a bare value is the key for one position.

        No positions at all match every row, with the key ().
        """

    def matching_all(
        self, positions: tuple[int, ...], keys: Sequence[Value | tuple[Value, ...]]
    ) -> Sequence[Collection[Row]]:
        """The same for many keys. Where rows cannot be there more than once, no counts come with them."""
        return [self.matching(positions, key) for key in keys]


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
    """What those who keep no derivations say of them is said here."""

    analysis: Analysis
    functions: Functions

    def contents(self, relation: str) -> Contents: ...

    def lookup(self, relation: str) -> Literal["index", "scan", "fetch"]:
        """How rows are found by some of their columns: in an index, among all of them in memory, or elsewhere."""

    @property
    def statistics(self) -> Statistics:
        """What planning may know of the rows, without a pass over them."""

    def live(self, relation: str, row: Row) -> Sequence[Derivation]:  # noqa: ARG002 - there is none of any
        """The derivations by which the engine holds a row of a recursive view, if it keeps any: one, or one for each
        min and max. To follow them from row to row always ends in rows from below.
        """
        return ()

    def stored(self, relation: str, row: Row) -> Sequence[Derivation] | None:  # noqa: ARG002 - likewise
        """Every derivation of a row, where the engine keeps them all; else None."""
        return None

    def bases(self, facts: Sequence[tuple[str, Row]]) -> Sequence[Mapping[str, Readable] | None]:
        """For each row of a recursive view, rows from below that suffice for it; None where the engine keeps none.

        They are all that there is of the relations that the component joins.
        """
        return [None] * len(facts)

    def dependents_within(self, component: Component, below: Mapping[str, Rows]) -> Dependents | None:  # noqa: ARG002
        """The rows of a component that have a derivation in which one of these rows takes part, which it reads; None
        where the engine cannot follow all derivations at once.
        """
        return None

    def gather(self, look: Callable[[], T]) -> T:
        """What `look` finds. Rows may have to be fetched first; then it is called again, and must not mind.

        Inside of another look, raises RowsMissingError instead: what all of them miss is fetched together after it.
        """


class Foresight(Protocol):
    """Changes that do not happen."""

    def foresee(self, update: Update) -> Mapping[str, Delta]:
        """What `apply` would return. Nothing changes, and it takes no longer than the change and its taking back."""


class KeepsEvidence(Protocol):
    """Rows whose derivations can be asked for."""

    def evidence(self) -> Evidence:
        """What is known about why rows are there; it follows later changes, but not later definitions."""


class KeyIndex(Protocol):
    """Tables with a key, whose rows are found by it."""

    def by_key(self, relation: str) -> Mapping[Value | tuple[Value, ...], Row]:
        """The row of each key, as it is when it is looked up; a bare value is the key of one column."""


class Prefetch(Protocol):
    """Rows that are elsewhere, and looked up together much faster than one by one."""

    def prefetch(self, relation: str, rows: Sequence[Row]) -> None:
        """Rows of a table, or those with their keys if it has one, are about to be looked up. Raises where they are
        too many to be brought.
        """


class Work(Protocol):
    """What the last change cost a component."""

    @property
    def rows_in(self) -> int: ...

    @property
    def rows_out(self) -> int: ...

    @property
    def elapsed(self) -> float:
        """In seconds."""

    @property
    def is_recomputed(self) -> bool:
        """Whether it was computed again, because that took less than following the change."""


class MaintenancePlan(Protocol):
    """How a component is kept up to date."""

    @property
    def strategy(self) -> str:
        """As `maintenance=` calls it."""

    @property
    def reason(self) -> str:
        """Why it was chosen."""

    @property
    def recomputed_because(self) -> str | None:
        """Why it is recomputed after every change, if it is."""

    @property
    def is_compiled(self) -> bool:
        """Whether kernels follow the rules, in the join order of the compiler."""

    @property
    def rederived(self) -> Literal["none", "non-linear", "all"]:
        """The rules that are followed backwards, for other derivations of a row that lost one."""


class KeepsStatistics(Protocol):
    """Rows that are counted as they come and go."""

    def statistics(self) -> Statistics:
        """What planning knows of the rows; it follows later changes, but not later definitions."""


class MaintenancePlans(KeepsStatistics, Protocol):
    """Views that are maintained by a plan, which `explain` can tell."""

    def plan(self, component: Component) -> MaintenancePlan:
        """The plan of a component with rules."""

    def work(self, component: Component) -> Work | None:
        """What the last change cost it; None if it did not touch it."""


class Adapts(KeepsStatistics, Protocol):
    """Old contents of views that can be used for new definitions."""

    def plan_costs(self) -> type[PlanCosts] | None:
        """What tells how much a plan costs here; None where to rebuild takes less than any."""

    def adapt(
        self, analysis: Analysis, functions: Functions, update: Update, adaptation: Adaptation
    ) -> Mapping[str, Delta]:
        """As `Engine.define`, along a plan. Where it cannot be followed, everything that differs is rebuilt."""


# What an engine keeps, as it lies in memory: JSON with arrays in it.
SavedState: TypeAlias = Mapping[str, Any]


class SavesState(Protocol):
    """State that can be written down as it is, and be loaded by an engine of the same layout."""

    def layout(self) -> str:
        """What tells this layout from all others."""

    def saved(self) -> SavedState | None:
        """All but rows that are not in columns; None if there is nothing else. Arrays are no copies, so that this is to
        be used before the next change. "size" is how many rows there are, and "tables" are pairs with their names.
        """

    def restore(self, analysis: Analysis, functions: Functions, saved: SavedState, rows: Update, later: Update) -> bool:
        """In place of a first `define`: the program that was there when this was saved, with `rows` for the other
        tables, and `later` changes to all of them. Answers whether that was possible; if not, nothing has changed.
        """


@dataclass(frozen=True, slots=True)
class Capabilities:
    """By kind, who does it."""

    foresight: Foresight | None = None
    evidence: KeepsEvidence | None = None
    keys: KeyIndex | None = None
    prefetch: Prefetch | None = None
    statistics: KeepsStatistics | None = None
    plans: MaintenancePlans | None = None
    adaptation: Adapts | None = None
    saving: SavesState | None = None
