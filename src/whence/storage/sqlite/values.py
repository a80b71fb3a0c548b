"""Rows and changes as SQLite holds them, with checksums: bytes that a disk got wrong are never taken for data."""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa

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


def digest_growth(stored: Stored, before: int, after: int) -> int:
    """By how much the digest of a table grows when a row has so many copies, and had so many."""
    return (checksum(stored, after) if after else 0) - (checksum(stored, before) if before else 0)


def time_text(moment: datetime.datetime) -> str:
    return moment.isoformat(sep=" ")


def row_writer(columns: Sequence[Column]) -> Callable[[Row], Stored]:
    """What turns a row into its stored form."""
    return _by_column([_own(column.type, "to_sqlite") for column in columns])


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
    schema = _schema(relation)
    columns, counts = _columns(delta)
    batch = pa.RecordBatch.from_arrays(list(map(pa.array, (*columns, counts), schema.types)), schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return _checksum(data, place) + data


@lru_cache(maxsize=KNOWN_RELATIONS)
def _schema(relation: Relation) -> pa.Schema:
    """Columns go by their numbers; the last one is the counts."""
    types = [*(column.type.arrow() for column in relation.columns), pa.int64()]
    return pa.schema([(str(at), kind) for at, kind in enumerate(types)])


def unpack(relation: Relation, packed: bytes, place: object) -> dict[Row, int] | None:
    """What was packed for this place; None if these are other bytes than those."""
    data = memoryview(packed)[_CHECKSUM_SIZE:]
    if _checksum(data, place) != packed[:_CHECKSUM_SIZE]:
        return None
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        *columns, counts = (column.to_pylist() for column in reader.read_all().columns)
    values = [column.type.from_arrow(cells) for column, cells in zip(relation.columns, columns, strict=True)]
    return dict(zip(zip(*values, strict=True) if values else [()] * len(counts), counts, strict=True))


def _checksum(data: bytes | memoryview, place: object) -> bytes:
    return zlib.crc32(data, checksum(place)).to_bytes(_CHECKSUM_SIZE, "big")


def _columns(delta: Delta) -> tuple[Sequence[Sequence[Any]], Sequence[int]]:
    if isinstance(delta, CountedDelta):
        return delta.columns()
    return list(zip(*delta, strict=True)), list(delta.values())
