"""Views without recursion: the bindings of each rule and how they change, counted per row or folded per group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from whence.algebra.deltas import add_to
from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.analysis.typed_rules import TypedRule
from whence.incremental.counting.bindings import Batch, BindingColumns, Take
from whence.incremental.counting.groups import Groups
from whence.incremental.counting.input_changes import AtomTrigger, EnteredChange, NegationTrigger
from whence.incremental.counting.pipeline import BodySources, MatchCounter, PlanPipeline
from whence.incremental.counting.sources import AtomSource, ChangedSource, LiteralState, NegatedSource, absence_of
from whence.incremental.maintainer import Maintainer
from whence.incremental.plan import relation_of
from whence.incremental.planner import make_delta_plan, make_plan
from whence.incremental.store import ProbedRelation, Store, StoreStatistics
from whence.model.program import Functions
from whence.model.rules import Negation, Rule
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta
from whence.planning.statistics import changes_left, is_outdated

# Makes the function that takes a plan's bindings.
Taker: TypeAlias = Callable[[BindingColumns], Take]

# So few rows go through a plan one by one: to put those together that join alike would take longer.
FEW_ROWS = 16


class DeltaPart(NamedTuple):
    """Two summands: the literal whose change they start from, and what the other changed literals read.

    Literals that are not mentioned have not changed.
    """

    trigger: int
    states: Mapping[int, LiteralState]


def delta_parts(changed: Sequence[int]) -> Iterator[DeltaPart]:
    """The summands of a rule's delta when these of its literals change."""
    for place, trigger in enumerate(changed):
        kept = dict.fromkeys(changed[:place], LiteralState.KEPT)
        yield DeltaPart(trigger, kept | dict.fromkeys(changed[place + 1 :], LiteralState.ITS))


