"""What all strategies for a recursive component share: a commit that is settled or undone, and recomputation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.errors import EvaluationError
from whence.incremental.recursive.bests import unfounded
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.incremental.recursive.fixpoint import Fixpoint, G, R
from whence.incremental.recursive.journal import UndoLog
from whence.incremental.recursive.recompute import Recompute
from whence.incremental.recursive.rules import Rules
from whence.incremental.recursive.steps import Sources, change_of
from whence.incremental.store import Store
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta

OWING = "a relation that it reads has rows with a count below zero"
FAILING = "its rules fail for values that only the search for derivations comes across"


class Strategy(Fixpoint[R, G]):
    """A maintainer of a recursive component.

    Where the strategy does not apply, the component is recomputed after every change, and `reason` says why.
    """

    has_recomputed = False

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: RecursionLimits,
    ) -> None:
        self._inputs = stores
        self._journal = UndoLog()
        self._own = {name: Store() for name in component.relations}
        own = {name: partial(len, store.counts) for name, store in self._own.items()}
        rules, limit = Rules(component, relations, functions, stores, own), ConvergenceLimit(component, limits)
        rules.count_matches(limit)
        super().__init__(rules, limit)
        self._recompute = Recompute(component, relations, functions, stores, limits)
        self.reason = unfounded(component) or self.objection(component)
        # Whether it is this commit that gave the reason.
        self._new_reason = False
        self.prepare(component, relations)

    def prepare(self, component: Component, relations: Mapping[str, Relation]) -> None:
        """Make what the strategy keeps beside the rows; called once."""

    def objection(self, component: Component) -> str | None:  # noqa: ARG002 - for strategies to say
        """Why the strategy cannot maintain this component; None if it can."""
        return None

    @abstractmethod
    def start(self, before: Sources, after: Sources) -> None:
        """A commit begins. Every change of state from now on is noted in the journal."""

    @abstractmethod
    def finish(self) -> Mapping[str, Delta]:
        """Everything has come to rest; what has changed."""

    def build(self) -> Mapping[str, Delta]:
        if any(count < 0 for store in self._inputs.values() for count in store.counts.values()):
            self._give_up(OWING)
        if self.reason is None:
            self._rules.replan({})
            self._begin(self._inputs, self._inputs)
            try:
                self._derive_all()
                return self.finish()
            except EvaluationError:
                self._give_up(FAILING)
        return self._recompute.build()

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        change = change_of(self._inputs, deltas)
        if change.owing:
            self._give_up(OWING)
        if self.reason is None:
            self._rules.replan(deltas)
            self._begin(change.before, change.after)
            try:
                self._follow(change)
                return self.finish()
            except EvaluationError:
                # If the rows after the change are to blame, recomputing fails as well, and the commit is taken back.
                self._give_up(FAILING)
        return self._recompute.apply(deltas)

    def settle(self) -> None:
        self._new_reason = False
        self._journal.settle()
        self._recompute.settle()

    def undo(self) -> None:
        if self._new_reason:
            self.reason = None
            self._new_reason = False
        self._journal.undo()
        self._recompute.undo()

    def counts(self, relation: str) -> Mapping[Row, int]:
        if self.reason is not None:
            return self._recompute.counts(relation)
        return MappingProxyType(self._own[relation].counts)

    def _begin(self, before: Sources, after: Sources) -> None:
        self._limit.begin(sum(len(store.counts) for store in self._own.values()))
        self.start(before, after)

    def _give_up(self, reason: str) -> None:
        """Recompute from now on, unless this commit is taken back."""
        if self.reason is None:
            self._journal.undo()
            self.reason = reason
            self._new_reason = True
            self._recompute.resume({name: store.counts for name, store in self._own.items()})

    def _add(self, relation: str, row: Row) -> None:
        store = self._own[relation]
        store.apply({row: 1})
        self._journal.note(store.apply, {row: -1})

    def _remove(self, relation: str, row: Row) -> None:
        store = self._own[relation]
        store.apply({row: -1})
        self._journal.note(store.apply, {row: 1})
