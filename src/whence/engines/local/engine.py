"""The local engine: components in order, each with its maintainer; a commit happens in all of them or in none."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.maintainer import Maintainer
from whence.engines.local.measures import Forest, Work, Works, metrics
from whence.engines.local.postponing import PostponingStore
from whence.engines.local.proving import LocalEvidence
from whence.engines.local.store import Store, table_store
from whence.engines.local.strategies import Choice, choose
from whence.engines.reference.fixpoint import DEFAULT_LIMITS, Limits
from whence.incremental.keyed import KeyedRows
from whence.model.program import Program
from whence.model.rules import Atom, Negation, rule_terms
from whence.model.terms import Call, walk
from whence.model.types import Row
from whence.model.updates import Delta, Update
from whence.patience import check


class View(NamedTuple):
    """A component with rules, what it reads from below, and who keeps it."""

    relations: tuple[str, ...]
    reads: tuple[str, ...]
    maintainer: Maintainer


class LocalEngine:
    """Base tables in stores, views in maintainers, and stores for the views that other views read."""

    def __init__(self, maintenance: str = "auto", limits: Limits = DEFAULT_LIMITS) -> None:
        self._maintenance = maintenance
        self._limits = limits
        self._analysis = Analysis(Program(), {}, ())
        self._functions: Functions = {}
        self._stores: dict[str, Store] = {}
        self._choices: dict[tuple[str, ...], Choice] = {}
        self._views: list[View] = []
        self._of_relation: dict[str, Choice] = {}
        self._forests: dict[tuple[str, ...], Forest] = {}
        self._works: Works = {}

    def define(self, analysis: Analysis, functions: Functions, update: Update) -> Mapping[str, Delta]:
        kept = kept_components(self._analysis, self._functions, analysis, functions)
        stores: dict[str, Store] = {}
        read = {component.relations: tuple(reads(component)) for component in analysis.components}
        needed = {name for names in read.values() for name in names}
        choices: dict[tuple[str, ...], Choice] = {}
        fresh: set[tuple[str, ...]] = set()
        compiled: set[str] = set()
        for component in analysis.components:
            names = component.relations
            if not component.rules:
                stores.update((name, self._store_of_table(name, analysis)) for name in names)
                continue
            if names in kept:
                choices[names] = self._choices[names]
            else:
                fresh.add(names)
                below = {name: stores[name] for name in read[names]}
                parts = (component, analysis.relations, functions, below, self._limits)
                choices[names] = choose(self._maintenance, *parts, compiled)
            if isinstance(choices[names].maintainer, Forest):
                compiled.update(names)
            for name in needed.intersection(names):
                known = self._stores.get(name) if names in kept else None
                stores[name] = known or _store_of_view(name, choices[names].maintainer, is_kept=names in kept)
        views = [View(names, read[names], choice.maintainer) for names, choice in choices.items()]
        deltas, works = _run(views, stores, update, fresh)
        # Views that are only defined differently have changed by the difference, for those who look from outside.
        replaced = {
            name: self._of_relation[name].maintainer.counts(name)
            for names in fresh
            for name in names
            if name in self._of_relation and self._analysis.relations[name].columns == analysis.relations[name].columns
        }
        self._analysis, self._functions, self._choices, self._stores = analysis, functions, choices, stores
        self._views = views
        self._of_relation = {name: choice for names, choice in choices.items() for name in names}
        self._forests = {
            names: choice.maintainer for names, choice in choices.items() if isinstance(choice.maintainer, Forest)
        }
        self._works = works
        self._settle(deltas)
        return {**deltas, **{name: _sum(dict(self.counts(name)), _minus(old)) for name, old in replaced.items()}}

    def apply(self, update: Update) -> Mapping[str, Delta]:
        deltas, self._works = _run(self._views, self._stores, update, set())
        self._settle(deltas)
        return deltas

    def foresee(self, update: Update) -> Mapping[str, Delta]:
        dead = [(forest, forest.last_dead) for forest in self._forests.values()]
        deltas, _ = _run(self._views, self._stores, update, set(), is_kept=False)
        for forest, last_dead in dead:
            forest.last_dead = last_dead
        return deltas

    @contextmanager
    def supposing(self, update: Update) -> Iterator[None]:
        """In here the update has happened."""
        works = self._works
        self.apply(update)
        back = Update({name: _minus(delta) for name, delta in update.deltas.items()})
        try:
            yield
        finally:
            try:
                self.apply(back)
            except KeyboardInterrupt:
                # It must not stay, whoever is waiting.
                self.apply(back)
                raise
            finally:
                self._works = works

    def counts(self, relation: str) -> Mapping[Row, int]:
        choice = self._of_relation.get(relation)
        if choice is None:
            counts = self._stores[relation].counts
            # Whoever knows keys can look them up.
            return counts if isinstance(counts, KeyedRows) else MappingProxyType(counts)
        return choice.maintainer.counts(relation)

    def choice(self, relation: str) -> Choice | None:
        """How a view is maintained; None for a base table."""
        return self._of_relation.get(relation)

    def evidence(self) -> LocalEvidence:
        """What is known about why rows are there; it follows later changes, but not later definitions."""
        maintainers = {name: choice.maintainer for name, choice in self._of_relation.items()}
        return LocalEvidence(self._analysis, self._functions, self._stores, maintainers)

    def metrics(self) -> Mapping[str, int | float]:
        return metrics(self._works, self._forests)

    def work(self, component: Component) -> Work | None:
        """What the last change cost a component; None if it did not touch it."""
        return self._works.get(component.relations)

    def _settle(self, deltas: Mapping[str, Delta]) -> None:
        for name, delta in deltas.items():
            if name in self._stores:
                self._stores[name].apply(delta)

    def _store_of_table(self, name: str, analysis: Analysis) -> Store:
        before = self._analysis.relations.get(name)
        same = before is not None and before.columns == analysis.relations[name].columns
        return self._stores[name] if same and name not in self._of_relation else table_store(analysis.relations[name])


def kept_components(
    before: Analysis, functions_before: Functions, analysis: Analysis, functions: Functions
) -> set[tuple[str, ...]]:
    """The components whose maintainers can go on: nothing about them or below them is different."""
    old = {component.relations: component for component in before.components}
    same: set[str] = set()
    kept: set[tuple[str, ...]] = set()
    for component in analysis.components:
        former = old.get(component.relations)
        if former is None or former.rules != component.rules:
            continue
        if any(functions.get(name) != functions_before.get(name) for name in _functions_of(component)):
            continue
        if any(analysis.relations[name] != before.relations[name] for name in component.relations):
            continue
        if all(name in same for name in reads(component)):
            kept.add(component.relations)
            same.update(component.relations)
    return kept


def _store_of_view(name: str, maintainer: Maintainer, *, is_kept: bool) -> Store:
    """A store for a view that had none before, because it is new or nobody read it."""
    if not isinstance(maintainer, Forest):
        return Store(maintainer.counts(name) if is_kept else {})
    everything = partial(maintainer.everything, name)
    store = PostponingStore(everything)
    if is_kept:
        store.apply(everything())
    return store


def _run(
    views: Iterable[View],
    stores: Mapping[str, Store],
    update: Update,
    fresh: set[tuple[str, ...]],
    *,
    is_kept: bool = True,
) -> tuple[dict[str, Delta], Works]:
    """What follows from an update, and the work it was. `fresh` components have never been built.

    What is not to be kept is taken back at once.
    """
    deltas: dict[str, Delta] = {name: delta for name, delta in update.deltas.items() if delta}
    touched: list[tuple[Maintainer, Mapping[str, Delta]]] = []
    works: Works = {}
    try:
        for view in views:
            inputs = {name: deltas[name] for name in view.reads if name in deltas}
            is_fresh = view.relations in fresh
            if not inputs and not is_fresh:
                continue
            check()
            started, stored = time.perf_counter(), 0
            if is_fresh:
                # One that is built reads all that is stored.
                stored = sum(stores[name].size for name in view.reads)
                outputs = _first(view.maintainer, inputs)
            else:
                touched.append((view.maintainer, inputs))
                outputs = view.maintainer.apply(inputs)
            works[view.relations] = Work(inputs, outputs, time.perf_counter() - started, stored)
            deltas.update(outputs)
    except BaseException:
        for maintainer, _ in touched:
            maintainer.undo()
        raise
    if is_kept:
        built = (view.maintainer for view in views if view.relations in fresh)
        for maintainer in (*(each for each, _ in touched), *built):
            maintainer.settle()
    else:
        _take_back(touched)
    return deltas, works


def _take_back(touched: list[tuple[Maintainer, Mapping[str, Delta]]]) -> None:
    """Undo in no more time than it took. If that is interrupted, undo in the time that it takes."""
    try:
        while touched:
            maintainer, inputs = touched[-1]
            if isinstance(maintainer, Forest):
                maintainer.retrace(inputs)
            else:
                maintainer.undo()
            touched.pop()
    except BaseException:
        for maintainer, _ in touched:
            maintainer.undo()
        raise


def _first(maintainer: Maintainer, inputs: Mapping[str, Delta]) -> Mapping[str, Delta]:
    """A new component: all that the stores hold, and then the change that comes with its definition."""
    built = maintainer.build()
    if not inputs:
        return built
    maintainer.settle()
    changed = maintainer.apply(inputs)
    return {name: _sum(built.get(name, {}), changed.get(name, {})) for name in {**built, **changed}}


def _sum(left: Delta, right: Delta) -> Delta:
    if not left or not right:
        return left or right
    total = dict(left)
    for row, change in right.items():
        total[row] = total.get(row, 0) + change
        if not total[row]:
            del total[row]
    return total


def _functions_of(component: Component) -> Iterator[str]:
    """The names of all functions that the component's rules call, built-in ones too."""
    for rule in component.rules:
        yield from (part.function for term in rule_terms(rule) for part in walk(term) if isinstance(part, Call))


def _minus(delta: Delta) -> Delta:
    return {row: -change for row, change in delta.items()}


def reads(component: Component) -> Iterator[str]:
    """The relations that a component reads from below, each once."""
    seen = set(component.relations)
    for rule in component.rules:
        for literal in rule.body:
            match literal:
                case Atom(relation=name) | Negation(atom=Atom(relation=name)) if name not in seen:
                    seen.add(name)
                    yield name
