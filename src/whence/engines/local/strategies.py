"""Which maintainer a component gets, and why: what `maintenance=` means."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits, is_bag_recursion
from whence.columns import NotInColumnsError
from whence.engines.local.evidence import ProofForest
from whence.errors import UnsupportedError
from whence.incremental.array_elements import Unnesting
from whence.incremental.counting.counting import Counting
from whence.incremental.maintainer import Maintainer
from whence.incremental.recursive.absorption import Absorption
from whence.incremental.recursive.dred import DRed
from whence.incremental.recursive.levels import Levels
from whence.incremental.recursive.recompute import Recompute
from whence.incremental.recursive.strategy import Strategy
from whence.incremental.store import Store
from whence.incremental.windows.maintainer import Windows
from whence.model.program import Functions
from whence.model.rules import Atom
from whence.model.schema import Relation

if TYPE_CHECKING:
    from whence.engines.local.columns import Columns

Strategies: TypeAlias = Mapping[str, Callable[..., Maintainer]]

# Those that a recursive component gets only if they are asked for.
RECURSIVE: Strategies = {"dred": DRed, "recompute": Recompute}
MAINTENANCE = ("auto", "absorption", "dred", "counting", "recompute")


@dataclass(frozen=True, slots=True)
class Choice:
    """A maintainer, the name of its strategy, and why it was chosen."""

    maintainer: Maintainer
    strategy: str
    reason: str
    # Only until the kernels are compiled.
    is_for_now: bool = False

    @property
    def recomputed_because(self) -> str | None:
        if isinstance(self.maintainer, Recompute):
            return "that is the strategy"
        return self.maintainer.reason if isinstance(self.maintainer, Strategy) else None

    @property
    def is_compiled(self) -> bool:
        return isinstance(self.maintainer, ProofForest)

    @property
    def rederived(self) -> Literal["none", "non-linear", "all"]:
        if isinstance(self.maintainer, Absorption):
            return "non-linear"
        return "all" if isinstance(self.maintainer, DRed) else "none"


def choose(
    maintenance: str,
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    stores: Mapping[str, Store],
    limits: RecursionLimits,
    compiled: Collection[str] = (),
    strategies: Strategies = RECURSIVE,
    columns: Columns | None = None,
) -> Choice:
    """The maintainer for a component under a `maintenance=` option. `compiled` relations are kept by forests.

    With `columns` others are kept in these, as far as that is possible. Other `strategies` than those of the product
    can be asked for, if they are given.
    """
    parts = (component, relations, functions, stores, limits)
    if component.windowed:
        return Choice(Windows(*parts), "windows", "window functions: partitions are kept in order")
    if component.unnested:
        return Choice(Unnesting(*parts), "counting", "not recursive: each row has those of its elements")
    if is_bag_recursion(component, relations):
        return Choice(Levels(*parts), "levels", "UNION ALL recursion: counts for each level, one after the other")
    if not component.recursive:
        if maintenance in ("auto", "absorption") and _joins_rows_of(compiled, component, relations):
            from whence.engines.local.forest.forests import forest_for
            from whence.engines.local.forest.values import NotCompiledError

            with suppress(NotCompiledError):
                forest = forest_for(*parts, Counting)
                return Choice(forest, "absorption", "not recursive: joined in a compiled forest, above another one")
        reason = "not recursive: counts are exact under inserts and deletes"
        if columns is not None:
            try:
                return Choice(columns.counting(component, relations, functions, stores), "counting", reason)
            except NotInColumnsError as why:
                reason = f"{reason}; row by row because of {why}"
        return Choice(Counting(*parts), "counting", reason)
    if maintenance == "counting":
        names = ", ".join(repr(name) for name in component.relations)
        raise UnsupportedError(
            f"{names} is recursive, and counts around a cycle never end",
            span=component.rules[0].span,
            hint='use maintenance="auto"',
        )
    if maintenance in strategies and maintenance != "dred":
        return Choice(strategies[maintenance](*parts), maintenance, "asked for")
    # Loading the compiler takes longer than many programs run; only recursion has use for it.
    from whence.engines.local.compilation import FOREST, may_call, why_not

    if not may_call(FOREST):
        reason = f"not compiled yet: {why_not()}"
        if maintenance == "dred":
            return Choice(DRed(*parts), "dred", f"asked for, {reason}", is_for_now=True)
        return Choice(Absorption(*parts), "absorption", f"recursive: a proof forest, {reason}", is_for_now=True)
    from whence.engines.local.forest.forests import forest_for, over_deleting_forest_for
    from whence.engines.local.forest.values import NotCompiledError
    from whence.engines.local.split_forest import split_forest_for

    try:
        if maintenance == "dred":
            return Choice(over_deleting_forest_for(*parts, DRed), "dred", "asked for: compiled")
        if any(len(rule.aggregates) > 1 for rule in component.rules):
            reason = "recursive: compiled proof forests, one for each min and max"
            return Choice(split_forest_for(*parts, Absorption), "absorption", reason)
        return Choice(forest_for(*parts, Absorption), "absorption", "recursive: a compiled proof forest")
    except NotCompiledError as why:
        if maintenance == "dred":
            return Choice(DRed(*parts), "dred", "asked for")
        reason = f"recursive: a proof forest, not compiled because {why}"
        return Choice(Absorption(*parts), "absorption", reason)


def _joins_rows_of(compiled: Collection[str], component: Component, relations: Mapping[str, Relation]) -> bool:
    """Whether a set is joined from rows of a forest. Joins are what is slow without one, and it is for sets only."""
    if not all(relations[name].distinct or name in component.aggregated for name in component.relations):
        return False
    bodies = [[literal.relation for literal in rule.body if isinstance(literal, Atom)] for rule in component.rules]
    return any(len(body) > 1 for body in bodies) and any(name in compiled for body in bodies for name in body)
