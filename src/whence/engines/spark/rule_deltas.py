"""The bindings of a rule that come and go when relations of its body change, on the cluster.

Joins are linear: what a change of one literal adds to the bindings is the rule with that change in the place of the
literal. Where several change, those to its left are read as they are after the change, and the others as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame

from whence.analysis.typed_rules import TypedRule
from whence.engines.spark.bodies import CountedBindings, JoinStart, bindings, product_of_counts
from whence.engines.spark.components import Cluster
from whence.engines.spark.derivation import relation_after
from whence.engines.spark.frames import FrameDelta, as_seen, delta_frame
from whence.engines.spark.registry import RegistryStatistics
from whence.engines.spark.state import CountedRows
from whence.incremental.plan import relation_of
from whence.model.program import Functions
from whence.model.rules import Atom
from whence.model.updates import Delta

# A view is derived again if more than this part of its derivations comes or goes.
WORTH_FOLLOWING = 0.5


class ChangedReads:
    """The relations that a view reads, as frames of rows and counts, before a change of some of them and after."""

    def __init__(self, inputs: Mapping[str, Delta], cluster: Cluster) -> None:
        self._inputs = inputs
        self._cluster = cluster
        self._registry = cluster.registry
        self.statistics = RegistryStatistics(cluster.registry)
        self._counted: dict[str, DataFrame] = {}
        self.changes = {
            name: delta_frame(cluster.spark, cluster.registry[name].relation, delta) for name, delta in inputs.items()
        }

    def counted(self, name: str, *, is_after: bool) -> DataFrame:
        """Counts that add up to how often readers see a row. It may be there several times, and so cancel out."""
        if name not in self._counted:
            self._counted[name] = self._before(name)
        frame = self._counted[name]
        return frame.unionByName(self.changes[name]) if is_after and name in self.changes else frame

    def present(self, name: str, *, is_after: bool) -> DataFrame:
        """The rows that are there."""
        change = self._inputs.get(name) if is_after else None
        return relation_after(name, change, self._cluster, takes_summands=True).where("n > 0")

    def are_worth_following(self, rules: Sequence[TypedRule]) -> bool:
        """Whether delta rules look at fewer rows than the rules themselves."""
        share = sum(map(self._share, rules)) / len(rules)
        self._cluster.work.reason = f"about {share:.1%} of its derivations come or go"
        return share <= WORTH_FOLLOWING

    def _share(self, rule: TypedRule) -> float:
        """About which part of a rule's bindings comes or goes: as much as of the relations that it reads."""
        names = [name for literal in rule.rule.body if (name := relation_of(literal)) is not None]
        changed = [name for name in names if name in self._inputs]
        return sum(_rows(self._inputs[name]) / max(1, self.statistics.size(name)) for name in changed)

    def _before(self, name: str) -> DataFrame:
        state = self._registry[name]
        # Of a set with rules the state has the number of derivations.
        if isinstance(state, CountedRows) and not (state.relation.distinct and name in self._registry.derived):
            return self._registry.added(name)
        return as_seen(self._registry.frame(name), state.relation)


def _rows(delta: Delta) -> int:
    return delta.rows if isinstance(delta, FrameDelta) else len(delta)


def rule_deltas(number: int, rule: TypedRule, reads: ChangedReads, functions: Functions) -> Iterator[CountedBindings]:
    """`number` is that of the rule in its view. A binding that goes counts negatively."""
    names = {at: name for at, literal in enumerate(rule.rule.body) if (name := relation_of(literal)) is not None}
    positive = [at for at in names if isinstance(rule.rule.body[at], Atom)]
    changed = [at for at, name in names.items() if name in reads.changes]
    for place, trigger in enumerate(changed):
        earlier = changed[:place]
        atoms = {at: reads.counted(names[at], is_after=at in earlier) for at in positive if at != trigger}
        negations = {
            at: reads.present(name, is_after=at in earlier)
            for at, name in names.items()
            if at not in positive and at != trigger
        }
        change = reads.changes[names[trigger]]
        if trigger in positive:
            start = JoinStart(first=trigger, statistics=reads.statistics)
            found = bindings(rule, {**atoms, trigger: change}, negations, functions, start)
            yield CountedBindings(number, found, product_of_counts(positive, rule.rule.sign))
            continue
        # Where a row went and none is left that fits, bindings come; where one came and none was there, they go.
        for flipped, is_after, sign in ((change.where("n < 0"), True, 1), (change.where("n > 0"), False, -1)):
            against = {**negations, trigger: reads.present(names[trigger], is_after=is_after)}
            start = JoinStart(first=trigger, given=flipped, statistics=reads.statistics)
            found = bindings(rule, atoms, against, functions, start)
            yield CountedBindings(number, found, product_of_counts(positive, sign * rule.rule.sign))
