"""What tables with a time to live or a row window keep beside their rows: when copies leave, in which order they came.

A time to live that counts from a column needs nothing of the kind: the row says when it leaves.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from whence.engines.spark.storage.changes import NewTable
from whence.engines.spark.storage.columns import columns_of_arrow
from whence.engines.spark.storage.store import Storage
from whence.engines.spark.types import rows_from_arrow, rows_to_arrow
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.journal import Record, TableChange

LEAVES, ARRIVALS = "leaves", "arrivals"
_TYPES = {LEAVES: pa.list_(pa.timestamp("us", tz="UTC")), ARRIVALS: pa.list_(pa.int64())}

# Entries that later ones have replaced are dropped when there are so many, and twice as many as others.
MOST_REPLACED = 10_000


def side_tables(relation: Relation) -> list[str]:
    """The kinds of side tables that a table has."""
    kinds = []
    if relation.ttl is not None and relation.ttl.column is None:
        kinds.append(LEAVES)
    if relation.window is not None:
        kinds.append(ARRIVALS)
    return kinds


def side_name(relation: Relation, kind: str) -> str:
    return f"{relation.name}#{kind}"


def side_changes(record: Record, storage: Storage) -> tuple[dict[str, pa.Table], dict[str, NewTable]]:
    """What a commit adds to side tables, and those that are written as a whole."""
    logs: dict[str, pa.Table] = {}
    tables: dict[str, NewTable] = {}
    for change in record.tables:
        for kind in side_tables(change.relation):
            name = side_name(change.relation, kind)
            entries = _entries(change, kind)
            if name not in storage.current.tables:
                tables[name] = _table(change.relation, kind, entries)
            elif entries:
                logs[name] = _encoded(change.relation, kind, entries)
                written = sum(log.rows for log in storage.current.tables[name].logs)
                # How many rows there are takes a look at all of them.
                if written > MOST_REPLACED and written > 2 * len(change.counts):
                    del logs[name]
                    tables[name] = _table(
                        change.relation, kind, {**read_side(storage, change.relation, kind), **entries}
                    )
    return logs, tables


def read_side(storage: Storage, relation: Relation, kind: str) -> dict[Row, list[Any]]:
    """The last entry of every row that has one."""
    name = side_name(relation, kind)
    if name not in storage.current.tables:
        return {}
    table = storage.logs([name]).get(name)
    if table is None:
        return {}
    values = table.column(kind).to_pylist()
    if kind == LEAVES:
        values = [[moment.replace(tzinfo=None) for moment in moments] for moments in values]
    entries = dict(zip(rows_from_arrow(table, relation), values, strict=True))
    return {row: entry for row, entry in entries.items() if entry}


def _entries(change: TableChange, kind: str) -> Mapping[Row, Sequence[Any]]:
    return change.leaves if kind == LEAVES else change.arrivals


def _table(relation: Relation, kind: str, entries: Mapping[Row, Sequence[Any]]) -> NewTable:
    there = {row: entry for row, entry in entries.items() if entry}
    table = _encoded(relation, kind, there)
    return NewTable(kind, columns_of_arrow(table.schema), (), table)


def _encoded(relation: Relation, kind: str, entries: Mapping[Row, Sequence[Any]]) -> pa.Table:
    values: list[list[Any]] = [list(entry) for entry in entries.values()]
    if kind == LEAVES:
        values = [[moment.replace(tzinfo=datetime.UTC) for moment in moments] for moments in values]
    return rows_to_arrow(list(entries), relation).append_column(kind, pa.array(values, _TYPES[kind]))
