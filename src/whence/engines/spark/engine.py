"""The Spark engine: state on the cluster, small changes in the driver, large ones as jobs over whole relations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from operator import itemgetter

from pyspark.sql import DataFrame, SparkSession

from whence.algebra.deltas import added
from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits, is_bag_recursion
from whence.engines.engine import Capabilities
from whence.engines.program_difference import difference as program_difference
from whence.engines.spark.array_elements import UnnestingPlan
from whence.engines.spark.column_attempt import can_be_rows, followed_in_columns
from whence.engines.spark.columnar.lookup import ColumnLookup
from whence.engines.spark.components import Cluster, Effects, SparkComponent, of_tables, small_delta
from whence.engines.spark.counting import CountingPlan
from whence.engines.spark.derivation import derived
from whence.engines.spark.errors import retried_when_lost
from whence.engines.spark.evidence import RelationRows, RowsByKey, SparkEvidence
from whence.engines.spark.fetch import Fetcher
from whence.engines.spark.frames import DriverDelta, FrameDelta, as_seen, delta_frame, negated, summed
from whence.engines.spark.levels import LevelPlan
from whence.engines.spark.metrics import CommitLedger, SparkWork
from whence.engines.spark.pages import DEFAULT_PAGING, PageQuery, Paging, TooLargeError
from whence.engines.spark.payloads import Codec, CountPayload
from whence.engines.spark.planned_views import PlanContents, PlannedView
from whence.engines.spark.recursive import FAILING, RebuildError, RecursivePlan
from whence.engines.spark.registry import COUNTS, Registry, RegistryStatistics, readable
from whence.engines.spark.state_changes import FrameHome, Renewed, StateChange, Stored
from whence.engines.spark.types import check_columns
from whence.engines.spark.windows import WindowPlan
from whence.errors import EvaluationError, UnsupportedError, WhenceError
from whence.incremental.keyed import key_positions
from whence.incremental.store import Key
from whence.model.program import Functions, Program
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, Update, totals
from whence.rewriting.adaptation import Adaptation, Derived, Refolded, is_change, planned_steps
from whence.rewriting.costs import PlanCosts, ScanCosts


class SparkEngine:
    """Components in order, as in the local engine; a commit happens in all of them or in none."""

    def __init__(
        self,
        spark: SparkSession,
        home: FrameHome,
        maintenance: str = "auto",
        limits: RecursionLimits = DEFAULT_LIMITS,
        paging: Paging = DEFAULT_PAGING,
    ) -> None:
        self.spark = spark
        self._home = home
        self._maintenance = maintenance
        self._limits = limits
        self._paging = paging
        self._analysis = Analysis(Program(), {}, ())
        self._functions: Functions = {}
        self.registry = Registry(spark, home, paging)
        self._plans: dict[tuple[str, ...], SparkComponent] = {}
        self._fetcher = Fetcher(spark)
        self._ledger = CommitLedger(spark)
        # What has changed in the states since this was last asked for.
        self.unwritten: dict[str, list[StateChange]] = {}

    def define(self, analysis: Analysis, functions: Functions, update: Update) -> Mapping[str, Delta]:
        return self._define(analysis, functions, update, Adaptation())

    def adapt(
        self, analysis: Analysis, functions: Functions, update: Update, adaptation: Adaptation
    ) -> Mapping[str, Delta]:
        if not self._can_follow(adaptation, analysis):
            return self.define(analysis, functions, update)
        try:
            return self._define(analysis, functions, update, adaptation)
        except WhenceError:
            # Whatever is wrong with the plan, or with the program, is found again without it.
            return self.define(analysis, functions, update)

    def _can_follow(self, adaptation: Adaptation, analysis: Analysis) -> bool:
        """Whether states of views that change can go on: a column that was not NULL before is looked up otherwise."""
        changed = [names[0] for names, step in planned_steps(adaptation).items() if is_change(step)]
        return all(self._analysis.relations[name].columns == analysis.relations[name].columns for name in changed)

    def _define(
        self, analysis: Analysis, functions: Functions, update: Update, adaptation: Adaptation
    ) -> Mapping[str, Delta]:
        check_columns(analysis.relations.values())
        self._ledger.begin()
        new = program_difference(self._analysis, self._functions, analysis, functions).going_on(adaptation.kept).fresh
        planned = planned_steps(adaptation)
        fresh = [component for component in new if component.rules and component.relations not in planned]
        registry = Registry(self.spark, self._home, self._paging)
        effects = of_tables(update, analysis.relations, self._home, self._paging)
        contents = PlanContents(self.spark, self.registry, registry, effects.seen, self._former)
        plans: dict[tuple[str, ...], SparkComponent] = {}
        for component in analysis.components:
            names = component.relations
            if not component.rules:
                self._keep_table(names[0], analysis, registry)
            elif names in planned:
                step = planned[names]
                if is_change(step):
                    registry.adopt(self.registry, names)
                plan = plans[names] = self._plan_for(component, analysis, functions, registry)
                effects.add(self._planned(step, plan, adaptation, functions, contents))
            elif component not in fresh:
                plans[names] = self._plans[names]
                registry.adopt(self.registry, plans[names].own)
                self._carry_on(plans[names], effects, registry)
        reversals = [registry.reversal(name, change) for name, change in effects.states.items()]
        # What new relations hold at first.
        built = Effects()
        try:
            # A new component is built over the rows that are there after the change, as if they had always been there.
            # Over those from before it might fail, or have no end.
            for name, change in effects.states.items():
                registry.change(name, change)
            for component in fresh:
                plan = plans[component.relations] = self._plan_for(component, analysis, functions, registry)
                first = self._build(plan, registry)
                for name, change in first.states.items():
                    registry.change(name, change)
                built.add(first)
        except BaseException:
            for take_back in reversals:
                take_back()
            raise
        former, self.registry = self.registry, registry
        old, self._analysis = self._analysis, analysis
        self._functions, self._plans = functions, plans
        for name in registry.names():
            if name in former and registry[name] is not former[name]:
                # What storage has under this name is not even a part of it.
                self.unwritten[name] = [Renewed((), {})]
        self._settle({**effects.states, **built.states})
        announced = {**effects.seen, **built.seen}
        others = [names[0] for names, step in planned.items() if not is_change(step)]
        for name in (*others, *(name for component in fresh for name in component.relations)):
            had = former.contents(old.relations[name]) if _is_redefined(name, old, analysis) else {}
            announced[name] = self._sum(name, announced.get(name, {}), negated(had))
        return {name: delta for name, delta in announced.items() if delta}

    def restore(self, analysis: Analysis, functions: Functions, stored: Mapping[str, Stored]) -> None:
        """Go on from what was stored. Views of which nothing is stored are built."""
        self._ledger.begin()
        registry = Registry(self.spark, self._home, self._paging)
        plans: dict[tuple[str, ...], SparkComponent] = {}
        unwritten: dict[str, list[StateChange]] = {}
        for component in analysis.components:
            names = component.relations
            if not component.rules:
                registry.add_counted(names[0], analysis.relations[names[0]])
                own: Sequence[str] = names
            else:
                plans[names] = self._plan_for(component, analysis, functions, registry)
                own = plans[names].own
            # What an earlier version has kept otherwise is derived again.
            if all(name in stored and stored[name].columns == registry.codec(name).columns for name in own):
                for name in own:
                    registry.restore(name, stored[name])
            elif component.rules:
                for name, change in self._build(plans[names], registry).states.items():
                    registry.change(name, change)
                    unwritten[name] = [change]
        self._analysis, self._functions, self._plans, self.registry = analysis, functions, plans, registry
        self.unwritten = unwritten
        registry.forget()
        self._ledger.end()

    def apply(self, update: Update) -> Mapping[str, Delta]:
        self._ledger.begin()
        effects = self._effects(update)
        for name, change in effects.states.items():
            self.registry.change(name, change)
        self._settle(effects.states)
        return effects.seen

    def foresee(self, update: Update) -> Mapping[str, Delta]:
        ledger, self._ledger = self._ledger, CommitLedger(self.spark)
        self._ledger.begin()
        try:
            return self._effects(update).seen
        finally:
            self.registry.tidy()
            self._ledger.end(self.registry.take_read_bytes())
            self._ledger = ledger

    def evaluate(self, analysis: Analysis, functions: Functions, relation: str) -> Delta:
        self._ledger.begin()
        registry = Registry(self.spark, self._home, self._paging)
        found: dict[str, Delta] = {}
        for component in analysis.components:
            if not component.rules:
                registry.adopt(self.registry, component.relations)
                continue
            built = self._build(self._plan_for(component, analysis, functions, registry), registry)
            for name, change in built.states.items():
                registry.change(name, change)
            found.update(built.seen)
        registry.forget()
        self._ledger.end()
        return found.get(relation, {})

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(foresight=self, evidence=self, keys=self, prefetch=self, statistics=self, adaptation=self)

    def plan_costs(self) -> type[PlanCosts] | None:
        """Small views are built again in the driver, before a job has begun."""
        views = (name for relations in self._plans for name in relations)
        return ScanCosts if any(len(self.registry[name].counts) > self._paging.whole for name in views) else None

    def counts(self, relation: str) -> Mapping[Row, int]:
        return RelationRows(self, relation)

    def evidence(self) -> SparkEvidence:
        return SparkEvidence(self, self._analysis, self._functions)

    def statistics(self) -> RegistryStatistics:
        """What planning knows of the rows; it follows later changes."""
        return RegistryStatistics(self.registry)

    def is_table(self, name: str) -> bool:
        """Whether a relation has no rules."""
        return not any(name in relations for relations in self._plans)

    @property
    def many_rows(self) -> int:
        """So many rows of a change are followed in columns."""
        return self._paging.columns

    def lookup(self) -> ColumnLookup:
        """What finds rows by key, as columns."""
        return self._lookup_in(self.registry)

    def _lookup_in(self, registry: Registry) -> ColumnLookup:
        return ColumnLookup(self.spark, registry, self._paging, self._ledger.phase)

    def fetch_missing(self) -> bool:
        """Bring what was looked for and is not in memory; False if there is nothing."""
        return self._ask(list(self._analysis.relations))

    def metrics(self) -> Mapping[str, int | float]:
        return self._ledger.metrics()

    def plan(self, component: Component) -> SparkComponent:
        return self._plans[component.relations]

    def work(self, component: Component) -> SparkWork | None:
        """What the last change cost a component; None if it did not touch it."""
        return self._ledger.work(component.relations)

    def phase(self, view: str, phase: str) -> AbstractContextManager[None]:
        """Jobs that run in here are for this phase of this view."""
        return self._ledger.phase(view, phase)

    def frame(self, relation: str) -> DataFrame:
        """What readers see of a relation: `c0`, `c1`, ... and `n`, each row once."""
        return as_seen(self.registry.frame(relation), self._analysis.relations[relation])

    def relation(self, name: str) -> Relation:
        return self._analysis.relations[name]

    def delta_codec(self, relation: str) -> Codec[int]:
        """How changes of a relation are written down."""
        return Codec(self._analysis.relations[relation], CountPayload(), COUNTS)

    def holder(self, relation: str, positions: tuple[int, ...], key: Key) -> Row | None:
        """The row of a table that holds a key."""
        state = self.registry[relation]
        known = state.base.misses
        found = state.matching(positions, key)
        if state.base.misses > known:
            self._ask([relation])
            found = state.matching(positions, key)
        return next(iter(found), None)

    def by_key(self, relation: str) -> Mapping[Key, Row]:
        return RowsByKey(self, self._analysis.relations[relation])

    def prefetch(self, relation: str, rows: Sequence[Row]) -> None:
        positions = key_positions(self._analysis.relations[relation])
        try:
            if not positions:
                self.expect(relation, rows)
                return
            state = self.registry[relation]
            for key in map(itemgetter(*positions), rows):
                state.matching(positions, key)
            self._ask([relation])
        except TooLargeError:
            raise UnsupportedError(
                f"{len(rows):,} rows are too many to look up in {relation!r} one by one",
                hint="hand them over as a Spark DataFrame, or in smaller parts",
            ) from None

    def expect(self, relation: str, rows: Iterable[Row]) -> None:
        """Bring rows into memory that are going to be looked up, in one go."""
        counts = readable(self.registry[relation], self._analysis.relations[relation]).counts
        for row in rows:
            counts.get(row)
        self._ask([relation])

    def _effects(self, update: Update) -> Effects:
        """What follows from an update, component by component; nothing of it has happened yet."""
        effects = of_tables(update, self._analysis.relations, self._home, self._paging)
        for component in self._analysis.components:
            plan = self._plans.get(component.relations)
            if plan is not None:
                self._carry_on(plan, effects, self.registry)
        return effects

    def _plan_for(
        self, component: Component, analysis: Analysis, functions: Functions, registry: Registry
    ) -> SparkComponent:
        """A plan to fill and keep the component's states, which are new and empty."""
        registry.derived.update(component.relations)
        if is_bag_recursion(component, analysis.relations):
            return LevelPlan(component, analysis.relations, functions, registry, self._limits)
        if component.recursive:
            return RecursivePlan(component, analysis.relations, functions, registry, self._limits, self._maintenance)
        kept = WindowPlan if component.windowed else UnnestingPlan if component.unnested else CountingPlan
        return kept(component, analysis.relations, functions, registry)

    def _carry_on(self, plan: SparkComponent, effects: Effects, registry: Registry) -> None:
        inputs = {name: effects.seen[name] for name in plan.component.reads if name in effects.seen}
        if inputs:
            work = self._ledger.new_work(plan.component.relations)
            with work.measured(inputs.values()):
                followed = self._follow(plan, inputs, registry, work)
            work.rows_out = sum(sum(totals(delta)) for delta in followed.seen.values())
            effects.add(followed)

    def _planned(
        self,
        step: Derived | Refolded,
        plan: SparkComponent,
        adaptation: Adaptation,
        functions: Functions,
        contents: PlanContents,
    ) -> Effects:
        """A component with another definition, while all that goes on holds what it held before."""
        names = step.component.relations
        work = self._ledger.new_work(names)
        work.on_cluster = "it got another definition"
        cluster = Cluster(self.spark, contents.after, self._home, self._paging, work)
        with work.measured(()):
            if isinstance(step, Refolded):
                inputs = {name: contents.seen[name] for name in step.component.reads if name in contents.seen}
                return derived(plan, inputs, cluster, self._ledger)
            view = PlannedView(step, adaptation, functions, contents, cluster)
            with self._ledger.phase(names[0], "derive from old contents"):
                return retried_when_lost(view.derive, names[0])

    @property
    def _former(self) -> dict[str, Component]:
        """The components of the program, by relation."""
        return {name: component for component in self._analysis.components for name in component.relations}

    def _build(self, plan: SparkComponent, registry: Registry) -> Effects:
        """A new component, over what the states hold."""
        work = self._ledger.new_work(plan.component.relations)
        with work.measured(()):
            work.rows_in = sum(len(registry[name].counts) for name in plan.component.reads)
            work.on_cluster = plan.refusal
            if work.on_cluster is None and work.rows_in <= self._paging.whole:
                try:
                    return self._in_driver(plan, plan.try_build, registry, work)
                except (TooLargeError, RebuildError):
                    registry.forget()
            work.on_cluster = work.on_cluster or "it was new, and large"
            return self._on_cluster(plan, {}, registry, work)

    def _follow(
        self, plan: SparkComponent, inputs: Mapping[str, Delta], registry: Registry, work: SparkWork
    ) -> Effects:
        """In the driver if it can be done there; if not, `work` tells why."""
        work.on_cluster = plan.refusal
        if work.on_cluster is None and any(isinstance(delta, FrameDelta) for delta in inputs.values()):
            cluster = Cluster(self.spark, registry, self._home, self._paging, work)
            followed = followed_in_columns(plan, inputs, cluster, self._lookup_in(registry))
            if followed is not None:
                return followed
            if can_be_rows(inputs, self._paging):
                inputs = {name: dict(each) if isinstance(each, DriverDelta) else each for name, each in inputs.items()}
                work.on_cluster = None
        if work.on_cluster is None:
            try:
                return self._in_driver(plan, lambda: plan.try_change(inputs), registry, work)
            except TooLargeError:
                work.on_cluster = "the change touched too many rows"
            except RebuildError as error:
                work.on_cluster = str(error)
            except EvaluationError:
                if not plan.component.recursive:
                    raise
                work.on_cluster = FAILING
            registry.forget()
        return self._on_cluster(plan, inputs, registry, work)

    def _in_driver(
        self, plan: SparkComponent, attempt: Callable[[], Effects], registry: Registry, work: SparkWork
    ) -> Effects:
        """Try until no row is missing. What a try without all rows comes to, an error included, does not count."""
        while True:
            work.tries += 1
            error: WhenceError | RebuildError | None = None
            followed = Effects()
            try:
                followed = attempt()
            except (WhenceError, RebuildError) as raised:
                error = raised
            if not self._ask(plan.states, registry, plan.component.relations[0]):
                if error is not None:
                    raise error
                return followed

    def _ask(self, states: Sequence[str], registry: Registry | None = None, view: str | None = None) -> bool:
        """Fetch what states miss; False if it is nothing."""
        questions = (registry or self.registry).questions(states)
        if any(isinstance(each, PageQuery) for each in questions):
            with self._ledger.phase(view or states[0], "fetch what the change touches"):
                self._fetcher.ask(questions)
        elif questions:
            self._fetcher.ask(questions)
        return bool(questions)

    def _on_cluster(
        self, plan: SparkComponent, inputs: Mapping[str, Delta], registry: Registry, work: SparkWork
    ) -> Effects:
        """By delta rules if there are any; or from scratch, over relations below as they are after the change."""
        view = plan.component.relations[0]
        cluster = Cluster(self.spark, registry, self._home, self._paging, work)
        if inputs and plan.refusal is None:
            with self._ledger.phase(view, "follow"):
                followed = retried_when_lost(lambda: plan.follow(inputs, cluster), view)
            if followed is not None:
                return followed
        return derived(plan, inputs, cluster, self._ledger)

    def _sum(self, name: str, *deltas: Delta) -> Delta:
        parts = [delta for delta in deltas if delta]
        if len(parts) <= 1 or not any(isinstance(part, FrameDelta) for part in parts):
            return added({}, *parts)
        relation = self._analysis.relations[name]
        return small_delta(
            self._home,
            self._paging,
            relation,
            summed(relation, [delta_frame(self.spark, relation, part) for part in parts]),
        )

    def _keep_table(self, name: str, analysis: Analysis, registry: Registry) -> None:
        before = self._analysis.relations.get(name)
        is_same = before is not None and before.columns == analysis.relations[name].columns
        if is_same and (name,) not in self._plans:
            registry.adopt(self.registry, [name])
        else:
            registry.add_counted(name, analysis.relations[name])

    def _settle(self, changes: Mapping[str, StateChange]) -> None:
        """States have changed like this, for good."""
        for name, change in changes.items():
            self.unwritten.setdefault(name, []).append(change)
        self.registry.forget()
        self._ledger.end(self.registry.take_read_bytes())


def _is_redefined(name: str, before: Analysis, after: Analysis) -> bool:
    """Whether a relation was there already, with the same columns."""
    return name in before.relations and before.relations[name].columns == after.relations[name].columns
