"""Views that get new definitions, by a plan over old contents.

What has to be computed are jobs. Where a rule of the plan only takes columns of what is stored, they are taken as they
lie there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from whence.algebra.deltas import add_to
from whence.analysis.components import Component
from whence.analysis.typed_rules import typed_rule
from whence.engines.spark.bodies import JoinStart
from whence.engines.spark.components import Cluster, Effects, small_delta
from whence.engines.spark.errors import evaluation_errors
from whence.engines.spark.frames import (
    DriverDelta,
    FrameDelta,
    SingleRows,
    StoredDelta,
    as_seen,
    delta_frame,
    difference,
    summed,
)
from whence.engines.spark.registry import Registry
from whence.engines.spark.state import CountedRows
from whence.engines.spark.state_changes import Appended, ChangedState, Renewed, StateChange
from whence.engines.spark.types import arrow_frame, column_names, rows_from_arrow
from whence.engines.spark.views import tally
from whence.model.program import Functions
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Variable, Wildcard
from whence.model.types import Row
from whence.model.updates import Delta
from whence.rewriting import states
from whence.rewriting.adaptation import Adaptation, Derived
from whence.rewriting.view_sums import is_readable_as_sum, is_sum


@dataclass(frozen=True)
class PlanContents:
    """The relations of plans. `before` holds them as they are before the step, and so does `after` with those that go
    on; of others it holds nothing yet. `seen` is what changes, as far as plans have got.
    """

    spark: SparkSession
    before: Registry
    after: Registry
    seen: Mapping[str, Delta]
    # The components of the old program, by the relation that is the only one of each.
    former: Mapping[str, Component]

    def frame(self, state: str, relation: Relation, *, is_negated: bool) -> DataFrame:
        """Rows and counts; those of a bag are added up only where it `is_negated`."""
        name = states.relation_of(state)
        parts = []
        if not states.is_change(state):
            registry = self.after if states.is_after(state) else self.before
            is_counted = isinstance(registry[name], CountedRows)
            if relation.distinct or not is_counted:
                parts.append(as_seen(registry.frame(name), registry[name].relation))
            else:
                parts.append(registry.frame(name) if is_negated else registry.added_up_later(name))
        if states.is_after(state) or states.is_change(state):
            parts.append(delta_frame(self.spark, relation, self.seen.get(name, {})))
        return summed(relation, parts) if relation.distinct or is_negated else reduce(DataFrame.unionByName, parts)

    def size(self, state: str) -> int:
        name = states.relation_of(state)
        change = self.seen.get(name, {})
        changed = change.rows if isinstance(change, FrameDelta) else len(change)
        if states.is_change(state):
            return changed
        return len(self.after[name].counts) + changed if states.is_after(state) else len(self.before[name].counts)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int | None:  # noqa: ARG002 - nobody has counted
        return None

    def is_projectable(self, rule: Rule, relations: Mapping[str, Relation]) -> bool:
        """Whether a rule takes columns of stored counts as they are, and nothing else."""
        if rule.sign != 1 or len(rule.body) != 1 or not isinstance(rule.body[0], Atom):
            return False
        atom, name = rule.body[0], states.relation_of(rule.body[0].relation)
        if states.is_after(atom.relation) or states.is_change(atom.relation):
            return False
        if not isinstance(self.before[name], CountedRows):
            return False
        former = self.former[name]
        # To its readers, a set counts no derivations.
        is_set = relations[atom.relation].distinct and bool(former.rules)
        is_counted = not is_set or (is_sum(former) and is_readable_as_sum(former, relations))
        bound = [term.name for term in atom.terms if isinstance(term, Variable)]
        is_open = all(isinstance(term, Variable | Wildcard) for term in atom.terms) and len({*bound}) == len(bound)
        if not is_counted or not is_open or not all(isinstance(term, Variable) for term in rule.head.terms):
            return False
        stored = [relations[atom.relation].columns[atom.terms.index(term)].type for term in rule.head.terms]
        return stored == [column.type for column in relations[rule.head.relation].columns]


class PlannedView:
    """One view in the step to another definition. Nothing of it has happened yet."""

    def __init__(
        self,
        step: Derived,
        adaptation: Adaptation,
        functions: Functions,
        contents: PlanContents,
        cluster: Cluster,
    ) -> None:
        self._step = step
        self._relations = adaptation.relations
        self._functions = functions
        self._contents = contents
        self._cluster = cluster
        (self._name,) = step.component.relations
        self._relation = cluster.registry[self._name].relation

    def derive(self) -> Effects:
        with evaluation_errors(self._step.component.rules[0].span):
            return self._changed() if self._step.keeps_rows else self._renewed()

    def _changed(self) -> Effects:
        """Its rows stay, and what the rules give is added to them."""
        counts = self._counts_of(self._tallied(self._step.rules)) if self._step.rules else {}
        if not counts:
            return Effects()
        seen = self._seen_of(counts) if self._relation.distinct else counts
        return Effects({self._name: seen}, {self._name: _state_change(counts)})

    def _counts_of(self, frame: DataFrame) -> Delta:
        """A change of counts: as a kept frame, as columns of this process, or as rows where they are few."""
        home, paging, relation = self._cluster.home, self._cluster.paging, self._relation
        answer = frame.limit(paging.delta + 1).toArrow()
        if len(answer) > paging.delta:
            kept = home.keep(self._name, frame)
            return FrameDelta(relation, kept, home.rows(kept), kept)
        table = answer.cast(self._cluster.registry.codec(self._name).schema)
        if len(table) >= paging.columns and relation.arity:
            return DriverDelta(relation, table, home.keep_table(self._name, table))
        return dict(zip(rows_from_arrow(table, relation), table.column("n").to_pylist(), strict=True))

    def _renewed(self) -> Effects:
        """All its rows come again."""
        home = self._cluster.home
        projected = [rule for rule in self._step.rules if self._contents.is_projectable(rule, self._relations)]
        rest = [rule for rule in self._step.rules if rule not in projected]
        frames: list[DataFrame] = []
        overlay: dict[Row, int] = {}
        for rule in projected:
            self._project(rule, frames, overlay)
        if rest:
            kept = home.keep(self._name, self._tallied(rest))
            frames += [kept] if home.rows(kept) else []
        state = Renewed(frames, overlay)
        return Effects({self._name: self._seen_from(state)}, {self._name: state})

    def _project(self, rule: Rule, frames: list[DataFrame], overlay: dict[Row, int]) -> None:
        (atom,) = rule.body
        assert isinstance(atom, Atom)
        positions = [atom.terms.index(term) for term in rule.head.terms]
        name = states.relation_of(atom.relation)
        stored = self._contents.before.counted(name)
        repeats = {*positions} != {*range(len(atom.terms))}
        frames += [
            self._cluster.home.projected(frame, self._relation, positions, repeats=repeats)
            for frame in self._contents.before.kept_frames(name)
        ]
        add_to(overlay, ((tuple([row[at] for at in positions]), count) for row, count in stored.overlay_rows.items()))

    def _tallied(self, rules: Sequence[Rule]) -> DataFrame:
        signatures = {name: function.signature for name, function in self._functions.items()}
        negated = {each.atom.relation for rule in rules for each in rule.body if isinstance(each, Negation)}
        frames = {
            state: self._contents.frame(state, self._relations[state], is_negated=state in negated)
            for state in dict.fromkeys(state for rule in rules for state in rule.reads)
        }
        typed = [typed_rule(rule, self._relations, signatures) for rule in rules]
        return tally(self._relation, typed, self._functions, frames, JoinStart(statistics=self._contents))

    def _seen_of(self, counts: Delta) -> Delta:
        """Which rows of a set come and go when the numbers of their derivations change like this."""
        cluster, relation = self._cluster, self._relation
        changed = delta_frame(cluster.spark, relation, counts)
        names = column_names(relation.arity)
        before = self._contents.before.added_up_later(self._name)
        keys = changed.select(names)
        matches = [before[name].eqNullSafe(keys[name]) for name in names]
        touched = before.join(keys if isinstance(counts, FrameDelta) else F.broadcast(keys), matches, "left_semi")
        both = touched.withColumn("d", F.lit(0).cast("bigint")).unionByName(
            changed.withColumnRenamed("n", "d").withColumn("n", F.lit(0).cast("bigint"))
        )
        sums = both.groupBy(*names).agg(F.sum("n").alias("was"), F.sum("d").alias("d"))
        comes = (F.col("was") + F.col("d") > 0).cast("bigint") - (F.col("was") > 0).cast("bigint")
        seen = sums.select(*names, comes.alias("n")).where("n <> 0")
        return small_delta(cluster.home, cluster.paging, relation, seen)

    def _seen_from(self, state: Renewed) -> Delta:
        """What readers see: the difference if it has the columns that it had, and else all rows."""
        cluster, relation = self._cluster, self._relation
        home, paging = cluster.home, cluster.paging
        rows = sum(map(home.rows, state.frames)) + len(state.overlay)
        together = self._added_up(state)
        if self._step.is_change:
            before = as_seen(self._contents.before.frame(self._name), relation)
            return small_delta(home, paging, relation, difference(relation, before, as_seen(together, relation)))
        if rows <= paging.delta:
            return small_delta(home, paging, relation, as_seen(together, relation))
        bounds = [home.counts(frame) for frame in state.frames] + [(count, count) for count in state.overlay.values()]
        if not relation.distinct and all(each is not None and each[0] > 0 for each in bounds):
            is_single = all(home.counts(frame) == (1, 1) for frame in state.frames)
            return (SingleRows if is_single else StoredDelta)(relation, together, rows, state.frames, state.overlay)
        is_alone = len(state.frames) == 1 and not state.overlay and not home.repeats(state.frames[0])
        return FrameDelta(relation, as_seen(together, relation), rows, together if is_alone else None)

    def _added_up(self, state: Renewed) -> DataFrame:
        spark, home = self._cluster.spark, self._cluster.home
        if len(state.frames) == 1 and not state.overlay and not home.repeats(state.frames[0]):
            return state.frames[0]
        overlay = arrow_frame(spark, self._cluster.registry.codec(self._name).encode(state.overlay))
        return summed(self._relation, [overlay, *state.frames])


def _state_change(counts: Delta) -> StateChange:
    if isinstance(counts, FrameDelta):
        return Appended(counts.frame, counts.rows, counts.table if isinstance(counts, DriverDelta) else None)
    return ChangedState(counts)
