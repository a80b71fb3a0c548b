"""How a change of a relation enters a rule: by what the rule reads of it, and without what cancels out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Protocol, TypeAlias

from whence.incremental.counting.bindings import FULL, Batch, BindingColumns, Bundle, Layout, SlotTerms, bundle, columns
from whence.incremental.counting.sources import PatternPresence, SourceChange
from whence.incremental.keyed import KeyedDelta
from whence.incremental.plan import Compute, Filter, Flip, Missing, Plan, Probe, Step
from whence.incremental.store import ProbedRelation
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Term
from whence.model.types import Row
from whence.model.updates import Delta

# Entries, or None in the places of those that did not pass.
Places: TypeAlias = "list[Row | None]"


class EnteredChange(Protocol):
    """A change of a literal, as the rule sees it."""

    @property
    def change(self) -> SourceChange:
        """What other literals see of it."""

    def start(self, *, several: bool) -> Batch:
        """The bindings that a plan starts with; `several` tells whether other literals change too."""


class AtomTrigger:
    """The beginning of a plan that an atom triggers: the atom, and what can be decided on its row alone.

    What is left of a row then are the slots that later steps and the head read. Where the changes of all rows that
    leave the same add up to nothing, the rule cannot tell that they happened: an order that gets another date in a
    view of some year's orders, as long as it stays in that year. Neither the trigger nor the other triggers need to
    see them, because a row from before stands for one that came in its place.
    """

    def __init__(self, plan: Plan, terms: SlotTerms, rule: Rule, relation: Relation) -> None:
        trigger, *following = plan.steps
        assert isinstance(trigger, Probe), "another plan is entered by a Flip"
        alone = list(_alone(following))
        # How many steps of the plan this has done.
        self.steps = 1 + len(alone)
        later = plan.steps[self.steps :]
        bag = not relation.distinct
        length = relation.arity + bag
        computed = sum(isinstance(step, Compute) for step in alone)
        places = dict(enumerate((*trigger.binds, *range(length, length + computed)), 1))
        joining = terms.slots(term for step in later for term in _terms(step)) & places.keys()
        own = (terms.slots(rule.head.terms) & places.keys()) - joining
        seen = [places[slot] for slot in sorted(joining | own)]
        layout = Layout(places, frozenset(own), length + computed, relation.arity if bag else None)
        self.opening = BindingColumns(terms, layout)
        self._alone = [_decide(step, terms.placed(layout.place)) for step in alone]
        self._joins = bool(later)
        self._row = columns(trigger.binds)
        self.arity = relation.arity
        self.weight = layout.weight
        # The values of the plan's first slots, from an entry.
        self.slots = columns(list(places.values()))
        self._joining = columns([places[slot] for slot in sorted(joining)])
        self._seen = columns(seen)
        # Rows that the rule sees whole cannot be taken for each other.
        self._sees_all = set(seen).issuperset(range(relation.arity))

    def enter(self, delta: Delta, store: ProbedRelation) -> EnteredChange | None:
        """The changed rows that make a difference to the rule; None if none does."""
        going, coming = self._replaced(delta) if isinstance(delta, KeyedDelta) else self._changed(delta)
        if not going and not coming:
            return None
        bundles = self._bundles(going, coming) if self._joins else _in_pieces(going, coming)
        return _Rows(self, going, coming, bundles, store)

    def bindings(self, delta: Delta) -> Batch:
        """The changed rows as the plan's first bindings, with how often each comes in the place of a bundle."""
        row = self._row
        return [(change, *row(each)) for each, change in delta.items()]

    def is_simple(self, delta: Delta) -> bool:
        """Whether nothing can cancel out before it is joined."""
        if not self._joins or self._sees_all or len(delta) == 1:
            return True
        return len({change > 0 for change in delta.values()}) == 1

    def _replaced(self, delta: KeyedDelta) -> tuple[Batch, Batch]:
        """The entries of rows that go, and of rows that come, where these do not leave the same."""
        before: Places = [*delta.before]
        after: Places = [*delta.after]
        if self.weight is not None:
            before = [None if row is None else (*row, -1) for row in before]
            after = [None if row is None else (*row, 1) for row in after]
        for decide in self._alone:
            before, after = decide(before), decide(after)
        seen = self._seen
        differ = [old is None or new is None or seen(old) != seen(new) for old, new in zip(before, after, strict=True)]
        return (
            [entry for entry in compress(before, differ) if entry is not None],
            [entry for entry in compress(after, differ) if entry is not None],
        )

    def _changed(self, delta: Delta) -> tuple[Batch, Batch]:
        """The same for rows without a key, where many can leave the same."""
        entries: Places = list(delta)
        changes = list(delta.values())
        if self.weight is not None:
            entries = [(*row, change) for row, change in delta.items()]
        for decide in self._alone:
            entries = decide(entries)
        left = [(entry, change) for entry, change in zip(entries, changes, strict=True) if entry is not None]
        going = [entry for entry, change in left if change < 0]
        coming = [entry for entry, change in left if change > 0]
        if not going or not coming or not self._joins or self._sees_all:
            return going, coming
        net: dict[Row, int] = {}
        for entry, change in left:
            net[self._seen(entry)] = net.get(self._seen(entry), 0) + change
        return [each for each in going if net[self._seen(each)]], [each for each in coming if net[self._seen(each)]]

    def _bundles(self, going: Batch, coming: Batch) -> list[Bundle]:
        """The entries, put together as they join."""
        bundles: defaultdict[Row, Bundle] = defaultdict(lambda: bundle((), 0))
        for key, entry in zip(map(self._joining, going), going, strict=True):
            bundles[key].append(entry)
        for each in bundles.values():
            each.going = len(each)
        for key, entry in zip(map(self._joining, coming), coming, strict=True):
            bundles[key].append(entry)
        return list(bundles.values())


