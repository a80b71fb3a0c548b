"""The views of the old program as sums that plans can unfold and fold, each made when a plan may need it.

A view can be folded into a query only where one of its rules reads nothing but what the query reads, both unfolded.
With many views, most have nothing to do with the few that change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.model.rules import Rule
from whence.rewriting import states
from whence.rewriting.conjunction import Sets
from whence.rewriting.fold import ViewFolds
from whence.rewriting.signed_union import SignedUnion
from whence.rewriting.unfold import unfold
from whence.rewriting.view_sums import is_plain, is_readable_as_sum, is_sum, sum_of


class OldViews:
    """Fills `definitions`, for unfolding, and `folds`."""

    def __init__(self, before: Analysis, sets: Sets, definitions: dict[str, SignedUnion], folds: ViewFolds) -> None:
        self._relations = before.relations
        self._sets, self._definitions, self._folds = sets, definitions, folds
        self._leaves = Leaves(before)
        # Those that are sums, by name, and what those are that were made: by the state that has their counts.
        self._pending: dict[str, Component] = {}
        self._readable: dict[str, bool] = {}
        self._made: dict[str, SignedUnion] = {}
        for component in before.components:
            if is_sum(component) and is_plain(component):
                (name,) = component.relations
                self._pending[name] = component
                self._readable[name] = is_readable_as_sum(component, before.relations)

    def is_counted(self, name: str) -> bool:
        """Whether how often its rows are derived is a sum."""
        return name in self._readable

    def state(self, name: str) -> str:
        """What has these counts: the view itself, or for a set the bag of its derivations."""
        return name if self._readable[name] else states.derivations(name)

    def is_set(self, name: str) -> bool:
        """Whether what has these counts is a set."""
        return self._readable[name] and self._relations[name].distinct

    def unfolded(self, name: str) -> SignedUnion:
        """What the counts of a view are the sum of, over relations that are none themselves."""
        self._make(name)
        return self._made[name]

    def prepare(self, leaves: Collection[str]) -> None:
        """A query over these is about to be planned."""
        for name, component in list(self._pending.items()):
            if any(self._leaves.of_rule(rule).issubset(leaves) for rule in component.rules):
                self._make(name)

    def _make(self, name: str) -> None:
        component = self._pending.pop(name, None)
        if component is None:
            return
        for read in component.reads:
            self._make(read)
        total = sum_of(component, lambda read: read, self._sets)
        if self._readable[name]:
            self._definitions[name] = total
        self._made[name] = unfold(total, self._definitions, self._sets)
        self._folds.add(self.state(name), self._made[name])


class Leaves:
    """What is left of a relation when views that are sums are unfolded: names of tables, and of all other views."""

    def __init__(self, analysis: Analysis) -> None:
        self._of: dict[str, frozenset[str]] = {}
        for component in analysis.components:
            name = component.relations[0]
            if is_sum(component) and is_readable_as_sum(component, analysis.relations):
                self._of[name] = self.of_all(component.reads)
            else:
                self._of.update((each, frozenset([each])) for each in component.relations)

    def of_rule(self, rule: Rule) -> frozenset[str]:
        return self.of_all(rule.reads)

    def of_all(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*(self._of[name] for name in names))
