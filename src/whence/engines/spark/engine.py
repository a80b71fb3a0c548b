"""The Spark engine: state on the cluster, small changes in the driver, large ones as jobs over whole relations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

from pyspark.sql import DataFrame, SparkSession

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.engine import kept_components, reads
from whence.engines.local.store import Key
from whence.engines.reference.fixpoint import DEFAULT_LIMITS, Limits
from whence.engines.spark.absorption import RebuildError
from whence.engines.spark.components import ComponentPlan, plan_for
from whence.engines.spark.contents import Contents
from whence.engines.spark.effects import Effects, of_tables
from whence.engines.spark.errors import evaluation_errors
from whence.engines.spark.fetching import Fetcher
from whence.engines.spark.followed import Cluster, Derivation, Followed, small_delta
from whence.engines.spark.frames import FrameDelta, added, as_seen, delta_frame, difference, negated, summed
from whence.engines.spark.lost_rows import begun_anew_when_lost
from whence.engines.spark.paging import DEFAULT_PAGING, Paging, Question, TooLargeError
from whence.engines.spark.payloads import Codec, CountPayload
from whence.engines.spark.proving import SparkEvidence
from whence.engines.spark.recursive import FAILING
from whence.engines.spark.registry import (
    COUNTS,
    Home,
    Registry,
    Replaced,
    StateChange,
    Stored,
    readable,
)
from whence.engines.spark.work import Ledger, Work
from whence.errors import EvaluationError, WhenceError
from whence.model.program import Program
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, Update, totals


class SparkEngine:
    """Components in order, as in the local engine; a commit happens in all of them or in none."""

    def __init__(
        self,
        spark: SparkSession,
        home: Home,
        maintenance: str = "auto",
        limits: Limits = DEFAULT_LIMITS,
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
        self._plans: dict[tuple[str, ...], ComponentPlan] = {}
        self._fetcher = Fetcher(spark)
        self._ledger = Ledger(spark)
        # What has changed in the states since this was last asked for.
        self.unwritten: dict[str, list[StateChange]] = {}

    def define(self, analysis: Analysis, functions: Functions, update: Update) -> Mapping[str, Delta]:
        self._ledger.begin()
        kept = kept_components(self._analysis, self._functions, analysis, functions)
        registry = Registry(self.spark, self._home, self._paging)
        plans: dict[tuple[str, ...], ComponentPlan] = {}
        effects = of_tables(update)
        built: dict[str, StateChange] = {}
        # What new relations hold at first.
        contents: dict[str, Delta] = {}
        for component in analysis.components:
            names = component.relations
            if not component.rules:
                self._keep_table(names[0], analysis, registry)
            elif names in kept:
                plans[names] = self._plans[names]
                registry.adopt(self.registry, plans[names].own)
            else:
                plans[names] = self._plan_for(component, analysis, functions, registry)
                first = self._build(plans[names], registry)
                for name, change in first.states.items():
                    registry.change(name, change)
                built.update(first.states)
                contents.update(first.seen)
            if names in plans:
                self._carry_on(plans[names], effects, registry)
        former, self.registry = self.registry, registry
        old, self._analysis = self._analysis, analysis
        self._functions, self._plans = functions, plans
        self._settle(effects)
        for name, change in built.items():
            self.unwritten.setdefault(name, []).insert(0, change)
        announced = dict(effects.seen)
        for names in plans.keys() - kept:
            for name in names:
                had = former.contents(old.relations[name]) if _is_redefined(name, old, analysis) else {}
                announced[name] = self._sum(name, contents.get(name, {}), effects.seen.get(name, {}), negated(had))
        return {name: delta for name, delta in announced.items() if delta}

    def restore(self, analysis: Analysis, functions: Functions, stored: Mapping[str, Stored]) -> None:
        """Go on from what was stored. Views of which nothing is stored are built."""
        self._ledger.begin()
        registry = Registry(self.spark, self._home, self._paging)
        plans: dict[tuple[str, ...], ComponentPlan] = {}
        unwritten: dict[str, list[StateChange]] = {}
        for component in analysis.components:
            names = component.relations
            if not component.rules:
                registry.add_counted(names[0], analysis.relations[names[0]])
                own: Sequence[str] = names
            else:
                plans[names] = self._plan_for(component, analysis, functions, registry)
                own = plans[names].own
            if all(name in stored for name in own):
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
        self._settle(effects)
        return effects.seen

    def foresee(self, update: Update) -> Mapping[str, Delta]:
        ledger, self._ledger = self._ledger, Ledger(self.spark)
        self._ledger.begin()
        try:
            return self._effects(update).seen
        finally:
            self.registry.tidy()
            self._ledger.end()
            self._ledger = ledger

    def evaluate(self, analysis: Analysis, functions: Functions, relation: str) -> Delta:
        """What a relation of another program holds, which reads this one's. Nothing of it is kept."""
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

    def counts(self, relation: str) -> Mapping[Row, int]:
        return Contents(self, relation)

    def evidence(self) -> SparkEvidence:
        """What is known about why rows are there; it follows later changes, but not later definitions."""
        return SparkEvidence(self, self._analysis, self._functions)

    def fetch_missing(self) -> bool:
        """Bring what was looked for and is not in memory; False if there is nothing."""
        return self._ask(list(self._analysis.relations))

    def metrics(self) -> Mapping[str, int | float]:
        return self._ledger.metrics()

    def plan(self, component: Component) -> ComponentPlan:
        return self._plans[component.relations]

    def work(self, component: Component) -> Work | None:
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

    def expect_keys(self, relation: str, positions: tuple[int, ...], keys: Iterable[Key]) -> None:
        """Bring the rows with these keys into memory, in one go."""
        state = self.registry[relation]
        for key in keys:
            state.matching(positions, key)
        self._ask([relation])

    def expect(self, relation: str, rows: Iterable[Row]) -> None:
        """Bring rows into memory that are going to be looked up, in one go."""
        counts = readable(self.registry[relation], self._analysis.relations[relation]).counts
        for row in rows:
            counts.get(row)
        self._ask([relation])

    def _effects(self, update: Update) -> Effects:
        """What follows from an update, component by component; nothing of it has happened yet."""
        effects = of_tables(update)
        for component in self._analysis.components:
            plan = self._plans.get(component.relations)
            if plan is not None:
                self._carry_on(plan, effects, self.registry)
        return effects

    def _plan_for(
        self, component: Component, analysis: Analysis, functions: Functions, registry: Registry
    ) -> ComponentPlan:
        return plan_for(component, analysis.relations, functions, registry, self._limits, self._maintenance)

    def _carry_on(self, plan: ComponentPlan, effects: Effects, registry: Registry) -> None:
        inputs = {name: effects.seen[name] for name in reads(plan.component) if name in effects.seen}
        if inputs:
            work = self._ledger.new_work(plan.component.relations)
            with work.measured(inputs.values()):
                followed = self._follow(plan, inputs, registry, work)
            work.rows_out = sum(sum(totals(delta)) for delta in followed.seen.values())
            effects.add(followed)

    def _build(self, plan: ComponentPlan, registry: Registry) -> Followed:
        """A new component, over what the states hold."""
        work = self._ledger.new_work(plan.component.relations)
        with work.measured(()):
            work.rows_in = sum(len(registry[name].counts) for name in reads(plan.component))
            work.on_cluster = plan.refusal
            if work.on_cluster is None and work.rows_in <= self._paging.whole:
                try:
                    return self._in_driver(plan, plan.try_build, registry, work)
                except (TooLargeError, RebuildError):
                    registry.forget()
            work.on_cluster = work.on_cluster or "it was new, and large"
            return self._on_cluster(plan, {}, registry, work)

    def _follow(self, plan: ComponentPlan, inputs: Mapping[str, Delta], registry: Registry, work: Work) -> Followed:
        """In the driver if it can be done there; if not, `work` tells why."""
        work.on_cluster = plan.refusal
        if work.on_cluster is None and any(isinstance(delta, FrameDelta) for delta in inputs.values()):
            work.on_cluster = "the change was large"
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
        self, plan: ComponentPlan, attempt: Callable[[], Followed], registry: Registry, work: Work
    ) -> Followed:
        """Try until no row is missing. What a try without all rows comes to, an error included, does not count."""
        while True:
            work.tries += 1
            error: WhenceError | RebuildError | None = None
            followed = Followed()
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
        if any(isinstance(each, Question) for each in questions):
            with self._ledger.phase(view or states[0], "fetch what the change touches"):
                self._fetcher.ask(questions)
        else:
            self._fetcher.ask(questions)
        return bool(questions)

    def _on_cluster(self, plan: ComponentPlan, inputs: Mapping[str, Delta], registry: Registry, work: Work) -> Followed:
        """By delta rules if there are any; or from nothing, over relations below as they are after the change."""
        view = plan.component.relations[0]
        if inputs and plan.refusal is None:
            cluster = Cluster(self.spark, registry, self._home, self._paging, work)
            with self._ledger.phase(view, "follow"):
                followed = begun_anew_when_lost(lambda: plan.follow(inputs, cluster), view)
            if followed is not None:
                return followed
        frames = {}
        for name in reads(plan.component):
            relation = registry[name].relation
            frames[name] = as_seen(registry.frame(name), relation)
            if name in inputs:
                frames[name] = summed(relation, [frames[name], delta_frame(self.spark, relation, inputs[name])])
        with self._ledger.phase(view, "derive"), evaluation_errors(plan.component.rules[0].span):
            states = begun_anew_when_lost(lambda: self._kept(plan.derive(frames), work), view)
        with self._ledger.phase(view, "compare with what was there"):
            seen = {name: self._change_of(name, states[name], registry) for name in plan.component.relations}
        return Followed({name: delta for name, delta in seen.items() if delta}, states)

    def _kept(self, derivation: Derivation, work: Work) -> dict[str, Replaced]:
        work.rounds += derivation.rounds
        for frame in derivation.shared:
            frame.persist()
        try:
            kept = {name: self._home.keep(name, frame) for name, frame in derivation.states.items()}
        finally:
            for frame in derivation.shared:
                frame.unpersist()
        return {name: Replaced(frame, self._home.rows(frame)) for name, frame in kept.items()}

    def _change_of(self, name: str, after: Replaced, registry: Registry) -> Delta:
        """What readers see of a relation that was derived anew."""
        state = registry[name]
        seen = as_seen(after.frame, state.relation)
        if len(state.counts):
            before = as_seen(registry.frame(name), state.relation)
            return small_delta(self._home, self._paging, state.relation, difference(state.relation, before, seen))
        if after.rows > self._paging.delta:
            return FrameDelta(state.relation, seen, after.rows, after.frame)
        return small_delta(self._home, self._paging, state.relation, seen)

    def _sum(self, name: str, *deltas: Delta) -> Delta:
        parts = [delta for delta in deltas if delta]
        if len(parts) <= 1:
            return parts[0] if parts else {}
        if not any(isinstance(part, FrameDelta) for part in parts):
            return added(*parts)
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

    def _settle(self, effects: Effects) -> None:
        for name, change in effects.states.items():
            self.registry.change(name, change)
            self.unwritten.setdefault(name, []).append(change)
        self.registry.forget()
        self._ledger.end()


def _is_redefined(name: str, before: Analysis, after: Analysis) -> bool:
    """Whether a relation was there already, with the same columns."""
    return name in before.relations and before.relations[name].columns == after.relations[name].columns
