"""Many rows that are in this process as columns: checked against their table as a whole, and made a change.

Where something is not as it should be, another way takes over, which tells what it is, and of which row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from whence.columns import NotInColumnsError
from whence.columns.arrow import ArrowRows
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Array, Encodings
from whence.columns.numbered_rows import NumberedRows, as_words
from whence.columns.rows import encoded_arrow
from whence.engines.spark.columnar.paged_table import PagedTable, one_chunk
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.pages import TooLargeError
from whence.engines.spark.types import rows_to_arrow
from whence.incremental.keyed import key_positions
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Update
from whence.session.batch import BatchChange
from whence.session.changes import Delete, Insert
from whence.session.draft import Draft
from whence.session.lifetimes import Clock
from whence.sources.source import read_rows
from whence.spark.bulk_load import BulkDraft, nothing_looked_up

# A table to look rows up in, and what a change finds out: nothing, or how rows of a relation come and go.
_Table: TypeAlias = Callable[[Relation], PagedTable]
_Change: TypeAlias = Callable[[ArrowRows, _Table], "tuple[Relation, ColumnDelta] | None"]


class ColumnChecks:
    """Takes rows in for tables of an engine. None is for rows that have to be taken another way."""

    def __init__(self, engine: SparkEngine) -> None:
        self._engine = engine

    @property
    def many_rows(self) -> int:
        """Fewer rows are taken one by one."""
        return self._engine.many_rows

    def rows(self, given: object, relation: Relation, shape: Relation | None = None) -> ArrowRows | None:
        """Rows of a table, or of another `shape`, if all of them fit and nothing is kept beside them."""
        if relation.ttl is not None or relation.window is not None:
            return None
        rows = read_rows(given, relation if shape is None else shape)
        return rows if isinstance(rows, ArrowRows) else None

    def inserted(self, rows: ArrowRows, clock: Clock) -> BulkDraft | None:
        """All rows come."""
        return self._draft(_inserted, rows, clock)

    def deleted(self, rows: ArrowRows, clock: Clock) -> BulkDraft | None:
        """All rows go, each as often as it is listed."""
        return self._draft(_deleted, rows, clock)

    def upserted(self, rows: ArrowRows, clock: Clock) -> BulkDraft | None:
        """All rows come, and those with their keys go."""
        return self._draft(_upserted, rows, clock)

    def deleted_by_key(self, keys: ArrowRows, relation: Relation, clock: Clock) -> BulkDraft | None:
        """The rows with these keys go."""
        return self._draft(partial(_deleted_by_key, relation=relation), keys, clock)

    def netted(self, rows: ArrowRows, signs: Array, clock: Clock) -> BulkDraft | None:
        """Rows come or go, by their signs, in no order: what goes makes room for what comes."""
        return self._draft(partial(_netted, signs=signs), rows, clock)

    def batched(self, changes: Sequence[BatchChange], clock: Clock) -> BatchDraft | None:
        """The changes of a batch, if of every table rows go first and then rows come."""
        rows = sum(len(each.rows) for each in changes if isinstance(each, Insert | Delete))
        if len(changes) < 2 or rows < self.many_rows:
            return None
        tables: dict[str, tuple[list[ArrowRows], list[int]]] = {}
        for change in changes:
            relation = change.relation
            if not isinstance(change, Insert | Delete) or relation.ttl is not None or relation.window is not None:
                return None
            given, signs = tables.setdefault(relation.name, ([], []))
            sign = 1 if isinstance(change, Insert) else -1
            if (sign < 0 and 1 in signs) or (isinstance(change, Delete) and change.ignore_missing):
                return None
            given.append(_as_arrow(change.rows, relation))
            signs.append(sign)
        drafts = [self._taken_together(given, signs, clock) for given, signs in tables.values()]
        found = [draft for draft in drafts if draft is not None]
        return BatchDraft(found, clock) if len(found) == len(drafts) else None

    def _taken_together(self, given: Sequence[ArrowRows], signs: Sequence[int], clock: Clock) -> BulkDraft | None:
        relation = given[0].relation
        columns = zip(*(rows.arrays for rows in given), strict=True)
        together = ArrowRows(relation, [pa.concat_arrays(arrays) for arrays in columns])
        sign_of_each = np.repeat(np.array(signs, INTEGER), [*map(len, given)])
        return self._draft(partial(_netted, signs=sign_of_each, goes_first=True), together, clock)

    def _draft(self, change: _Change, rows: ArrowRows, clock: Clock) -> BulkDraft | None:
        lookup = self._engine.lookup()
        try:
            found = change(
                rows, lambda relation: PagedTable(relation, Encodings(), partial(lookup.find, relation.name))
            )
        except (NotInColumnsError, TooLargeError):
            return None
        if found is None:
            return None
        relation, delta = found
        return BulkDraft(relation, delta, clock)


class BatchDraft(Draft):
    """Changes to several tables that nobody looks at row by row."""

    def __init__(self, drafts: Sequence[BulkDraft], clock: Clock) -> None:
        super().__init__(nothing_looked_up, clock)
        self._drafts = drafts

    @property
    def update(self) -> Update:
        return Update({name: delta for draft in self._drafts for name, delta in draft.update.deltas.items()})


def _as_arrow(rows: Sequence[Row], relation: Relation) -> ArrowRows:
    if isinstance(rows, ArrowRows):
        return rows
    return ArrowRows(relation, [one_chunk(column) for column in rows_to_arrow(rows, relation).columns])


def _inserted(rows: ArrowRows, table_of: _Table) -> tuple[Relation, ColumnDelta] | None:
    relation = rows.relation
    table = table_of(relation)
    words = encoded_arrow(table.encodings, rows)
    if not relation.distinct:
        return relation, _counted(table, words, 1)
    if not relation.key:
        different = _different(table, words)
        return relation, _delta(table, different[:, table.presence(different) == 0], 1)
    key = key_positions(relation)
    keys = table.of_words(words)
    if _has_twice(table, [keys[at] for at in key], key):
        return None
    if table.holds(key, [keys[at] for at in key], len(rows), is_after=False).any():
        return None
    return relation, _delta(table, words, 1)


def _deleted(rows: ArrowRows, table_of: _Table) -> tuple[Relation, ColumnDelta] | None:
    relation = rows.relation
    table = table_of(relation)
    delta = _counted(table, encoded_arrow(table.encodings, rows), -1)
    there = table.presence(delta.words)
    return (relation, delta) if (there + delta.weights >= 0).all() else None


def _upserted(rows: ArrowRows, table_of: _Table) -> tuple[Relation, ColumnDelta] | None:
    relation = rows.relation
    table, key = table_of(relation), key_positions(relation)
    if not key:
        return None
    words = encoded_arrow(table.encodings, rows)
    columns = table.of_words(words)
    keys = [columns[at] for at in key]
    if _has_twice(table, keys, key):
        return None
    matches = table.probe(key, keys, len(rows), is_after=False)
    assert matches is not None
    going = table.words(matches.rows)
    same = (going == words[:, matches.keys]).all(axis=0)
    stays = np.zeros(len(rows), np.bool_)
    stays[matches.keys[same]] = True
    going, coming = going[:, ~same], words[:, ~stays]
    weights = np.repeat(np.array([-1, 1], INTEGER), [going.shape[1], coming.shape[1]])
    return relation, ColumnDelta(table.encodings, np.concatenate([going, coming], axis=1), weights)


def _deleted_by_key(keys: ArrowRows, table_of: _Table, relation: Relation) -> tuple[Relation, ColumnDelta] | None:
    table, key = table_of(relation), key_positions(relation)
    # A key is listed in the order of the table's PRIMARY KEY.
    places = [relation.key.index(relation.column_names[at]) for at in key]
    columns = [table.encodings[at].from_arrow(keys.arrays[place]) for at, place in zip(key, places, strict=True)]
    if _has_twice(table, columns, key):
        return None
    matches = table.probe(key, columns, len(keys), is_after=False)
    assert matches is not None
    if len(matches.rows) != len(keys):
        return None
    return relation, _delta(table, table.words(matches.rows), -1)


def _netted(
    rows: ArrowRows, table_of: _Table, signs: Array, *, goes_first: bool = False
) -> tuple[Relation, ColumnDelta] | None:
    """Where what `goes_first` is not there before, that is no change to be made, even if the same row comes."""
    relation = rows.relation
    table = table_of(relation)
    known = NumberedRows(table.encodings)
    numbers = known.enter(encoded_arrow(table.encodings, rows))
    if goes_first:
        copies = np.bincount(numbers[signs < 0], minlength=known.size)
        gone = np.flatnonzero(copies)
        if (table.presence(known.words(gone)) < copies[gone]).any():
            return None
    net = np.zeros(known.size, INTEGER)
    np.add.at(net, numbers, signs)
    changed = np.flatnonzero(net)
    words, net = known.words(changed), net[changed]
    if relation.distinct or (net < 0).any():
        there = table.presence(words)
        if (there + net < 0)[net < 0].any():
            return None
        if relation.distinct:
            # A row that is there does not come again.
            new = (net < 0) | (there == 0)
            words, net = np.ascontiguousarray(words[:, new]), np.sign(net[new])
    if relation.key and not _keys_are_free(table, words, net, key_positions(relation)):
        return None
    return relation, ColumnDelta(table.encodings, words, net)


def _keys_are_free(table: PagedTable, words: Array, net: Array, key: tuple[int, ...]) -> bool:
    """Whether each row that comes has a key of its own, but for the rows that go."""
    coming = table.of_words(np.ascontiguousarray(words[:, net > 0]))
    keys = [coming[at] for at in key]
    if _has_twice(table, keys, key):
        return False
    matches = table.probe(key, keys, len(keys[0]), is_after=False)
    assert matches is not None
    going = table.find(np.ascontiguousarray(words[:, net < 0]))
    return bool(np.isin(matches.rows, going).all())


def _delta(table: PagedTable, words: Array, weight: int) -> ColumnDelta:
    words = np.ascontiguousarray(words)
    return ColumnDelta(table.encodings, words, np.full(words.shape[1], weight, INTEGER))


def _counted(table: PagedTable, words: Array, weight: int) -> ColumnDelta:
    """Rows of a bag, each once with the number of its copies."""
    known = NumberedRows(table.encodings)
    numbers = known.enter(words)
    weights = np.bincount(numbers, minlength=known.size).astype(INTEGER) * weight
    return ColumnDelta(table.encodings, known.words(np.arange(known.size)), weights)


def _different(table: PagedTable, words: Array) -> Array:
    known = NumberedRows(table.encodings)
    known.enter(words)
    return known.words(np.arange(known.size))


def _has_twice(table: PagedTable, keys: Sequence[Array], positions: Sequence[int]) -> bool:
    """Whether two rows have the same key."""
    known = NumberedRows([table.encodings[at] for at in positions])
    known.enter(as_words(keys, len(keys[0])))
    return known.size < len(keys[0])
