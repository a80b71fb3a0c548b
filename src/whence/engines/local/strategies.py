"""Which maintainer a component gets, and why: what `maintenance=` means."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.counting.counting import Counting
from whence.engines.local.maintainer import Maintainer
from whence.engines.local.recursive.absorption import Absorption
from whence.engines.local.recursive.dred import DRed
from whence.engines.local.recursive.eager import EagerAbsorption
from whence.engines.local.recursive.recompute import Recompute
from whence.engines.local.recursive.relative import Relative
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.errors import UnsupportedError
from whence.model.rules import Atom
from whence.model.schema import Relation

RECURSIVE: Mapping[str, Callable[..., Maintainer]] = {
    "dred": DRed,
    "eager": EagerAbsorption,
    "relative": Relative,
    "recompute": Recompute,
}
MAINTENANCE = ("auto", "absorption", "counting", *RECURSIVE)


@dataclass(frozen=True, slots=True)
class Choice:
    """A maintainer, the name of its strategy, and why it was chosen."""

    maintainer: Maintainer
    strategy: str
    reason: str


def choose(
    maintenance: str,
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    stores: Mapping[str, Store],
    limits: Limits,
    compiled: Collection[str] = (),
) -> Choice:
    """The maintainer for a component under a `maintenance=` option. `compiled` relations are kept by forests."""
    parts = (component, relations, functions, stores, limits)
    if not component.recursive:
        if maintenance in ("auto", "absorption") and _joins_rows_of(compiled, component, relations):
            from whence.engines.local.forest.choosing import forest_for
            from whence.engines.local.forest.values import NotCompiledError

            with suppress(NotCompiledError):
                forest = forest_for(*parts, Counting)
                return Choice(forest, "absorption", "not recursive: joined in a compiled forest, above another one")
        return Choice(Counting(*parts), "counting", "not recursive: counts are exact under inserts and deletes")
    if maintenance == "counting":
        names = ", ".join(repr(name) for name in component.relations)
        raise UnsupportedError(
            f"{names} is recursive, and counts around a cycle never end",
            span=component.rules[0].span,
            hint='use maintenance="auto"',
        )
    # Loading the compiler takes longer than many programs run; only recursion has use for it.
    from whence.engines.local.forest.choosing import forest_for, over_deleting_forest_for
    from whence.engines.local.forest.values import NotCompiledError

    try:
        if maintenance == "dred":
            return Choice(over_deleting_forest_for(*parts, DRed), "dred", "asked for: compiled")
        if maintenance not in RECURSIVE:
            forest = forest_for(*parts, Absorption)
            return Choice(forest, "absorption", "recursive: a compiled proof forest")
    except NotCompiledError as why:
        if maintenance not in RECURSIVE:
            reason = f"recursive: a proof forest, not compiled because {why}"
            return Choice(Absorption(*parts), "absorption", reason)
    return Choice(RECURSIVE[maintenance](*parts), maintenance, "asked for")


def _joins_rows_of(compiled: Collection[str], component: Component, relations: Mapping[str, Relation]) -> bool:
    """Whether a set is joined from rows of a forest. Joins are what is slow without one, and it is for sets only."""
    if not all(relations[name].distinct or name in component.aggregated for name in component.relations):
        return False
    bodies = [[literal.relation for literal in rule.body if isinstance(literal, Atom)] for rule in component.rules]
    return any(len(body) > 1 for body in bodies) and any(name in compiled for body in bodies for name in body)
