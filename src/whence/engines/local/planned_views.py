"""Views that get new definitions: their rows are what a plan makes of old contents and of what changes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.algebra.deltas import added, delta_between
from whence.analysis.typed_rules import typed_rule
from whence.columns import NotInColumnsError
from whence.incremental.counting.counting import Counting
from whence.incremental.maintainer import DerivesRows, FoldsAgain, KeepsStore, Maintainer
from whence.incremental.store import Store
from whence.model.program import Functions
from whence.model.types import Row
from whence.model.updates import Delta
from whence.rewriting import states
from whence.rewriting.adaptation import Adaptation, Derived, Refolded

if TYPE_CHECKING:
    from whence.incremental.columnar.store import ColumnStore


class NotAdaptedError(Exception):
    """A plan reads or makes what this engine keeps in another form. Everything can be rebuilt instead."""


@dataclass(frozen=True, slots=True)
class Holders:
    """Where the rows of a program are: stores, maintainers of views, and tables for readers of columns."""

    stores: Mapping[str, Store]
    maintainers: Mapping[str, Maintainer]
    mirrors: Mapping[str, Store]

    def store(self, name: str) -> Store | None:
        store = self.stores.get(name)
        if store is None and name in self.maintainers:
            maintainer = self.maintainers[name]
            return maintainer.own_store() if isinstance(maintainer, KeepsStore) else None
        return store

    def rows(self, name: str) -> Mapping[Row, int]:
        return self.maintainers[name].counts(name) if name in self.maintainers else self.stores[name].contents()


@dataclass(frozen=True, slots=True)
class States:
    """The relations of plans: as they are before the step, as they will be, and what changes. While plans run, all
    stores hold the rows from before.
    """

    before: Holders
    after: Holders

    def in_columns(self, state: str, deltas: Mapping[str, Delta]) -> ColumnStore:
        from whence.columns.table import ColumnTable
        from whence.incremental.columnar.store import ColumnStore

        name = states.relation_of(state)
        is_new = states.is_after(state) or states.is_change(state)
        holders = self.after if is_new else self.before
        store = holders.store(name)
        if not isinstance(store, ColumnStore):
            store = holders.mirrors.get(name)
        if not isinstance(store, ColumnStore):
            raise NotAdaptedError(name)
        if not is_new:
            return _counting_derivations(store) if states.is_derivations(state) else store
        staged = store.stage(deltas[name]) if name in deltas else None
        if states.is_after(state):
            return store
        made = ColumnStore(ColumnTable(store.table.encodings, is_set=False))
        if staged is not None:
            made.apply(staged)
        return made

    def in_rows(self, state: str, deltas: Mapping[str, Delta]) -> Store:
        name = states.relation_of(state)
        if states.is_change(state):
            return Store(deltas.get(name, {}))
        if states.is_after(state):
            return Store(added(self.after.rows(name), deltas.get(name, {})))
        if states.is_derivations(state):
            maintainer = self.before.maintainers[name]
            if not isinstance(maintainer, Counting) or maintainer.derivations is None:
                raise NotAdaptedError(name)
            return Store(maintainer.derivations)
        return self.before.store(name) or Store(self.before.rows(name))


def _counting_derivations(store: ColumnStore) -> ColumnStore:
    """The same table, read as the bag that counts derivations."""
    from whence.incremental.columnar.store import ColumnStore

    table = copy(store.table)
    table.is_set = False
    return ColumnStore(table)


class PlannedView(Maintainer):
    """A view in the step to another definition; from then on its own maintainer keeps it."""

    def __init__(
        self, maintainer: Maintainer, step: Derived, adaptation: Adaptation, functions: Functions, contents: States
    ) -> None:
        """Raises NotAdaptedError where its maintainer is of another kind."""
        if not isinstance(maintainer, DerivesRows) or not maintainer.is_counted:
            raise NotAdaptedError(step.component.relations[0])
        self._maintainer, self._derives = maintainer, maintainer
        self._step = step
        self._contents = contents
        signatures = {name: function.signature for name, function in functions.items()}
        self._rules = [typed_rule(rule, adaptation.relations, signatures) for rule in step.rules]
        self._states = tuple(dict.fromkeys(state for rule in step.rules for state in rule.reads))

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations whose changes it has to be told of."""
        new = (states.relation_of(each) for each in self._states if states.is_after(each) or states.is_change(each))
        return tuple(dict.fromkeys((*new, *self._step.component.reads)))

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        read = self._contents.in_columns if self._derives.reads_columns else self._contents.in_rows
        stores = {state: read(state, deltas) for state in self._states}
        try:
            return self._derives.derive(self._rules, stores, states.is_after, keeps_rows=self._step.keeps_rows)
        except NotInColumnsError as why:
            raise NotAdaptedError(str(why)) from why

    def build(self) -> Mapping[str, Delta]:
        return self._maintainer.build()

    def settle(self) -> None:
        self._maintainer.settle()

    def undo(self) -> None:
        self._maintainer.undo()

    def counts(self, relation: str) -> Mapping[Row, int]:
        return self._maintainer.counts(relation)


class RefoldedView(Maintainer):
    """A view with aggregates in the step to another definition: all its groups come again, and the difference is what
    others see.
    """

    def __init__(self, maintainer: Maintainer, former: Maintainer, step: Refolded) -> None:
        self._maintainer, self._former = maintainer, former
        (self._name,) = step.component.relations
        self.reads = step.component.reads

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        maintainer = self._maintainer
        if isinstance(maintainer, FoldsAgain):
            return maintainer.fold_again(deltas)
        # Row by row: over what was there, and then after what changes.
        built = maintainer.build().get(self._name, {})
        maintainer.settle()
        followed = maintainer.apply(deltas).get(self._name, {})
        delta = delta_between(self._former.counts(self._name), added(built, followed))
        return {self._name: delta} if delta else {}

    def build(self) -> Mapping[str, Delta]:
        return self._maintainer.build()

    def settle(self) -> None:
        self._maintainer.settle()

    def undo(self) -> None:
        self._maintainer.undo()

    def counts(self, relation: str) -> Mapping[Row, int]:
        return self._maintainer.counts(relation)


def take_over(maintainer: Maintainer, former: Maintainer, step: Derived | Refolded) -> None:
    """Go on with the rows of another maintainer of the same kind; raises NotAdaptedError where that cannot be."""
    if isinstance(step, Refolded) and type(maintainer) is type(former) and not isinstance(maintainer, FoldsAgain):
        # Its readers have rows of their own.
        return
    if not isinstance(maintainer, DerivesRows) or not maintainer.take_over(former):
        raise NotAdaptedError


def rows_changed(relation: str, before: Maintainer, after: Maintainer) -> Delta:
    """What leads from the rows of one maintainer to those of another, which has the same columns."""
    if isinstance(before, KeepsStore) and isinstance(after, KeepsStore):
        from whence.incremental.columnar.store import ColumnStore, difference

        old, new = before.own_store(), after.own_store()
        if isinstance(old, ColumnStore) and isinstance(new, ColumnStore) and old.encodings == new.encodings:
            return difference(old.table, new.table)
    return delta_between(before.counts(relation), after.counts(relation))
