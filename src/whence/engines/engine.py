"""What every engine does: take a program, take changes to its base tables, say what changed in consequence.

An engine trusts its caller: programs are analyzed, rows are checked, sets stay sets and no count of a base row goes
below zero. It owes atomicity: a call that raises has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from whence.analysis.analyze import Analysis
from whence.model.program import Signature
from whence.model.types import Row
from whence.model.updates import Delta, Update


@dataclass(frozen=True, slots=True)
class Function:
    """A registered function: what rules know of it, and what it does."""

    signature: Signature
    python: Callable[..., object]


# By lower-case name.
Functions: TypeAlias = Mapping[str, Function]


class Engine(Protocol):
    def define(self, analysis: Analysis, functions: Functions, update: Update) -> Mapping[str, Delta]:
        """Maintain this program from now on, with `update` as the first change to it.

        Base tables that the former program had too keep their rows. The answer is as `apply` gives it; a relation
        that is new, or whose columns are others than before, comes with all its rows.
        """

    def apply(self, update: Update) -> Mapping[str, Delta]:
        """Change base tables, bring the views up to date, and return what changed in every relation that did."""

    def foresee(self, update: Update) -> Mapping[str, Delta]:
        """What `apply` would return. Nothing changes, and it takes no longer than the change and its taking back."""

    def counts(self, relation: str) -> Mapping[Row, int]:
        """The rows that are there, and how often; never 0. The mapping does not follow later changes."""

    def metrics(self) -> Mapping[str, int | float]:
        """What the last change cost: how many `components` it touched, and what else the engine counts."""
