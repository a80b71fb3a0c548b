"""The bindings that go through a plan: those that join alike as one, opened again where they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, repeat
from operator import add, itemgetter, mul
from typing import Any, TypeAlias, TypeVar, cast

from whence.functions.evaluate import compile_typed
from whence.functions.types import TypedTerm, annotate
from whence.incremental.plan import Pattern, Plan
from whence.incremental.store import Key
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.terms import Term, Variable, variables
from whence.model.types import NULL, Row, Type, Value
from whence.model.types.base import converter

Computed: TypeAlias = Callable[[Row], Value]


class SlotTerms:
    """What the terms of one plan see: its slots, their types, the functions.

    Where the values of the slots are not in their places, `places` tells where they are.
    """

    def __init__(self, plan: Plan, functions: Functions, places: Callable[[int], int] | None = None) -> None:
        self.plan = plan
        self._functions = functions
        self._implementations = {name: function.python for name, function in functions.items()}
        self._places = {name: slot if places is None else places(slot) for name, slot in plan.slots.items()}

    def placed(self, places: Callable[[int], int]) -> SlotTerms:
        """The same terms over tuples that have the slots in other places."""
        return SlotTerms(self.plan, self._functions, places)

    def value(self, term: Term, target: Type | None = None) -> Computed:
        """The term's value, converted to `target` where that is another type."""
        if isinstance(term, Variable) and self._is_of(term, target):
            return itemgetter(self._places[term.name])
        compiled = compile_typed(
            self.annotated(term), self.plan.rule.signatures, self._implementations, target, self._places
        )
        return cast("Computed", compiled)

    def row(self, terms: Sequence[Term], targets: Sequence[Type | None] | None = None) -> Callable[[Row], Row]:
        """All values as a tuple, each converted to its target."""
        wanted = [None] * len(terms) if targets is None else targets
        places = [
            self._places[term.name]
            for term, target in zip(terms, wanted, strict=True)
            if isinstance(term, Variable) and self._is_of(term, target)
        ]
        if len(places) == len(terms):
            return columns(places)
        values = [self.value(term, target) for term, target in zip(terms, wanted, strict=True)]
        return lambda binding: tuple([value(binding) for value in values])

    def key(self, terms: Sequence[Term]) -> Callable[[Row], Key]:
        """The values as stores take them for a key: bare if there is only one."""
        return self.value(terms[0]) if len(terms) == 1 else self.row(terms)

    def slots(self, terms: Iterable[Term]) -> set[int]:
        """The slots of all variables of these terms."""
        return {self.plan.slots[variable.name] for term in terms for variable in variables(term)}

    def _is_of(self, variable: Variable, target: Type | None) -> bool:
        return target is None or self.plan.types[variable.name].type in (target, NULL)

    def annotated(self, term: Term) -> TypedTerm:
        """A term of the rule or of the plan, with the types of all its parts."""
        rule = self.plan.rule
        if all(variable.name in rule.types for variable in variables(term)):
            return rule.annotated(term)
        return annotate(term, self.plan.types, rule.signatures)


def columns(positions: Sequence[int]) -> Callable[[Row], Row]:
    """The values at these positions, as a tuple."""
    if len(positions) > 1:
        return cast("Callable[[Row], Row]", itemgetter(*positions))
    # One position alone would give a bare value, and none is nothing that can be got.
    start = positions[0] if positions else 0
    return cast("Callable[[Row], Row]", itemgetter(slice(start, start + len(positions))))


def pattern_key(pattern: Pattern, relation: Relation) -> Callable[[Row], Row]:
    """The keys with which a row fits the pattern."""
    as_stored = columns(pattern.positions)
    if not pattern.widened:
        return as_stored
    widened = [(position, converter(relation.columns[position].type, kind)) for position, kind in pattern.widened]
    return lambda row: (
        as_stored(row)
        + tuple([None if row[position] is None else convert(row[position]) for position, convert in widened])
    )


# The slots of a plan, in the first of which there may be a bundle.
Binding: TypeAlias = tuple[Any, ...]
Batch: TypeAlias = list[Binding]
# Takes a batch of bindings.
Take: TypeAlias = Callable[[Batch], None]
# Bindings in a batch, about: enough to make the steps between them cheap, few enough to stay small.
FULL = 10_000


class Bundle(list[Row]):
    """Entries, of which the first so many are of rows that go, and the others of rows that come.

    An entry is a row of a relation. In a bag it goes on with how often the row comes, less than 0 if it goes. Then
    follows what the plan has computed from the row alone.
    """

    __slots__ = ("going",)
    going: int

    def weights(self, place: int | None) -> list[int]:
        """How often each entry's row comes: for the rows of a bag, the entries tell that at this place."""
        if place is None:
            return [-1] * self.going + [1] * (len(self) - self.going)
        weight_of: Callable[[Row], Any] = itemgetter(place)
        return list(map(weight_of, self))


def bundle(entries: Iterable[Row], going: int) -> Bundle:
    made = Bundle(entries)
    made.going = going
    return made


