"""The local engine: components in order, each with its maintainer; a commit happens in all of them or in none."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING

from whence.analysis.analyze import Analysis, analyze
from whence.analysis.components import Component
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.columns import NotInColumnsError
from whence.engines.engine import Capabilities, SavedState
from whence.engines.local.evidence import LocalEvidence, LocalStatistics, ProofForest
from whence.engines.local.planned_views import (
    Holders,
    NotAdaptedError,
    PlannedView,
    RefoldedView,
    States,
    rows_changed,
    take_over,
)
from whence.engines.local.propagation import (
    ComponentWork,
    MaintainedView,
    Propagation,
    Touched,
    Works,
    apply_to,
    built,
    dead_tuples,
    settle,
    store_of_view,
    take_back,
    undo,
)
from whence.engines.local.strategies import RECURSIVE, Choice, Strategies, choose
from whence.engines.program_difference import difference
from whence.errors import WhenceError
from whence.incremental.evaluate import Borrowed, evaluate, lent
from whence.incremental.keyed import Key
from whence.incremental.maintainer import KeepsStore
from whence.incremental.store import Store, table_store
from whence.model.program import Functions, Program
from whence.model.schema import has_same_values
from whence.model.types import Row
from whence.model.updates import Delta, Update, totals
from whence.rewriting.adaptation import Adaptation, Refolded, is_change, planned_steps
from whence.rewriting.costs import PlanCosts

if TYPE_CHECKING:
    from whence.engines.local.columns import Columns

# With so many rows in tables everything is kept in columns. Loads and large commits gain by it; commits of few rows
# into tables with keys take longer, and smaller databases are spared the compiler.
ROWS_IN_COLUMNS = 8_192


class LocalEngine:
    """Base tables in stores, views in maintainers, and stores for the views that other views read."""

    def __init__(
        self, maintenance: str = "auto", limits: RecursionLimits = DEFAULT_LIMITS, strategies: Strategies = RECURSIVE
    ) -> None:
        self._maintenance = maintenance
        self._strategies = strategies
        self._limits = limits
        # With so many rows everything is kept in columns, unless they turned out not to hold a value.
        self._rows_in_columns: float = ROWS_IN_COLUMNS
        self._rows_until_columns: float = ROWS_IN_COLUMNS
        self._begin(None)

    def _begin(self, columns: Columns | None) -> None:
        """A program without anything, to be kept in columns or in rows."""
        self._columns = columns
        self._analysis = Analysis(Program(), {}, ())
        self._functions: Functions = {}
        self._stores: dict[str, Store] = {}
        self._choices: dict[tuple[str, ...], Choice] = {}
        self._propagation = Propagation()
        self._of_relation: dict[str, Choice] = {}
        self._forests: dict[tuple[str, ...], ProofForest] = {}
        self._works: Works = {}
        # How many tuples the last change made dead for a moment.
        self._dead = 0
        # Whether components are kept as they are only until kernels are compiled.
        self._is_for_now = False

    def define(self, analysis: Analysis, functions: Functions, update: Update) -> Mapping[str, Delta]:
        self._expect(update)
        try:
            return self._define(analysis, functions, update)
        except NotInColumnsError:
            self._leave_columns()
            return self._define(analysis, functions, update)

    def adapt(
        self, analysis: Analysis, functions: Functions, update: Update, adaptation: Adaptation
    ) -> Mapping[str, Delta]:
        self._expect(update)
        try:
            return self._define(analysis, functions, update, adaptation)
        except (NotAdaptedError, NotInColumnsError, WhenceError):
            # Whatever is wrong with the plan, or with the program, is found again without it.
            self._drop()
            return self.define(analysis, functions, update)

    def _define(
        self,
        analysis: Analysis,
        functions: Functions,
        update: Update,
        adaptation: Adaptation | None = None,
        saved: SavedState | None = None,
    ) -> Mapping[str, Delta]:
        planned_for = planned_steps(adaptation)
        change = difference(self._analysis, self._functions, analysis, functions)
        if adaptation is not None:
            change = change.going_on(adaptation.kept)
        # What is folded again has its old rows, beside its change, until all have seen both.
        refolded = {names[0] for names, step in planned_for.items() if isinstance(step, Refolded)}
        # Views that change, and whose rows others go on reading where they are.
        taken_over = {name for names, step in planned_for.items() for name in names if is_change(step)}
        stores, choices = dict(self._stores), dict(self._choices)
        of_relation, forests = dict(self._of_relation), dict(self._forests)
        if change.gone:
            stores = {name: store for name, store in stores.items() if name not in change.gone - taken_over}
            choices = {names: choice for names, choice in choices.items() if change.gone.isdisjoint(names)}
            of_relation = {name: choice for name, choice in of_relation.items() if name not in change.gone}
            forests = {names: forest for names, forest in forests.items() if names in choices}
        columns = None if self._columns is None else self._columns.without(change.gone - taken_over)
        fresh = {component.relations: component for component in change.fresh if component.rules}
        for component in change.fresh:
            names = component.relations
            if not component.rules:
                stores.update((name, self._store_of_table(name, analysis)) for name in names)
                continue
            for name in component.reads:
                if name not in stores:
                    is_kept = name in taken_over or not any(name in new for new in fresh)
                    maintainer = of_relation[name].maintainer
                    if name in refolded and not isinstance(maintainer, KeepsStore):
                        # The new one has no rows yet, and readers are told of the difference only.
                        maintainer = self._of_relation[name].maintainer
                    stores[name] = store_of_view(name, maintainer, is_kept=is_kept)
            below = {name: stores[name] for name in component.reads}
            parts = (component, analysis.relations, functions, below, self._limits)
            compiled = {name for relations in forests for name in relations}
            choice = choose(self._maintenance, *parts, compiled, self._strategies, columns)
            if not taken_over.isdisjoint(names):
                take_over(choice.maintainer, self._of_relation[names[0]].maintainer, planned_for[names])
            choices[names] = choice
            of_relation.update(dict.fromkeys(names, choice))
            if isinstance(choice.maintainer, ProofForest):
                forests[names] = choice.maintainer
        kept = self._propagation
        if change.gone:
            read = {name for component in analysis.components for name in component.reads}
            stores = {name: store for name, store in stores.items() if name in read or name not in of_relation}
            kept = kept.without(change.gone)
        views = [
            MaintainedView(names, component.reads, choices[names].maintainer)
            for names, component in fresh.items()
            if names not in planned_for
        ]
        if adaptation is None:
            deltas, works, touched = self._run(kept, update)
        else:
            holding = {**of_relation, **{name: self._of_relation[name] for name in refolded}}
            contents = States(
                self._holders(self._stores, self._of_relation, self._columns),
                self._holders(stores, holding, columns),
            )
            planned: dict[tuple[str, ...], PlannedView | RefoldedView] = {}
            for names, step in planned_for.items():
                maintainer = choices[names].maintainer
                if isinstance(step, Refolded):
                    planned[names] = RefoldedView(maintainer, self._of_relation[names[0]].maintainer, step)
                else:
                    planned[names] = PlannedView(maintainer, step, adaptation, functions, contents)
            going_on = Propagation().extended(
                _maintained(analysis, choices, planned, {view.relations for view in views})
            )
            deltas, works, touched = self._run(going_on, update, planned)
        changed = {name: delta for name, delta in deltas.items() if name in stores}
        every: list[Mapping[str, Store]] = [stores] if columns is None else [stores, columns.mirrors]
        apply_to(every, changed)
        try:
            # A new component is built over the rows that are there after the change, as if they had always been there.
            # Over those from before it might fail, or have no end.
            for view in views:
                found = None
                if saved is not None:
                    from whence.engines.local.saved_state import loaded

                    found = loaded(view, fresh[view.relations], analysis.relations, every, saved)
                works[view.relations], outputs = found or built(view, every)
                deltas.update(outputs)
        except BaseException:
            for each, before in zip(every, self._every_store(), strict=True):
                for name, delta in changed.items():
                    if name in each and before.get(name) is each[name]:
                        each[name].take_back(delta)
            undo(touched)
            raise
        for maintainer in (*(maintainer for maintainer, _ in touched), *(view.maintainer for view in views)):
            maintainer.settle()
        # Views that are only defined differently have changed by the difference, as seen from outside.
        replaced: dict[str, Delta] = {}
        for names in fresh:
            for name in names:
                if (
                    name in self._of_relation
                    and name not in taken_over
                    and has_same_values(self._analysis.relations[name], analysis.relations[name])
                ):
                    started = time.perf_counter()
                    former, maintainer = self._of_relation[name].maintainer, of_relation[name].maintainer
                    replaced[name] = rows_changed(name, former, maintainer)
                    elapsed = works[names].elapsed + time.perf_counter() - started
                    works[names] = works[names]._replace(elapsed=elapsed)
        self._analysis, self._functions, self._choices, self._stores = analysis, functions, choices, stores
        kept = kept.extended(views) if adaptation is None else Propagation().extended(_maintained(analysis, choices))
        self._propagation, self._of_relation = kept, of_relation
        self._forests, self._works, self._columns = forests, works, columns
        self._is_for_now = any(choice.is_for_now for choice in choices.values())
        self._dead = dead_tuples(works, forests)
        return {**deltas, **replaced}

    def apply(self, update: Update) -> Mapping[str, Delta]:
        self._expect(update)
        try:
            deltas, self._works, touched = self._run(self._propagation, update)
        except NotInColumnsError:
            self._leave_columns()
            deltas, self._works, touched = self._run(self._propagation, update)
        settle(touched)
        apply_to(self._every_store(), deltas)
        if self._columns is not None and self._columns.is_large(update):
            # What nobody else keeps goes first.
            touched.clear()
            self._works = {names: work.without_rows() for names, work in self._works.items()}
            self._columns.give_memory_back()
        self._dead = dead_tuples(self._works, self._forests) if self._forests else 0
        return deltas

    def foresee(self, update: Update) -> Mapping[str, Delta]:
        try:
            deltas, _, touched = self._run(self._propagation, update)
        except NotInColumnsError:
            self._leave_columns()
            deltas, _, touched = self._run(self._propagation, update)
        try:
            take_back(touched)
        finally:
            self._drop()
        return deltas

    def _run(
        self, propagation: Propagation, update: Update, also: Iterable[tuple[str, ...]] = ()
    ) -> tuple[dict[str, Delta], Works, list[Touched]]:
        try:
            return propagation.run(update, also)
        except BaseException:
            self._drop()
            raise

    @staticmethod
    def _holders(stores: Mapping[str, Store], choices: Mapping[str, Choice], columns: Columns | None) -> Holders:
        maintainers = {name: choice.maintainer for name, choice in choices.items()}
        return Holders(stores, maintainers, {} if columns is None else columns.mirrors)

    def _drop(self) -> None:
        """Nothing that is staged happens."""
        if self._columns is not None:
            for stores in self._every_store():
                for store in stores.values():
                    store.drop()

    def _every_store(self) -> list[Mapping[str, Store]]:
        return [self._stores] if self._columns is None else [self._stores, self._columns.mirrors]

    def _expect(self, update: Update) -> None:
        """Keep everything in columns from now on if with this change there are enough rows for it.

        And take kernels that were not compiled yet, once they are.
        """
        is_large = self._columns is None and self._has_enough_rows(update)
        if not is_large and not self._is_for_now:
            return
        # Smaller databases need neither numpy nor the compiler.
        from whence.engines.local.compilation import COLUMNS, FOREST, is_ready, may_call

        gets_columns = is_large and may_call(COLUMNS)
        if not gets_columns and not (self._is_for_now and is_ready(FOREST)):
            return
        try:
            self._rebuild(in_columns=gets_columns or self._columns is not None)
        except NotInColumnsError:
            self._never_in_columns()
        except WhenceError:
            # What limits and functions allowed so far they do not allow otherwise: then it stays as it is.
            self._never_in_columns()
            self._is_for_now = False

    def _has_enough_rows(self, update: Update) -> bool:
        """For columns."""
        self._rows_until_columns -= sum(map(len, update.deltas.values()))
        if self._rows_until_columns > 0:
            return False
        coming = sum(totals(delta)[0] for delta in update.deltas.values())
        stored = sum(store.size for name, store in self._stores.items() if name not in self._of_relation)
        self._rows_until_columns = self._rows_in_columns - coming - stored
        return self._rows_until_columns <= 0

    def _leave_columns(self) -> None:
        """There is a value that columns do not hold: keep everything row by row, for good."""
        self._rebuild(in_columns=False)
        self._never_in_columns()

    def _never_in_columns(self) -> None:
        self._rows_in_columns = self._rows_until_columns = math.inf

    def _rebuild(self, *, in_columns: bool) -> None:
        """The same program over the same rows, kept otherwise. If this raises, nothing has changed."""
        rows = {name: dict(store.contents()) for name, store in self._stores.items() if name not in self._of_relation}
        before = dict(vars(self))
        try:
            columns = None
            if in_columns:
                from whence.engines.local.columns import Columns

                columns = Columns()
            self._begin(columns)
            self._define(before["_analysis"], before["_functions"], Update(rows))
        except BaseException:
            vars(self).update(before)
            raise

    def layout(self) -> str:
        from whence.engines.local.saved_state import layout

        return layout()

    def saved(self) -> SavedState | None:
        if self._columns is None and not self._forests:
            return None
        from whence.engines.local.saved_state import saved_state

        tables = {name: store for name, store in self._stores.items() if name not in self._of_relation}
        components = [component for component in self._analysis.components if component.rules]
        views = [(component, self._choices[component.relations].maintainer) for component in components]
        return saved_state(self._columns, tables, views, self._analysis.relations)

    def restore(self, analysis: Analysis, functions: Functions, saved: SavedState, rows: Update, later: Update) -> bool:
        from whence.engines.local.columns import Columns
        from whence.engines.local.compilation import COLUMNS, may_call
        from whence.engines.local.saved_state import load_tables

        columns = None
        if saved["encodings"] is not None:
            if not may_call(COLUMNS):
                return False
            columns = Columns()
            columns.encodings.restore(saved["encodings"])
        before = dict(vars(self))
        try:
            self._begin(columns)
            names = [*(name for name, _ in saved["tables"] if name in analysis.relations), *rows.deltas]
            self._define(analyze(Program(tuple(analysis.relations[name] for name in names))), {}, rows)
            load_tables(saved, self._stores)
            self._define(analysis, functions, Update(), saved=saved)
            self.apply(later)
        except (NotInColumnsError, WhenceError):
            # What a change cannot follow may be built all the same.
            vars(self).update(before)
            return False
        return True

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            foresight=self, evidence=self, keys=self, plans=self, statistics=self, adaptation=self, saving=self
        )

    def plan_costs(self) -> type[PlanCosts]:
        return PlanCosts

    def counts(self, relation: str) -> Mapping[Row, int]:
        choice = self._of_relation.get(relation)
        if choice is None:
            counts = self._stores[relation].counts
            # A reader that knows keys can look them up.
            return MappingProxyType(counts) if isinstance(counts, dict) else counts
        return choice.maintainer.counts(relation)

    def evaluate(self, analysis: Analysis, functions: Functions, relation: str) -> Mapping[Row, int]:
        if self._columns is not None:
            from whence.engines.local.columns import InColumns

            with suppress(NotInColumnsError):
                kept = InColumns(self._columns)
                return evaluate(analysis, functions, self._limits, self._borrowed, relation, kept)
        return evaluate(analysis, functions, self._limits, self._borrowed, relation)

    def by_key(self, relation: str) -> Mapping[Key, Row]:
        return self._stores[relation].by_key

    def choice(self, relation: str) -> Choice | None:
        """How a view is maintained; None for a base table."""
        return self._of_relation.get(relation)

    def plan(self, component: Component) -> Choice:
        return self._choices[component.relations]

    def evidence(self) -> LocalEvidence:
        maintainers = {name: choice.maintainer for name, choice in self._of_relation.items()}
        return LocalEvidence(self._analysis, self._functions, self._stores, maintainers)

    def statistics(self) -> LocalStatistics:
        """What planning knows of the rows; it follows later changes, but not later definitions."""
        return LocalStatistics(self._stores, {name: choice.maintainer for name, choice in self._of_relation.items()})

    def metrics(self) -> Mapping[str, int | float]:
        found: dict[str, int | float] = {"components": len(self._works)}
        # Only compiled forests know of dead tuples and of bytes.
        if self._forests:
            found["dead"] = self._dead
            found["state_bytes"] = sum([forest.state_bytes for forest in self._forests.values()])
        return found

    def work(self, component: Component) -> ComponentWork | None:
        return self._works.get(component.relations)

    def _borrowed(self, relation: str) -> Store:
        store = self._stores.get(relation)
        if store is None:
            maintainer = self._of_relation[relation].maintainer
            store = maintainer.own_store() if isinstance(maintainer, KeepsStore) else None
        return Borrowed(self.counts(relation)) if store is None else lent(store)

    def _store_of_table(self, name: str, analysis: Analysis) -> Store:
        before = self._analysis.relations.get(name)
        same = before is not None and before.columns == analysis.relations[name].columns
        if same and name not in self._of_relation:
            return self._stores[name]
        relation = analysis.relations[name]
        return table_store(relation) if self._columns is None else self._columns.table_store(relation)


def _maintained(
    analysis: Analysis,
    choices: Mapping[tuple[str, ...], Choice],
    planned: Mapping[tuple[str, ...], PlannedView | RefoldedView] = MappingProxyType({}),
    later: Collection[tuple[str, ...]] = (),
) -> Iterator[MaintainedView]:
    """The views of a program in order, with plans for some and without those that come later."""
    for component in analysis.components:
        names = component.relations
        if names in planned:
            yield MaintainedView(names, planned[names].reads, planned[names])
        elif component.rules and names not in later:
            yield MaintainedView(names, component.reads, choices[names].maintainer)
