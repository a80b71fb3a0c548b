"""The columns of a large table beside the database, so that opening need not read its rows one by one.

A checkpoint is a copy, and never the truth: it counts only together with the change of the database that it was made
after, and what came later is read from the feed. One that is torn, damaged, of another database or too old is passed
over, and the rows are read instead.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from whence.columns.arrow import ArrowRows, CountedRows
from whence.errors import StateError
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Version
from whence.session.journal import TableState
from whence.storage.sqlite.definitions import StoredRelation
from whence.storage.sqlite.feeds import read_changes
from whence.storage.sqlite.files import DATABASE_FILE, Vitals, check_regular, read_vitals, sync
from whence.storage.sqlite.values import batch_schema

# Smaller tables are read as quickly as they are.
LEAST_ROWS = 10_000
# A change costs as much as so many rows that are read.
ROWS_PER_CHANGE = 100

# A table whose rows have all changed since is written again, but not for so few.
LEAST_CHANGED = 100_000

_FORMAT = 1
_LONGEST_HEAD = 1_000
_PREFIX = f"{DATABASE_FILE}-columns-"
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


@runtime_checkable
class Copied(Protocol):
    """Contents that can be copied as a whole."""

    def counted(self, relation: Relation) -> CountedRows: ...


class Mark(NamedTuple):
    """What a checkpoint was made after: the newest change of a relation, what that was, and the digest of the rows.

    `change` is None where the feed has forgotten the change.
    """

    number: int
    newest: Version
    digest: int
    change: str | None

    def is_of(self, vitals: Vitals) -> bool:
        """Whether nothing has changed since."""
        return (self.newest, self.digest) == (vitals.newest, vitals.digest)

    def is_before(self, vitals: Vitals, connection: sqlite3.Connection) -> bool:
        """Whether the feed leads from there to what is there now."""
        is_older = self.newest < vitals.newest and self.change is not None
        return is_older and self.change == _change(connection, self.number, self.newest)


def made_after(connection: sqlite3.Connection, number: int, vitals: Vitals) -> Mark:
    return Mark(number, vitals.newest, vitals.digest, _change(connection, number, vitals.newest))


def can_have_checkpoint(relation: Relation) -> bool:
    """When rows leave, and in which order they came, is not in columns."""
    return bool(relation.columns) and relation.ttl is None and relation.window is None


class Checkpoints:
    """Writes those of an open database."""

    def __init__(
        self,
        directory: Path,
        connection: sqlite3.Connection,
        contents: Callable[[str], Mapping[Row, int] | None],
    ) -> None:
        self._directory = directory
        self._connection = connection
        self._contents = contents
        # Rows that have changed since the last checkpoint of a table, as far as this process knows.
        self._changed: Counter[int] = Counter()

    def count(self, number: int, rows: int) -> None:
        self._changed[number] += rows

    def write(self, known: Iterable[StoredRelation], *, is_last: bool) -> None:
        """Those of tables in which much has changed; the last time, all that are not there. Does not raise."""
        # Nothing is lost with a checkpoint that could not be written.
        with suppress(OSError, StateError, sqlite3.Error):
            tables = [each for each in known if each.rows is not None and can_have_checkpoint(each.relation)]
            for each in tables:
                if is_last or self._changed[each.number] >= LEAST_CHANGED:
                    self._write(each, is_last=is_last)
            if is_last:
                _forget_others(self._directory, {each.number for each in tables})

    def _write(self, known: StoredRelation, *, is_last: bool) -> None:
        counts = self._contents(known.relation.name)
        if counts is None or len(counts) < LEAST_ROWS or not isinstance(counts, Copied):
            return
        if not is_last and self._changed[known.number] < len(counts):
            return
        vitals = read_vitals(self._connection, self._directory, known.number)
        if vitals is None:
            return
        mark = made_after(self._connection, known.number, vitals)
        written = _read_file(self._directory, known.number)
        if written is None or written[0] != mark:
            _write_file(self._directory, mark, known.relation, counts.counted(known.relation))
        self._changed[known.number] = 0


def _write_file(directory: Path, mark: Mark, relation: Relation, copy: CountedRows) -> None:
    """Whole, or not at all."""
    schema = batch_schema(relation)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=_OPTIONS) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([*copy.rows.arrays, pa.array(copy.counts)], schema=schema))
    data = memoryview(sink.getvalue())
    file = _file(directory, mark.number)
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    with new.open("xb") as opened:
        opened.write(_head(mark, data))
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
    new.rename(file)
    sync(directory)


def _forget_others(directory: Path, numbers: set[int]) -> None:
    """Remove the checkpoints of tables that are gone, and what was left half written."""
    kept = {_file(directory, number).name for number in numbers}
    for file in directory.glob(f"{_PREFIX}*"):
        if file.name not in kept:
            file.unlink(missing_ok=True)


def read_checkpoint(
    connection: sqlite3.Connection, directory: Path, known: StoredRelation, vitals: Vitals
) -> TableState | None:
    """The rows of a table; None where there is no checkpoint that leads to them."""
    relation = known.relation
    if not can_have_checkpoint(relation):
        return None
    found = _read_file(directory, known.number)
    if found is None:
        return None
    mark, data = found
    is_current = mark.is_of(vitals)
    if not is_current and not mark.is_before(vitals, connection):
        return None
    rows = _read_rows(relation, data)
    if rows is None or is_current:
        return None if rows is None else TableState(rows, {}, {})
    with suppress(StateError):
        later = read_changes(connection, directory, known, mark.newest)
        if len(later) * ROWS_PER_CHANGE <= len(rows):
            return TableState(rows, {}, {}, [entry.delta for entry in later])
    return None


def _file(directory: Path, number: int) -> Path:
    return directory / f"{_PREFIX}{number}"


def _change(connection: sqlite3.Connection, number: int, version: Version) -> str | None:
    """What tells a change from that of another history with the same version."""
    found = connection.execute(
        "SELECT timestamp || ' ' || hex(substr(delta, 1, 4)) FROM changes WHERE version = ? AND relation = ?",
        (version, number),
    ).fetchone()
    return None if found is None else str(found[0])


def _head(mark: Mark, data: memoryview) -> bytes:
    """The first line of a checkpoint: the mark, and the length and the checksum of what follows."""
    fields = json.dumps([_FORMAT, mark, len(data), zlib.crc32(data)])
    return f"{zlib.crc32(fields.encode()):08x} {fields}\n".encode()


def _read_file(directory: Path, number: int) -> tuple[Mark, memoryview] | None:
    """The mark of a checkpoint and what follows, each as it was written; None if there is none."""
    file = _file(directory, number)
    try:
        check_regular(file)
        written = memoryview(file.read_bytes())
    except (OSError, StateError):
        return None
    line, end, _ = bytes(written[:_LONGEST_HEAD]).partition(b"\n")
    data = written[len(line + end) :]
    checksum, _, fields = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(fields):
        return None
    kind, *head = json.loads(fields)
    if kind != _FORMAT or head[1:] != [len(data), zlib.crc32(data)]:
        return None
    mark = Mark(*head[0])
    return (mark, data) if mark.number == number else None


def _read_rows(relation: Relation, data: memoryview) -> CountedRows | None:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        if reader.schema != batch_schema(relation):
            return None
        *columns, counts = (column.combine_chunks() for column in reader.read_all().columns)
    return CountedRows(ArrowRows(relation, columns), array("q", counts.to_numpy().tobytes()))
