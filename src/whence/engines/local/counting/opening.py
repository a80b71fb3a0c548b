"""How the bindings that come out of a plan are read: as columns of values, with bundles opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, repeat
from operator import add, itemgetter, mul, neg
from typing import Any, TypeAlias, TypeVar

from whence.engines.local.counting.bundles import FULL, Batch, Binding
from whence.engines.local.counting.terms import Terms
from whence.model.terms import Term
from whence.model.types import Row, Type, Value

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


class Opened:
    """Bindings, and the entries of their bundles. Without bundles every binding is an entry."""

    def __init__(self, batch: Batch, entries: Batch) -> None:
        self.batch = batch
        self.entries = entries

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
Column: TypeAlias = Callable[[Opened], Iterable[T]]


class Opening:
    """The columns of a plan's bindings. Without a layout there are no bundles in them."""

    def __init__(self, terms: Terms, layout: Layout | None = None) -> None:
        self._terms = terms
        self._layout = layout
        self._in_entries = terms if layout is None else terms.placed(layout.place)

    def open(self, batch: Batch) -> Iterator[Opened]:
        """All of the batch, in pieces that are not too large."""
        if self._layout is None:
            yield Opened(batch, batch)
            return
        entries: Batch = []
        start = 0
        for place, binding in enumerate(batch, 1):
            entries += binding[0]
            if len(entries) >= FULL or place == len(batch):
                yield Opened(batch[start:place], entries)
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
            return None if sign > 0 else lambda opened: repeat(-1, len(opened.entries))
        if len(factors) == 1 and sign > 0:
            return factors[0]

        def weigh(opened: Opened) -> Iterable[int]:
            product = reduce(lambda left, right: map(mul, left, right), [factor(opened) for factor in factors])
            return product if sign > 0 else map(neg, product)

        return weigh

    def _column(self, read: Iterable[Term], compiled: Callable[[Terms], Callable[[Row], T]]) -> Column[T]:
        """What a function of these terms makes of each entry. Where a whole bundle is alike, it is called once."""
        layout, slots = self._layout, self._terms.slots(read)
        if layout is None or layout.own.isdisjoint(slots):
            of_binding = compiled(self._terms)
            return lambda opened: opened.spread(list(map(of_binding, opened.batch)))
        of_entry = compiled(self._in_entries)
        if slots <= layout.places.keys():
            return lambda opened: map(of_entry, opened.entries)
        width = layout.slots
        return lambda opened: map(of_entry, opened.whole(width))


def _in_bundles(place: int | None) -> Column[int]:
    def weigh(opened: Opened) -> list[int]:
        weights: list[int] = []
        for binding in opened.batch:
            weights += binding[0].weights(place)
        return weights

    return weigh


def _in_bindings(slot: int) -> Column[int]:
    count: Callable[[Binding], Any] = itemgetter(slot)
    return lambda opened: opened.spread(list(map(count, opened.batch)))
