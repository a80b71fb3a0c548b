"""The rows that a forest reads from below, as rows of integers: interned, or translated from another forest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whence.columns.compiled import kernel
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Encoding
from whence.columns.numbered_rows import as_words
from whence.columns.table import ColumnTable
from whence.engines.engine import Rows
from whence.engines.local.forest.layout import COMES, ENTERING, ENTERING_RELATION, NOTHING, NULL_ID, Array
from whence.engines.local.forest.rows import Decoder, ForestChange, ForestDelta, ForestRows
from whence.engines.local.forest.values import Interner, ValueColumn, is_null, null_cost
from whence.incremental.columnar.store import ColumnStore
from whence.incremental.keyed import KeyedDelta
from whence.incremental.store import LazyStore, Store
from whence.model.schema import Relation
from whence.model.types import Row, Type
from whence.model.updates import Delta

# Costs below this are found by themselves, in an array.
_SMALL_COST = 1 << 20
# So many rows of a table in columns enter by their columns.
_MANY = 64
# What a translation may miss.
_AN_ID, _A_COST = range(2)


class Entrance:
    """The way in for one relation. The columns at `positions` are interned; one more, or one of them, may be a cost."""

    def __init__(
        self,
        number: int,
        interner: Interner,
        vocabularies: dict[Type, Vocabulary],
        relation: Relation,
        positions: Sequence[int],
        value: ValueColumn | None,
    ) -> None:
        """`vocabularies` are those of all entrances."""
        self._number = number
        self._interner = interner
        self._types = [relation.columns[position].type for position in positions]
        self._positions = positions
        self._tables = [(interner.table(relation.columns[position].type), position) for position in positions]
        self._value = value
        self._translation: _Translation | None = None
        self._vocabularies = [vocabularies.setdefault(type_, Vocabulary(interner, type_)) for type_ in self._types]

    def enter(self, delta: Delta, store: Store, rows: Array, costs: Array, at: int, *, is_back: bool = False) -> int:
        """Write down what comes and what goes when the rows that are stored change like this, from row `at` on; or the
        other way round, when that is taken back.

        Returns the row after them.
        """
        if isinstance(delta, ForestDelta):
            return self._translate(delta.reversed() if is_back else delta, rows, costs, at)
        if isinstance(store, ColumnStore) and len(delta) >= _MANY:
            moved, first = _moved_columns(store.stage(delta), store.table, -1 if is_back else 1)
            return self._write_columns(store.table.encodings, moved, first, rows, costs, at)
        come, gone = _moves(delta, store)
        if is_back:
            come, gone = gone, come
        return self._write([*come, *gone], len(come), rows, costs, at)

    def enter_stored(self, store: Store, rows: Array, costs: Array, at: int) -> int:
        """The same for all rows that are stored, as if they came now."""
        if isinstance(store, ColumnStore) and store.size >= _MANY:
            table = store.table
            numbers = table.live()
            if not table.is_set:
                numbers = numbers[table.counts(numbers) > 0]
            return self._write_columns(table.encodings, table.columns(numbers), len(numbers), rows, costs, at)
        change = store.as_change() if isinstance(store, LazyStore) else None
        if isinstance(change, ForestDelta):
            return self._translate(change, rows, costs, at)
        found = [row for row, count in store.contents().items() if count > 0]
        return self._write(found, len(found), rows, costs, at)

    def enter_found(self, found: Rows, rows: Array, costs: Array, at: int) -> int:
        """The same for rows that have come before."""
        if isinstance(found, ForestRows):
            return self._translate(found.delta(), rows, costs, at)
        listed = list(found)
        return self._write(listed, len(listed), rows, costs, at)

    def _write(self, found: Sequence[Row], come: int, rows: Array, costs: Array, at: int) -> int:
        tables = self._tables
        ids = [table.get(row[position], NOTHING) for row in found for table, position in tables]
        if NOTHING in ids:
            for type_, position in zip(self._types, self._positions, strict=True):
                self._interner.ids([row[position] for row in found], type_)
            ids = [table[row[position]] for row in found for table, position in tables]
        value = self._value
        numbers = costs[:0] if value is None else value.encode([row[value.position] for row in found], costs.dtype)
        parts = (np.array(ids, np.int32), numbers, come, self._number, len(found))
        _write_rows(*parts, rows, costs, at)
        return at + len(found)

    def _write_columns(
        self, encodings: Sequence[Encoding], columns: Sequence[Array], come: int, rows: Array, costs: Array, at: int
    ) -> int:
        """The same for rows as the columns of a table have them."""
        count, value = len(columns[0]), self._value
        ids = np.empty((count, len(self._positions)), np.int32)
        for place, (position, vocabulary) in enumerate(zip(self._positions, self._vocabularies, strict=True)):
            ids[:, place] = vocabulary.ids(encodings[position], columns[position])
        numbers = costs[:0]
        if value is not None:
            numbers = value.encode(encodings[value.position].decode(columns[value.position]), costs.dtype)
        _write_rows(ids.ravel(), numbers, come, self._number, count, rows, costs, at)
        return at + count

    def _translate(self, delta: ForestDelta, rows: Array, costs: Array, at: int) -> int:
        """The same for rows of another forest, most of whose values have come in before."""
        decoder, change = delta.decoder, delta.change
        if self._translation is None or self._translation.decoder is not decoder:
            self._translation = _Translation(decoder, self._number, self._interner, self._types, self._positions)
        value, end = self._value, at + len(change.ids)
        has_costs = value is not None and decoder.value is not None and decoder.value.position == value.position
        self._translation.write(change, has_costs, rows, costs, at)
        if value is not None and not has_costs:
            column = rows[at:end, ENTERING + self._positions.index(value.position)]
            costs[at:end] = value.encode(self._interner.decode(column), costs.dtype)
        elif value is not None and value.nullable:
            costs[at:end][is_null(change.costs)] = value.null(costs.dtype)
        return end


def _moves(delta: Delta, store: Store) -> tuple[list[Row], list[Row]]:
    """The rows that come and those that go when the rows that are stored change like this."""
    if isinstance(delta, KeyedDelta):
        return delta.came, delta.gone
    come: list[Row] = []
    gone: list[Row] = []
    counts = store.counts
    for row, change in delta.items():
        before = counts.get(row, 0)
        if before <= 0 < before + change:
            come.append(row)
        elif before + change <= 0 < before:
            gone.append(row)
    return come, gone


def _moved_columns(delta: ColumnDelta, table: ColumnTable, sign: int) -> tuple[Sequence[Array], int]:
    """The columns of the rows that come and after them those that go with a change that is staged, or with its reverse.

    Then how many come.
    """
    if table.is_set:
        comes, goes = delta.weights > 0, delta.weights < 0
    else:
        before = table.counts(table.find(as_words(delta.encoded, len(delta))))
        was, will = before > 0, before + delta.weights > 0
        comes, goes = ~was & will, was & ~will
    moved = [np.flatnonzero(comes), np.flatnonzero(goes)][::sign]
    if len(moved[0]) == len(delta):
        return delta.encoded, len(delta)
    order = np.concatenate(moved)
    return [column[order] for column in delta.encoded], len(moved[0])


@kernel
def _write_rows(
    ids: Array, numbers: Array, come: int, relation: int, count: int, rows: Array, costs: Array, start: int
) -> None:
    """Write `count` rows down, whose values stand one after the other in `ids`."""
    width = len(ids) // max(count, 1)
    for at in range(count):
        rows[start + at, ENTERING_RELATION] = relation
        rows[start + at, COMES] = at < come
        for column in range(width):
            rows[start + at, ENTERING + column] = ids[at * width + column]
        if len(costs) > 0:
            costs[start + at] = numbers[at] if len(numbers) > 0 else 0


class Vocabulary:
    """What the numbers that columns of a type have in tables are as integers of a forest."""

    def __init__(self, interner: Interner, type_: Type) -> None:
        self._interner = interner
        self._type = type_
        # Of numbers that are not much more than the rows that have them: dictionaries and most keys have no others.
        self._known = np.empty(0, np.int32)

    def ids(self, encoding: Encoding, column: Array) -> Array:
        highest = column.max(initial=0)
        if column.dtype != INTEGER or column.min(initial=0) < 0 or highest >= max(len(self._known), 16 * len(column)):
            different, places = np.unique(column, return_inverse=True)
            return self._learned(encoding, different)[places]
        self._known = _reaching(int(highest), self._known)
        found: Array = self._known[column]
        if (found == NOTHING).any():
            met = np.zeros(highest + 1, np.bool_)
            met[column[found == NOTHING]] = True
            new = np.flatnonzero(met)
            self._known[new] = self._learned(encoding, new)
            found = self._known[column]
        return found

    def _learned(self, encoding: Encoding, numbers: Array) -> Array:
        return np.array(self._interner.ids(encoding.decode(numbers), self._type), np.int32)


class _Translation:
    """What the integers and costs of another forest are as integers of this one."""

    def __init__(
        self, decoder: Decoder, number: int, target: Interner, types: Sequence[Type], positions: Sequence[int]
    ) -> None:
        self.decoder = decoder
        self._number = number
        self._target = target
        # The types and places of the columns that are read; where there is a cost, it is one column more.
        value = decoder.value
        self._read = [at for at, position in enumerate(decoder.positions) if position in positions]
        found = [decoder.positions[at] for at in self._read]
        if value is not None and value.position in positions:
            found.append(value.position)
        self._types = [types[positions.index(position)] for position in found]
        self._places = np.array([ENTERING + positions.index(position) for position in found], np.int32)
        # NULL is 0 everywhere.
        self._known = np.zeros(1, np.int32)
        self._known_costs = np.empty(0, np.int32)

    def write(self, change: ForestChange, has_costs: bool, rows: Array, costs: Array, at: int) -> None:
        """All rows of a change, those that come and those that go, with the same costs or without."""
        if len(self._read) < change.ids.shape[1]:
            change = change._replace(ids=np.ascontiguousarray(change.ids[:, self._read]))
        parts, rest = (*change, self._number, self._places), (null_cost(change.costs.dtype), has_costs, rows, costs, at)
        missed = _translate_rows(*parts, self._known, self._known_costs, *rest)
        if missed == _AN_ID:
            self._learn(change.ids)
            missed = _translate_rows(*parts, self._known, self._known_costs, *rest)
        if missed == _A_COST:
            self._learn_costs(change.costs, rows[at : at + len(change.ids), self._places[-1]])

    def _learn(self, ids: Array) -> None:
        self._known = _reaching(int(ids.max()), self._known)
        for column, type_ in zip(ids.T, self._types, strict=False):
            new = np.unique(column[self._known[column] == NOTHING])
            self._known[new] = self._target.ids(self.decoder.interner.decode(new), type_)

    def _learn_costs(self, costs: Array, found: Array) -> None:
        value = self.decoder.value
        assert value is not None
        found[:] = self._target.ids(value.decode(costs), self._types[-1])
        small = (costs >= 0) & (costs < _SMALL_COST)
        if not value.floating and small.any():
            self._known_costs = _reaching(int(costs[small].max()), self._known_costs)
            self._known_costs[costs[small]] = found[small]


def _reaching(highest: int, known: Array) -> Array:
    """The array with a place for the highest index, and room for more; what is new there is NOTHING."""
    if highest < len(known):
        return known
    return np.concatenate([known, np.full(2 * highest + 1 - len(known), NOTHING, np.int32)])


@kernel
def _translate_rows(
    ids: Array,
    costs: Array,
    come: int,
    relation: int,
    places: Array,
    known: Array,
    known_costs: Array,
    null: float,
    has_costs: bool,
    rows: Array,
    row_costs: Array,
    start: int,
) -> int:
    """Write rows of another forest down; returns what is not known yet, if anything.

    When it is a cost, all is written but for the costs. Only small whole numbers are ever known.
    """
    columns = ids.shape[1]
    for at in range(len(ids)):
        rows[start + at, ENTERING_RELATION] = relation
        rows[start + at, COMES] = at < come
        for column in range(columns):
            value = ids[at, column]
            if value >= len(known) or known[value] == NOTHING:
                return _AN_ID
            rows[start + at, places[column]] = known[value]
        if len(row_costs) > 0:
            row_costs[start + at] = costs[at] if has_costs else 0
    if columns < len(places):
        for at in range(len(ids)):
            cost = costs[at]
            if abs(cost) == null:
                rows[start + at, places[columns]] = NULL_ID
                continue
            if not 0 <= cost < len(known_costs) or known_costs[np.int64(cost)] == NOTHING:
                return _A_COST
            rows[start + at, places[columns]] = known_costs[np.int64(cost)]
    return NOTHING
