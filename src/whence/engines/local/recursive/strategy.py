"""What the strategies share: the rows of the component, a journal to take a commit back, and a way out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.endless import Brake
from whence.engines.local.recursive.inputs import Change, change_of
from whence.engines.local.recursive.journal import Journal
from whence.engines.local.recursive.moving import unfounded
from whence.engines.local.recursive.recompute import Recompute
from whence.engines.local.recursive.rules import Rules
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.errors import EvaluationError
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta

OWING = "a relation that it reads has rows with a count below zero"
FAILING = "its rules fail for values that only the search for derivations comes across"


class Strategy(ABC):
    """A maintainer of a recursive component.

    Where the strategy does not apply, the component is recomputed after every change, and `reason` says why.
    """

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: Limits,
    ) -> None:
        self._inputs = stores
        self._journal = Journal()
        self._brake = Brake(component, limits)
        self._rules = Rules(component, relations, functions, stores)
        self._own = {name: Store() for name in component.relations}
        self._recompute = Recompute(component, relations, functions, stores, limits)
        self.reason = unfounded(component) or self.objection(component)
        # Whether it is this commit that gave the reason.
        self._new_reason = False

    def objection(self, component: Component) -> str | None:  # noqa: ARG002 - for strategies to say
        """Why the strategy cannot maintain this component; None if it can."""
        return None

    @abstractmethod
    def begin(self) -> Mapping[str, Delta]:
        """The component from nothing."""

    @abstractmethod
    def follow(self, change: Change) -> Mapping[str, Delta]:
        """The component after a change. Every change of state is noted in the journal."""

    def build(self) -> Mapping[str, Delta]:
        if any(count < 0 for store in self._inputs.values() for count in store.counts.values()):
            self._give_up(OWING)
        if self.reason is None:
            try:
                return self.begin()
            except EvaluationError:
                self._give_up(FAILING)
        return self._recompute.build()

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        change = change_of(self._inputs, deltas)
        if change.owing:
            self._give_up(OWING)
        if self.reason is None:
            try:
                return self.follow(change)
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