class RuleDeltas:
    """A rule over stores. What becomes of the bindings is up to the view, through `taker`."""

    def __init__(
        self,
        typed: TypedRule,
        functions: Functions,
        stores: Mapping[str, ProbedRelation],
        taker: Taker,
        counter: MatchCounter | None = None,
    ) -> None:
        rule = typed.rule
        self._counter = counter
        self._rule = typed
        self._functions = functions
        self._stores = stores
        self._taker = taker
        self._reads = {number: name for number, literal in enumerate(rule.body) if (name := relation_of(literal))}
        names = [*self._reads.values()]
        # The literals of relations that are read once.
        self._only = {name: number for number, name in self._reads.items() if names.count(name) == 1}
        atoms: dict[int, AtomSource] = {}
        negations: dict[int, NegatedSource] = {}
        for number, name in self._reads.items():
            if isinstance(rule.body[number], Negation):
                negations[number] = absence_of(stores[name])
            else:
                atoms[number] = AtomSource(stores[name])
        # Everything as it is stored.
        self._reading = BodySources(atoms, negations)
        self._prepared: dict[int, _Prepared] = {}
        # After so many changes plans may be outdated.
        self._changes_left: float = 0

    def build(self) -> None:
        """Gives the view all bindings over what the stores hold."""
        plan = make_plan(self._rule, StoreStatistics(self._stores), indexes=self._indexes)
        pipeline = PlanPipeline(plan, self._rule.relations, self._functions, self._counter)
        take = self._taker(BindingColumns(pipeline.terms))
        for batch in pipeline.run(self._reading):
            take(batch)

    def apply(self, deltas: Mapping[str, Delta]) -> None:
        """Gives the view the bindings that come and go."""
        if len(deltas) == 1:
            ((name, delta),) = deltas.items()
            if len(delta) <= FEW_ROWS and self._apply_few(name, delta):
                return
        touched = [(number, name) for number, name in self._reads.items() if name in deltas]
        if not touched:
            return
        self._count_changes(sum([len(deltas[name]) for _, name in touched]), deltas)
        entered: dict[int, EnteredChange] = {}
        for number, name in touched:
            prepared = self._prepared.get(number) or self._prepare(number, StoreStatistics(self._stores, deltas))
            found = prepared.trigger.enter(deltas[name], self._stores[name])
            if found is not None:
                entered[number] = found
        for part in delta_parts(list(entered)):
            prepared = self._prepared[part.trigger]
            start = entered[part.trigger].start(several=len(entered) > 1)
            for batch in prepared.pipeline.run(self._beside(part, entered), start, prepared.trigger.steps):
                prepared.take(batch)

    def _apply_few(self, name: str, delta: Delta) -> bool:
        """Lets the rows go through the plan one by one; answers whether that can be."""
        number = self._only.get(name)
        if number is None or self._counter is not None:
            return False
        self._count_changes(len(delta), {name: delta})
        prepared = self._prepared.get(number) or self._prepare(number, StoreStatistics(self._stores, {name: delta}))
        trigger = prepared.trigger
        if not isinstance(trigger, AtomTrigger) or not trigger.is_simple(delta):
            return False
        prepared.pipeline.follow(trigger.bindings(delta), self._reading, prepared.take_one_by_one)
        return True

    def _count_changes(self, rows: int, deltas: Mapping[str, Delta]) -> None:
        """So many change: plans may be outdated."""
        self._changes_left -= rows
        if self._changes_left < 0:
            self._drop_outdated(StoreStatistics(self._stores, deltas))

    def _beside(self, part: DeltaPart, entered: Mapping[int, EnteredChange]) -> BodySources:
        """What the other literals read."""
        if not part.states:
            return self._reading
        atoms, negations = dict(self._reading.atoms), dict(self._reading.negations)
        for number, state in part.states.items():
            change = entered[number].change
            if number in atoms:
                atoms[number] = ChangedSource(change, state)
            else:
                negations[number] = change.finding(state)
        return BodySources(atoms, negations)

    def _drop_outdated(self, statistics: StoreStatistics) -> None:
        """Forget plans that were made for relations of quite other sizes."""
        sizes = self._sizes(statistics)
        self._prepared = {at: each for at, each in self._prepared.items() if not is_outdated(each.sizes, sizes)}
        self._changes_left = inf
        for each in self._prepared.values():
            self._review_after(each.sizes, {name: sizes[name] for name in each.sizes}, statistics)

    def _review_after(self, planned: Mapping[str, int], sizes: Mapping[str, int], statistics: StoreStatistics) -> None:
        """Look at a plan again when its relations may have other sizes. Rows that go are counted as if they came."""
        if not planned:
            return
        coming = sum(map(len, statistics.coming.values()))
        self._changes_left = min(self._changes_left, changes_left(planned, sizes) - 2 * coming)

    def _sizes(self, statistics: StoreStatistics) -> dict[str, int]:
        return {name: statistics.size(name) for name in self._reads.values()}

    def _prepare(self, number: int, statistics: StoreStatistics) -> _Prepared:
        # With less than two atoms beside the one that changes there is no order to choose.
        has_choice = sum(each != number for each in self._reading.atoms) > 1
        sizes = self._sizes(statistics) if has_choice else {}
        self._review_after(sizes, sizes, statistics)
        plan = make_delta_plan(self._rule, statistics, number)
        pipeline = PlanPipeline(plan, self._rule.relations, self._functions, self._counter)
        relation = self._rule.relations[self._reads[number]]
        trigger: AtomTrigger | NegationTrigger
        if number in self._reading.atoms:
            trigger = AtomTrigger(plan, pipeline.terms, self._rule.rule, relation)
        else:
            trigger = NegationTrigger(plan, pipeline.terms, relation)
        take, take_one_by_one = self._taker(trigger.opening), self._taker(BindingColumns(pipeline.terms))
        prepared = self._prepared[number] = _Prepared(pipeline, trigger, take, take_one_by_one, sizes)
        return prepared

    def _indexes(self, name: str) -> Collection[tuple[int, ...]]:
        store = self._stores[name]
        return store.indexes if isinstance(store, Store) else ()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A plan ready to run, how a change gets into it, what takes its bindings, in bundles or one by one, and the sizes
    of the relations that it was made for, as far as it depends on them.
    """

    pipeline: PlanPipeline
    trigger: AtomTrigger | NegationTrigger
    take: Take
    take_one_by_one: Take
    sizes: Mapping[str, int]


class CountedView(Protocol):
    """The state of one relation. Nothing that happens between `begin` and `settle` counts if `undo` comes instead."""

    def taker(self, rule: int, opening: BindingColumns) -> Take:
        """What takes the bindings of a plan for the rule of that number, which are read like this."""

    def begin(self) -> None:
        """From now on bindings are taken."""

    def change(self) -> Delta:
        """What the bindings taken since `begin` change in the view."""

    def settle(self) -> None: ...

    def undo(self) -> None: ...

    def counts(self) -> Mapping[Row, int]:
        """The settled rows."""


class Tally:
    """In a bag the number of derivations is the row's count. A set has the rows for which it is positive."""

    def __init__(self, relation: Relation, rules: Sequence[Rule]) -> None:
        self._relation = relation
        self._rules = rules
        # Never 0, and below it only where differential rules take away more than the others give.
        self._derivations: dict[Row, int] = {}
        self._sums: Counter[Row] = Counter()
        self._pending: dict[Row, int] = {}

    def taker(self, rule: int, opening: BindingColumns) -> Take:
        return self.taker_of(self._rules[rule], opening)

    def taker_of(self, rule: Rule, opening: BindingColumns) -> Take:
        """What takes the bindings of any rule with this head."""
        head, sign = rule.head.terms, rule.sign
        rows = opening.row(head, [column.type for column in self._relation.columns])
        weights = opening.weights(sign)

        def take(batch: Batch) -> None:
            sums = self._sums
            for opened in opening.open(batch):
                if weights is None:
                    sums.update(rows(opened))
                else:
                    for row, weight in zip(rows(opened), weights(opened), strict=True):
                        sums[row] = sums.get(row, 0) + weight

        return take

    def begin(self) -> None:
        if self._sums:
            self._sums = Counter()
        self._pending = {}

    def restart(self) -> None:
        """In place of `begin`: all bindings come again, and those taken before count no more."""
        self.begin()
        self._sums.subtract(self._derivations)

    @property
    def derivations(self) -> Mapping[Row, int]:
        """How many every row has."""
        return self._derivations

    def take_over(self, former: Tally) -> None:
        """Go on with the rows of another one."""
        self._derivations = former._derivations

    def change(self) -> Delta:
        self._pending = {row: change for row, change in self._sums.items() if change}
        self._sums = Counter()
        return self._membership() if self._relation.distinct else self._pending

    def settle(self) -> None:
        derivations = self._derivations
        if not derivations:
            self._derivations = dict(self._pending)
        else:
            add_to(derivations, self._pending.items())
        self.begin()

    def undo(self) -> None:
        self.begin()

    def counts(self) -> Mapping[Row, int]:
        return Members(self._derivations) if self._relation.distinct else MappingProxyType(self._derivations)

    def _settled(self) -> Mapping[Row, int]:
        """The derivations of every row before the change."""
        return self._derivations

    def _membership(self) -> Delta:
        delta: dict[Row, int] = {}
        derivations = self._settled()
        for row, change in self._pending.items():
            before = derivations.get(row, 0)
            if (before > 0) is not (before + change > 0):
                delta[row] = 1 if change > 0 else -1
        return delta