def _in_pieces(going: Batch, coming: Batch) -> list[Bundle]:
    """Bundles that are not too large, of entries that have nothing to join."""
    entries = going + coming
    return [
        bundle(entries[start : start + FULL], min(max(len(going) - start, 0), FULL))
        for start in range(0, len(entries), FULL)
    ]


@dataclass(eq=False)
class _Rows:
    """The entries of changed rows, and bundles of them."""

    _entering: AtomTrigger
    _going: Batch
    _coming: Batch
    _bundles: list[Bundle]
    _store: ProbedRelation

    @cached_property
    def change(self) -> SourceChange:
        arity, weight = self._entering.arity, self._entering.weight
        entries = bundle((*self._going, *self._coming), len(self._going))
        rows = entries if len(entries[0]) == arity else [entry[:arity] for entry in entries]
        return SourceChange(self._store, rows, entries.weights(weight), distinct=weight is None)

    def start(self, *, several: bool) -> Batch:
        slots, weight, bundles = self._entering.slots, self._entering.weight, self._bundles
        if several and weight is not None:
            bundles = [self._by_counts(each, weight) for each in bundles]
        return [(each, *slots(each[0])) for each in bundles]

    def _by_counts(self, entries: Bundle, place: int) -> Bundle:
        """Each row of a bag as often as it was there, going, and as often as it will be, coming.

        Its copies that stay meet the rows from before in other relations as well as those from after.
        """
        counts = self._store.counts
        before = [counts.get(entry[:place], 0) for entry in entries]
        after = [count + change for count, change in zip(before, entries.weights(place), strict=True)]
        going = [_weighted(entry, place, -count) for entry, count in zip(entries, before, strict=True) if count]
        coming = [_weighted(entry, place, count) for entry, count in zip(entries, after, strict=True) if count]
        return bundle(going + coming, len(going))


def _weighted(entry: Row, place: int, weight: int) -> Row:
    return (*entry[:place], weight, *entry[place + 1 :])


class NegationTrigger:
    """The beginning of a plan that a negation triggers: the keys for which it comes to hold, or no longer does."""

    steps = 1

    def __init__(self, plan: Plan, terms: SlotTerms, relation: Relation) -> None:
        trigger = plan.steps[0]
        assert isinstance(trigger, Flip), "another plan is entered by an atom"
        self._presence = PatternPresence(trigger.pattern, relation)
        width = len(trigger.pattern.positions) + len(trigger.pattern.widened)
        places = {slot: slot - 1 for slot in range(1, 1 + width)}
        self.opening = BindingColumns(terms, Layout(places, frozenset(), width, None))

    def enter(self, delta: Delta, store: ProbedRelation) -> EnteredChange | None:
        """What the change means for the negation; None if it holds for the same keys as before."""
        change = SourceChange(store, list(delta), list(delta.values()))
        ends, begins = self._presence.flipped(change)
        return _Keys(change, ends, begins) if ends or begins else None


@dataclass(eq=False, slots=True)
class _Keys:
    """Keys for which a negation ends, and for which it begins to hold."""

    change: SourceChange
    _ends: Batch
    _begins: Batch

    def start(self, *, several: bool) -> Batch:  # noqa: ARG002 - a key is there once in any case
        going: Batch = [(bundle((key,), 1), *key) for key in self._ends]
        return going + [(bundle((key,), 0), *key) for key in self._begins]


def _alone(steps: list[Step]) -> Iterator[Step]:
    """The steps that look at nothing but the row."""
    for step in steps:
        if not isinstance(step, Filter | Compute):
            return
        yield step


def _decide(step: Step, terms: SlotTerms) -> Callable[[Places], Places]:
    match step:
        case Filter(condition=condition):
            is_true = terms.value(condition)
            return lambda entries: [
                entry if entry is not None and is_true(entry) is True else None for entry in entries
            ]
        case Compute(term=term):
            value = terms.value(term)
            return lambda entries: [None if entry is None else (*entry, value(entry)) for entry in entries]
    raise AssertionError(f"{type(step).__name__} needs more than a row")


def _terms(step: Step) -> tuple[Term, ...]:
    match step:
        case Probe(keys=keys) | Missing(keys=keys):
            return keys
        case Compute(term=term) | Filter(condition=term):
            return (term,)
        case Flip():
            return ()
