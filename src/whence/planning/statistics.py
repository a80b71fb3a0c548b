"""How many rows relations have, and how many different values their columns: what planning knows of the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod
from operator import itemgetter
from random import Random
from typing import Protocol, TypeAlias

from whence.analysis.typed_rules import TypedRule
from whence.model.rules import Atom
from whence.model.terms import Variable
from whence.model.types import Row, Value

# Where values are not counted, each known column leaves one row in so many: enough to tell a look-up from a scan.
VALUES_OF_A_COLUMN = 10

# The values of so many rows are counted; of more, about as many are looked at.
COUNTED_ROWS = 1024

# A plan is made for relations of certain sizes, and made again when one of them has grown or shrunk so many times over.
REPLANNED_AT = 8


class Statistics(Protocol):
    """What an engine tells of its relations, in time that does not grow with their rows, as a rule."""

    def size(self, relation: str) -> int:
        """How many different rows there are, about."""

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int | None:
        """How many different values the rows hold at these columns together, about; None if they are not counted."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The statistics of an engine that knows nothing but how many rows there are."""

    rows: Callable[[str], int]

    def size(self, relation: str) -> int:
        return self.rows(relation)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int | None:  # noqa: ARG002 - nothing is counted
        return None


# Nothing is counted: what is left are keys, and what links atoms.
UNCOUNTED = Sizes(lambda _: VALUES_OF_A_COLUMN**4)


def is_outdated(planned: Mapping[str, int], sizes: Mapping[str, int]) -> bool:
    """Whether a plan that was made for relations of some sizes is to be made again, now that they have others."""
    return any(has_outgrown(size, sizes[name]) for name, size in planned.items())


def has_outgrown(planned: int, size: int) -> bool:
    """Whether a relation has grown or shrunk too much for a plan."""
    return size > REPLANNED_AT * (1 + planned) or planned > REPLANNED_AT * (1 + size)


def changes_left(planned: Mapping[str, int], sizes: Mapping[str, int]) -> int:
    """How many rows can change for certain until a plan is outdated, which it is not now: nobody has to look before."""
    until_large = [REPLANNED_AT * (1 + planned[name]) - size for name, size in sizes.items()]
    until_small = [size + 1 - -(-planned[name] // REPLANNED_AT) for name, size in sizes.items()]
    return min([*until_large, *until_small], default=0)


def distinct_values(rows: Collection[Row], column: int) -> int:
    """How many different values a column has: exact up to `COUNTED_ROWS` rows, and else told from a sample of them.

    To hash every value of a large table takes as long as a good part of the join that it is asked for. A sample takes
    a millisecond, about, and is right to a small factor, which is what an order of joins depends on.
    """
    size = len(rows)
    values = map(itemgetter(column), rows if size <= COUNTED_ROWS else _sample(rows, size))
    return _estimate(Counter(values), size)


def _sample(rows: Collection[Row], size: int) -> Iterator[Row]:
    """Rows from all over, at distances that vary: those that lie together are often alike. The same ones every time."""
    widest = max(1, 2 * size // COUNTED_ROWS)
    random, remaining = Random(size), iter(rows)  # noqa: S311 - nothing secret
    while found := next(islice(remaining, int(random.random() * widest), None), None):
        yield found


def _estimate(sample: Counter[Value], size: int) -> int:
    """From values in a sample to values in all rows, by how many of them were seen once (Haas and Stokes, Duj1)."""
    taken, once = sample.total(), sum(count == 1 for count in sample.values())
    if taken in (0, size):
        return len(sample)
    return min(size, round(len(sample) / (1 - (1 - taken / size) * once / taken)))


# A column of a relation.
Place: TypeAlias = tuple[str, int]


class RecursionStatistics:
    """Of a recursion that is about to be computed: how large its relations can become.

    `below` knows what the recursion reads, and `rows` how many rows each relation of its own has so far.

    A relation that is still empty counts as large as it can become: any value that its rules put into a column may come
    together with any of another, as in the closure of a connected graph. Computed values follow from others.
    """

    def __init__(self, rules: Iterable[TypedRule], below: Statistics, rows: Mapping[str, Callable[[], int]]) -> None:
        self._rules = list(rules)
        self._below = below
        self._rows = rows

    def rows(self, relation: str) -> int:
        """How many rows there are now."""
        return self._rows[relation]() if relation in self._rows else self._below.size(relation)

    def size(self, relation: str) -> int:
        rows = self.rows(relation)
        if rows or relation not in self._rows:
            return rows
        return prod(self._values(place) for place in self._sources if place[0] == relation)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int | None:
        if relation not in self._rows:
            return self._below.distinct(relation, columns)
        places = [(relation, column) for column in columns]
        if any(
            self._below.distinct(*_of_one_column(source)) is None for each in places for source in self._sources[each]
        ):
            # Not to be compared with what is not known of others.
            return None
        return max(1, min(prod(map(self._values, places)), self.size(relation)))

    def _values(self, place: Place) -> int:
        return max(1, sum(self._distinct(source) for source in self._sources[place]))

    def _distinct(self, place: Place) -> int:
        distinct = self._below.distinct(*_of_one_column(place))
        return self._below.size(place[0]) if distinct is None else distinct

    @cached_property
    def _sources(self) -> dict[Place, set[Place]]:
        """For every column of the recursion the columns below that its values come from."""
        found: dict[Place, set[Place]] = {}
        passed: list[tuple[Place, Place]] = []
        for typed in self._rules:
            head = typed.rule.head
            for position, term in enumerate(head.terms):
                sources = found.setdefault((head.relation, position), set())
                places = list(_places_of(term.name, typed)) if isinstance(term, Variable) else []
                below = [place for place in places if place[0] not in self._rows]
                if below:
                    # A value has to be in all of them: the first one is as good as any.
                    sources.add(below[0])
                else:
                    passed += (((head.relation, position), place) for place in places[:1])
        changed = True
        while changed:
            changed = False
            for place, source in passed:
                more = found.get(source, set()) - found[place]
                found[place] |= more
                changed = changed or bool(more)
        return found


def _of_one_column(place: Place) -> tuple[str, tuple[int, ...]]:
    relation, column = place
    return relation, (column,)


def _places_of(name: str, typed: TypedRule) -> Iterable[Place]:
    for literal in typed.rule.body:
        if isinstance(literal, Atom):
            for position, term in enumerate(literal.terms):
                if isinstance(term, Variable) and term.name == name:
                    yield literal.relation, position