class Members(Mapping[Row, int]):
    """The rows of a set, each once: those that have a derivation."""

    def __init__(self, derivations: Mapping[Row, int]) -> None:
        self._derivations = derivations

    def __getitem__(self, row: Row) -> int:
        if self._derivations[row] > 0:
            return 1
        raise KeyError(row)

    def __iter__(self) -> Iterator[Row]:
        return (row for row, count in self._derivations.items() if count > 0)

    def __len__(self) -> int:
        return sum(count > 0 for count in self._derivations.values())


class Counting(Maintainer):
    """One relation and its rules. What a commit changes is kept beside the state until it settles."""

    reads_columns = False

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: RecursionLimits,  # noqa: ARG002 - all maintainers are made alike; without recursion there is nothing to limit
        counter: Callable[[Rule], MatchCounter | None] = lambda _: None,
    ) -> None:
        """Within a recursion, the `counter` for a rule is told of its matches."""
        (self._name,) = component.relations
        relation = relations[self._name]
        self.view: CountedView = (
            Groups(relation, component.typed) if component.aggregated else Tally(relation, component.rules)
        )
        self._rules = [
            RuleDeltas(rule, functions, stores, partial(self.view.taker, number), counter(rule.rule))
            for number, rule in enumerate(component.typed)
        ]
        self._functions = functions

    @property
    def derivations(self) -> Mapping[Row, int] | None:
        """How many every row has; None for groups."""
        return self.view.derivations if isinstance(self.view, Tally) else None

    @property
    def is_counted(self) -> bool:
        return isinstance(self.view, Tally)

    def take_over(self, former: Maintainer) -> bool:
        view = self.view
        if not isinstance(view, Tally) or not isinstance(former, Counting) or not isinstance(former.view, Tally):
            return False
        view.take_over(former.view)
        return True

    def derive(
        self,
        rules: Iterable[TypedRule],
        stores: Mapping[str, Store],
        is_after: Callable[[str], bool],  # noqa: ARG002 - what will be there is in a store of its own
        *,
        keeps_rows: bool,
    ) -> Mapping[str, Delta]:
        view = self.view
        assert isinstance(view, Tally)
        (view.begin if keeps_rows else view.restart)()
        for rule in rules:
            RuleDeltas(rule, self._functions, stores, partial(view.taker_of, rule.rule)).build()
        delta = view.change()
        return {self._name: delta} if delta else {}

    def build(self) -> Mapping[str, Delta]:
        self.view.begin()
        for rule in self._rules:
            rule.build()
        return {self._name: self.view.change()}

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        self.view.begin()
        for rule in self._rules:
            rule.apply(deltas)
        delta = self.view.change()
        return {self._name: delta} if delta else {}

    def settle(self) -> None:
        self.view.settle()

    def undo(self) -> None:
        self.view.undo()

    def counts(self, relation: str) -> Mapping[Row, int]:
        if relation != self._name:
            raise KeyError(relation)
        return self.view.counts()
