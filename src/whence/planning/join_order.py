"""The order in which the atoms of a body are joined, from what is known at the start to all of them.

Costs are the rows that are looked at. Among orders with the fewest steps that nothing links to what is
there, the cheapest is chosen: of all orders where there are few atoms, step by step where there are many. Orders that
cost the same are taken in the order of the text, so that plans stay as they are while nothing tells against them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import log2
from typing import NamedTuple, TypeAlias

from whence.model.schema import Relation
from whence.planning.statistics import VALUES_OF_A_COLUMN, Statistics

# Up to so many atoms, all orders are compared: 64 sets of atoms, each reached from at most six smaller ones.
COMPARED = 6


@dataclass(frozen=True, slots=True)
class JoinAtom:
    """An atom as joins see it.

    For every column there are sets of variables, any one of which tells the column's value once all of it is bound:
    none where rows are not looked up by it, an empty one where it is constant. What `binds` names has a value after
    the join.
    """

    relation: Relation
    columns: tuple[tuple[frozenset[str], ...], ...]
    binds: frozenset[str]

    def known(self, bound: Collection[str]) -> list[int]:
        """The columns whose values are known where these variables are bound."""
        return [at for at, keys in enumerate(self.columns) if any(key.issubset(bound) for key in keys)]


class Definition(NamedTuple):
    """A variable that has a value as soon as those have that it is computed from."""

    name: str
    needs: frozenset[str]


# What it takes to look a row up in a relation of some size, in rows that are read one after the other.
Lookup: TypeAlias = Callable[[float], float]


def as_read(size: float) -> float:  # noqa: ARG001 - the size of a dict does not matter
    return 1.0


def by_distance(size: float) -> float:
    """Of a larger relation fewer rows are in the processor's caches."""
    return log2(2 + size)


def join_order(
    atoms: Sequence[JoinAtom],
    statistics: Statistics,
    bound: Collection[str] = (),
    definitions: Sequence[Definition] = (),
    *,
    is_started: bool = True,
    lookup: Lookup = as_read,
) -> list[int]:
    """The places of the atoms in the order of joining. Unless it `is_started`, the first of them is read through."""
    if len(atoms) < 2:
        return list(range(len(atoms)))
    return list(_joined(atoms, statistics, bound, definitions, lookup, is_started=is_started).order)


class JoinCost(NamedTuple):
    """Of a join from its beginning: how many rows are looked at, and how many there are at the end."""

    looked_at: float
    rows: float


def join_cost(
    atoms: Sequence[JoinAtom],
    statistics: Statistics,
    definitions: Sequence[Definition] = (),
    lookup: Lookup = as_read,
) -> JoinCost:
    """What a join costs, about, in the order that takes the fewest rows at each step: it is asked for many plans."""
    joining = _Joining(atoms, _Costs(statistics), definitions, lookup)
    join = joining.step_by_step(_Join(0, 0.0, (), 1.0, joining.closed(frozenset()), is_started=False))
    return JoinCost(join.cost, join.rows)


def _joined(
    atoms: Sequence[JoinAtom],
    statistics: Statistics,
    bound: Collection[str],
    definitions: Sequence[Definition],
    lookup: Lookup,
    *,
    is_started: bool,
) -> _Join:
    joining = _Joining(atoms, _Costs(statistics), definitions, lookup)
    start = _Join(0, 0.0, (), 1.0, joining.closed(frozenset(bound)), is_started)
    return joining.step_by_step(start) if len(atoms) > COMPARED else joining.cheapest(start)


def key_columns(relation: Relation) -> set[int]:
    """Columns that tell the rows apart. Without a declared key, all of them do, copies aside."""
    names = relation.key or relation.column_names
    return {position for position, name in enumerate(relation.column_names) if name in names}


class _Costs:
    """What look-ups find, on average. Statistics are asked once for each."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._known: dict[tuple[str, tuple[int, ...]], float] = {}

    def rows_found(self, relation: Relation, columns: Collection[int]) -> float:
        """How many rows hold one value at these columns; without columns, how many there are, and at least 1."""
        asked = (relation.name, tuple(sorted(columns)))
        if asked not in self._known:
            self._known[asked] = self._found(relation, asked[1])
        return self._known[asked]

    def _found(self, relation: Relation, columns: tuple[int, ...]) -> float:
        if columns and key_columns(relation).issubset(columns):
            return 1.0
        size = max(1, self._statistics.size(relation.name))
        if not columns:
            return float(size)
        distinct = self._statistics.distinct(relation.name, columns)
        if distinct is None:
            distinct = VALUES_OF_A_COLUMN ** len(columns)
        return max(1.0, size / max(1, distinct))


class _Join(NamedTuple):
    """Some atoms joined; those that compare less are better, and the first three tell that."""

    unlinked: int
    cost: float
    order: tuple[int, ...]
    rows: float
    bound: frozenset[str]
    is_started: bool


class _Joining:
    def __init__(
        self, atoms: Sequence[JoinAtom], costs: _Costs, definitions: Sequence[Definition], lookup: Lookup
    ) -> None:
        self._atoms = atoms
        self._costs = costs
        self._definitions = definitions
        self._lookup = lookup

    def cheapest(self, start: _Join) -> _Join:
        """For every set of atoms the best order of joining them, from the small sets to the large ones."""
        best: dict[frozenset[int], _Join] = {frozenset(): start}
        for _ in self._atoms:
            longer: dict[frozenset[int], _Join] = {}
            for joined, join in best.items():
                for at in range(len(self._atoms)):
                    if at not in joined:
                        after, reached = self._after(join, at), joined | {at}
                        if reached not in longer or after[:3] < longer[reached][:3]:
                            longer[reached] = after
            best = longer
        (join,) = best.values()
        return join

    def step_by_step(self, start: _Join) -> _Join:
        join = start
        while len(join.order) < len(self._atoms):
            rest = (at for at in range(len(self._atoms)) if at not in join.order)
            join = min((self._after(join, at) for at in rest), key=lambda each: (each.unlinked, each.rows, each.order))
        return join

    def _after(self, join: _Join, at: int) -> _Join:
        atom = self._atoms[at]
        known = atom.known(join.bound)
        found = join.rows * self._costs.rows_found(atom.relation, known)
        # At the beginning every row is looked at, also where some of them are dropped at once.
        size = self._costs.rows_found(atom.relation, ())
        looked_at = found * self._lookup(size) if join.is_started else size
        return _Join(
            join.unlinked + (join.is_started and not known),
            # Sums of the same numbers in another order are the same.
            float(f"{join.cost + looked_at:.9g}"),
            (*join.order, at),
            found,
            self.closed(join.bound | atom.binds),
            True,
        )

    def closed(self, bound: frozenset[str]) -> frozenset[str]:
        """With everything that can be computed now."""
        while found := {name for name, needs in self._definitions if name not in bound and needs <= bound}:
            bound |= found
        return bound
