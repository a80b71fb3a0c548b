"""What another program changes: the components that have to be built, and those that can go on."""

from __future__ import annotations

from operator import is_
from typing import NamedTuple

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.model.program import Functions


class Difference(NamedTuple):
    """Components that have to be built, in order, and the relations of components that are there no more as they were.

    All others can go on: nothing about them or below them is different.
    """

    fresh: tuple[Component, ...]
    gone: frozenset[str]

    def going_on(self, kept: frozenset[str]) -> Difference:
        """The same where these relations go on as well, although something below them is different."""
        fresh = tuple(component for component in self.fresh if kept.isdisjoint(component.relations))
        return Difference(fresh, self.gone - kept)


def difference(before: Analysis, functions_before: Functions, after: Analysis, functions: Functions) -> Difference:
    known = len(before.components)
    is_extended = len(after.components) >= known and all(map(is_, before.components, after.components))
    if is_extended and functions == functions_before:
        return Difference(after.components[known:], frozenset())
    kept = _kept(before, functions_before, after, functions)
    gone = {name for component in before.components for name in component.relations} - kept
    return Difference(tuple(each for each in after.components if each.relations[0] not in kept), frozenset(gone))


def _kept(before: Analysis, functions_before: Functions, after: Analysis, functions: Functions) -> set[str]:
    old = {component.relations: component for component in before.components}
    changed = {name for name in {**functions_before, **functions} if functions_before.get(name) != functions.get(name)}
    kept: set[str] = set()
    for component in after.components:
        former = old.get(component.relations)
        if former is None or not changed.isdisjoint(component.calls):
            continue
        is_same = former is component or (
            former.rules == component.rules
            and all(after.relations[name] == before.relations[name] for name in component.relations)
        )
        if is_same and kept.issuperset(component.reads):
            kept.update(component.relations)
    return kept
