"""Commits that follow from their version alone, so that anyone can tell what a database should hold.

Segments are written by pyarrow, so that no Spark is needed.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TypeAlias
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as parquet

from whence.model.updates import Version
from whence.session.lifetimes import Tick
from whence.storage.files.changes import CommitChange, NewTable
from whence.storage.files.files import Files
from whence.storage.files.manifest import Segment
from whence.storage.files.segments import columns_of_arrow
from whence.storage.files.store import Storage

Delta: TypeAlias = dict[tuple[int, str], int]

NAMES = ("link", "reach", "brief")
SCHEMA = pa.schema([("c0", pa.int32()), ("c1", pa.string()), ("n", pa.int64())])
COLUMNS = columns_of_arrow(SCHEMA)
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def arrow(delta: Mapping[tuple[int, str], int]) -> pa.Table:
    columns = [[row[0] for row in delta], [row[1] for row in delta], list(delta.values())]
    return pa.table(columns, schema=SCHEMA)


def delta_of(changes: pa.Table) -> Delta:
    total: Delta = {}
    for first, second, count in zip(*(column.to_pylist() for column in changes.columns), strict=True):
        total[first, second] = total.get((first, second), 0) + count
    return {row: count for row, count in total.items() if count}


def write_parquet(files: Files, frame: Any, path: str) -> Segment:
    """In place of Spark; the frame is a pa.Table."""
    assert files.directory is not None
    directory = files.directory / path
    directory.mkdir()
    parquet.write_table(frame, directory / "part-0.parquet")
    files.sync(path)
    return Segment(path, frame.num_rows, (directory / "part-0.parquet").stat().st_size)


def read_parquet(storage: Storage, segment: Segment) -> pa.Table:
    assert storage.files.directory is not None
    found = parquet.read_table(storage.files.directory / segment.path, schema=SCHEMA)
    assert found.num_rows == segment.rows
    return found


@contextmanager
def without_spark() -> Iterator[None]:
    with patch("whence.storage.files.store.write_segment", write_parquet):
        yield


def contents(storage: Storage) -> dict[str, Delta]:
    """What all tables hold."""
    tables = storage.current.tables
    logs = storage.logs(tables.keys())
    return {
        name: delta_of(
            pa.concat_tables(
                [
                    SCHEMA.empty_table(),
                    *(read_parquet(storage, segment) for segment in table.segments),
                    *([logs[name]] if name in logs else ()),
                ]
            )
        )
        for name, table in tables.items()
    }


def feed(storage: Storage, name: str, since: int) -> dict[int, Delta]:
    parts = storage.feed(name, Version(since))
    assert [part.timestamp for part in parts] == [timestamp(part.version) for part in parts]
    return {
        part.version: delta_of(
            read_parquet(storage, part.changes) if isinstance(part.changes, Segment) else part.changes
        )
        for part in parts
    }


def timestamp(version: int) -> datetime.datetime:
    return START + datetime.timedelta(seconds=version)


def exists(name: str, version: int) -> bool:
    """One table comes and goes."""
    return version > 0 and (name != "brief" or version % 20 >= 10)


@cache
def change(name: str, version: int) -> Delta:
    """What a commit does to a table."""
    if not exists(name, version):
        return {}
    chance = Random(f"{name} {version}")
    if chance.random() < 0.3:
        return {}
    rows = 300 if version % 13 == 0 else 2
    return {(chance.randrange(50), chance.choice("abc")): chance.choice((-2, -1, 1, 2)) for _ in range(rows)}


@cache
def expected(version: int) -> dict[str, Delta]:
    """What all tables hold at a version."""
    if version == 0:
        return {}
    before = expected(version - 1)
    found = {}
    for name in NAMES:
        if exists(name, version):
            total = dict(before.get(name, {}))
            for row, count in change(name, version).items():
                total[row] = total.get(row, 0) + count
            found[name] = {row: count for row, count in total.items() if count}
    return found


def commit(storage: Storage) -> None:
    """The next commit, and now and then other files for the same rows."""
    version = storage.current.version + 1
    missing = [name for name in NAMES if exists(name, version) and name not in storage.current.tables]
    gone = [name for name in storage.current.tables if not exists(name, version)]
    bulk = version % 13 == 0
    changes = {name: arrow(change(name, version)) for name in NAMES if change(name, version)}
    segments = {name: storage.write_segment(rows) for name, rows in changes.items()} if bulk else {}
    storage.commit(
        CommitChange(
            timestamp=timestamp(version),
            dropped=gone,
            renewed=gone,
            tables={name: NewTable("rows", COLUMNS) for name in missing},
            logs={} if bulk else changes,
            appended={name: [segment] for name, segment in segments.items()},
            feed=segments if bulk else changes,
            clock=Tick(timestamp(version).replace(tzinfo=None), by_wall=False),
            batches={"stream": version},
            notices=[f"table {name}" for name in missing],
        )
    )
    if version % 17 == 0:
        rewrite(storage, in_segments=version % 2 == 0)


def rewrite(storage: Storage, *, in_segments: bool) -> None:
    """Fold what there is into one segment, or into one overlay."""
    new = {}
    for name, rows in contents(storage).items():
        if in_segments:
            new[name] = NewTable("rows", COLUMNS, segments=(storage.write_segment(arrow(rows)),))
        else:
            new[name] = NewTable("rows", COLUMNS, overlay=arrow(rows))
    storage.rewrite(new)


def check(storage: Storage, keep_versions: int) -> None:
    """The database is what its version says."""
    version = storage.current.version
    assert contents(storage) == expected(version)
    for name in storage.current.tables:
        since = max(version - keep_versions, 0)
        # The relation of that name that was there before has gone, with its changes.
        begin = max((v for v in range(version + 1) if not exists(name, v)), default=0)
        wanted = {v: change(name, v) for v in range(max(since, begin) + 1, version + 1) if change(name, v)}
        assert feed(storage, name, since) == wanted
    if version:
        assert storage.current.batches == {"stream": version}
        assert storage.current.timestamp == timestamp(version)


def names(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
