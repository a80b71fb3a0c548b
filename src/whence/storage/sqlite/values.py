"""Rows and changes as SQLite holds them, with checksums: bytes that a disk got wrong are never taken for data."""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any, TypeAlias

import pyarrow as pa

from whence.columns.arrow import ArrowRows, CountedRows
from whence.incremental.keyed import KNOWN_RELATIONS
from whence.model.schema import Column, Relation
from whence.model.types import Row, Type
from whence.model.updates import CountedDelta, Delta

# Sums of checksums are cut to 62 bits: the sum of two of them fits SQLite's integers.
SUM_MASK = (1 << 62) - 1


def checksum(*parts: object) -> int:
    """Of values as SQLite gives them back: numbers, text, NULL."""
    return zlib.crc32(repr(parts).encode())


Stored: TypeAlias = tuple[str | int | float | None, ...]


def time_text(moment: datetime.datetime) -> str:
    return moment.isoformat(sep=" ")


def digest(rows: Iterable[Stored], copies: Sequence[int]) -> int:
    """The sum of the checksums of rows, each with the number of its copies. One without copies does not count."""
    records = zip(rows, copies, strict=True)
    # Most of the time of a large change goes by here, so that no line of Python is run for each row.
    return sum(map(zlib.crc32, map(str.encode, map(repr, compress(records, copies) if 0 in copies else records))))


def stored_columns(columns: Sequence[Column], values: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Values in their stored form, column by column."""
    # Without rows there are no columns to be told from them.
    return _converted("to_sqlite", columns, values or [()] * len(columns))


def value_columns(columns: Sequence[Column], stored: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """The values that were stored, column by column."""
    return _converted("from_sqlite", columns, stored)


def _converted(method: str, columns: Sequence[Column], values: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    found: list[Sequence[Any]] = []
    for column, given in zip(columns, values, strict=True):
        convert = _own(column.type, method)
        found.append(given if convert is None else [None if value is None else convert(value) for value in given])
    return found


def stored_rows(columns: Sequence[Sequence[Any]], count: int) -> list[Stored]:
    """So many rows of columns."""
    return list(zip(*columns, strict=True)) if columns else [()] * count


def row_reader(columns: Sequence[Column]) -> Callable[[Stored], Row]:
    """What turns a stored row into the row it was."""
    return _by_column([_own(column.type, "from_sqlite") for column in columns])


def _own(kind: Type, method: str) -> Callable[[Any], Any] | None:
    """The type's converter; None if it has none of its own, since most values are stored as they are."""
    return None if getattr(type(kind), method) is getattr(Type, method) else getattr(kind, method)


def _by_column(converters: list[Callable[[Any], Any] | None]) -> Callable[[Any], Any]:
    if not any(converters):
        return lambda row: row
    found = [(at, convert) for at, convert in enumerate(converters) if convert is not None]

    def convert_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
        cells = list(row)
        for at, convert in found:
            if cells[at] is not None:
                cells[at] = convert(cells[at])
        return tuple(cells)

    return convert_row


# Changes are bytes in Arrow's format, column by column and compressed, behind a checksum. A column of a million values
# takes a fraction of a second and a few bytes per row, and one row well under a kilobyte.
_CHECKSUM_SIZE = 4
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


def pack(relation: Relation, delta: Delta, place: object) -> bytes:
    """The rows' columns, and how often each row comes or goes. `place` is what is stored beside the bytes."""
    schema = batch_schema(relation)
    batch = pa.RecordBatch.from_arrays(_arrays(relation, delta), schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return _checksum(data, place) + data


@lru_cache(maxsize=KNOWN_RELATIONS)
def batch_schema(relation: Relation) -> pa.Schema:
    """Columns go by their numbers; the last one is the counts."""
    types = [*(column.type.arrow() for column in relation.columns), pa.int64()]
    return pa.schema([(str(at), kind) for at, kind in enumerate(types)])


def unpack(relation: Relation, packed: bytes, place: object) -> Delta | None:
    """What was packed for this place; None if these are other bytes than those."""
    data = memoryview(packed)[_CHECKSUM_SIZE:]
    if _checksum(data, place) != packed[:_CHECKSUM_SIZE]:
        return None
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        *columns, counts = (column.combine_chunks() for column in reader.read_all().columns)
    if not columns:
        return dict.fromkeys([()], counts[0].as_py())
    return CountedRows(ArrowRows(relation, columns), counts.to_pylist())


def _checksum(data: bytes | memoryview, place: object) -> bytes:
    return zlib.crc32(data, checksum(place)).to_bytes(_CHECKSUM_SIZE, "big")


def _arrays(relation: Relation, delta: Delta) -> list[pa.Array]:
    if isinstance(delta, CountedDelta):
        # Small databases need no numpy.
        from whence.columns.delta import arrow_change

        found = arrow_change(delta)
        if found is not None:
            return [*found.arrays, pa.array(found.weights)]
    columns, counts = columns_of(delta)
    arrays = [column.type.to_arrow(values) for column, values in zip(relation.columns, columns, strict=False)]
    return [*arrays, pa.array(counts, pa.int64())]


def columns_of(delta: Delta) -> tuple[Sequence[Sequence[Any]], Sequence[int]]:
    """The rows of a change column by column, and the count of each."""
    if isinstance(delta, CountedDelta):
        return delta.columns()
    return list(zip(*delta, strict=True)), list(delta.values())