def split(binding: Binding) -> tuple[Binding | None, Binding | None]:
    """The same binding for the rows that go alone, and for those that come."""
    entries, *values = binding
    going = entries.going
    return (
        (bundle(entries[:going], going), *values) if going else None,
        (bundle(entries[going:], 0), *values) if going < len(entries) else None,
    )


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a plan's slots are in the entries of its bundles.

    Those that an entry has are in `places`, and of them, those in `own` are not the same in all of a bundle. An entry
    is as long as `length`; what the plan finds for it follows. In a bag it tells at `weight` how often its row comes.
    """

    places: Mapping[int, int]
    own: frozenset[int]
    length: int
    weight: int | None

    @property
    def slots(self) -> int:
        """How many slots the entries of a bundle stand for, the bundle's own included."""
        return 1 + len(self.places)

    def place(self, slot: int) -> int:
        return self.places[slot] if slot in self.places else self.length + slot - self.slots


@dataclass(eq=False, slots=True)
class OpenedBatch:
    """Bindings, and the entries of their bundles. Without bundles every binding is an entry."""

    batch: Batch
    entries: Batch

    def whole(self, slots: int) -> Iterable[Row]:
        """The entries, which stand for so many slots, with all others behind them."""
        return map(add, self.entries, self.spread([binding[slots:] for binding in self.batch]))

    def spread(self, values: list[T]) -> Iterable[T]:
        """What each binding has, for each entry of its bundle."""
        if len(values) == len(self.entries):
            return values
        sizes = [len(binding[0]) for binding in self.batch]
        return chain.from_iterable(map(repeat, values, sizes))


# Values of what was opened, one for each entry.
Column: TypeAlias = Callable[[OpenedBatch], Iterable[T]]


class BindingColumns:
    """The columns of a plan's bindings. Without a layout there are no bundles in them."""

    def __init__(self, terms: SlotTerms, layout: Layout | None = None) -> None:
        self._terms = terms
        self._layout = layout
        self._in_entries = terms if layout is None else terms.placed(layout.place)

    def open(self, batch: Batch) -> Iterable[OpenedBatch]:
        """All of the batch, in pieces that are not too large."""
        return (OpenedBatch(batch, batch),) if self._layout is None else self._pieces(batch)

    def _pieces(self, batch: Batch) -> Iterator[OpenedBatch]:
        entries: Batch = []
        start = 0
        for place, binding in enumerate(batch, 1):
            entries += binding[0]
            if len(entries) >= FULL or place == len(batch):
                yield OpenedBatch(batch[start:place], entries)
                start, entries = place, []

    def value(self, term: Term, target: Type | None = None) -> Column[Value]:
        """The term's value, converted to `target` where that is another type."""
        return self._column((term,), lambda terms: terms.value(term, target))

    def row(self, terms: Sequence[Term], targets: Sequence[Type]) -> Column[Row]:
        """All values as a tuple, each converted to its target."""
        return self._column(terms, lambda each: each.row(terms, targets))

    def weights(self, sign: int) -> Column[int] | None:
        """How often each entry counts, times the sign; None if that is always once."""
        layout, counts = self._layout, self._terms.plan.counts
        factors: list[Column[int]] = []
        if layout is not None:
            # The first of them is the slot of the bundle.
            counts = counts[1:]
            factors.append(_in_bundles(layout.weight))
        factors += map(_in_bindings, counts)
        if not factors:
            return None if sign == 1 else lambda opened: repeat(sign, len(opened.entries))
        if len(factors) == 1 and sign == 1:
            return factors[0]

        def weigh(opened: OpenedBatch) -> Iterable[int]:
            product = reduce(lambda left, right: map(mul, left, right), [factor(opened) for factor in factors])
            return product if sign == 1 else map(sign.__mul__, product)

        return weigh

    def _column(self, read: Iterable[Term], compiled: Callable[[SlotTerms], Callable[[Row], T]]) -> Column[T]:
        """What a function of these terms makes of each entry. Where a whole bundle is alike, it is called once."""
        layout, slots = self._layout, self._terms.slots(read)
        if layout is None:
            of_each = compiled(self._terms)
            return lambda opened: map(of_each, opened.batch)
        if layout.own.isdisjoint(slots):
            of_binding = compiled(self._terms)
            return lambda opened: opened.spread(list(map(of_binding, opened.batch)))
        of_entry = compiled(self._in_entries)
        if slots <= layout.places.keys():
            return lambda opened: map(of_entry, opened.entries)
        width = layout.slots
        return lambda opened: map(of_entry, opened.whole(width))


def _in_bundles(place: int | None) -> Column[int]:
    def weigh(opened: OpenedBatch) -> list[int]:
        weights: list[int] = []
        for binding in opened.batch:
            weights += binding[0].weights(place)
        return weights

    return weigh


def _in_bindings(slot: int) -> Column[int]:
    count: Callable[[Binding], Any] = itemgetter(slot)
    return lambda opened: opened.spread(list(map(count, opened.batch)))
