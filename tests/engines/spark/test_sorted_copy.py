"""Rows found by key in sorted copies: the same as a look at every row finds, in few bytes."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.engines.spark import sorted_lookups
from whence.engines.spark.sorted_copy import GAP, CopyFile, SortedCopy, coalesced
from whence.engines.spark.sorted_lookups import ELEMENT, SortedLookups
from whence.engines.spark.types import column_names, rows_to_arrow
from whence.errors import StateError
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DecimalType, Type
from whence.storage.files.files import LocalFiles

KINDS: dict[Type, st.SearchStrategy[Any]] = {
    INT: st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    BOOLEAN: st.booleans(),
    DOUBLE: st.sampled_from([0.0, 1.5, -1.5]),
    STRING: st.text(max_size=3) | st.sampled_from(["é", "z", "\U0001f600", "\uffff"]),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(),
    DecimalType(5, 2): st.integers(-99999, 99999).map(lambda units: Decimal(units).scaleb(-2)),
    DecimalType(38, 0): st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal),
}
Rows = list[tuple[Any, ...]]


class Copies:
    """Those of a segment that lies in memory. Files have at most seven rows, and row groups at most two."""

    def __init__(self, relation: Relation, rows: Rows, directory: Path) -> None:
        self.bytes = 1000
        self.written: list[tuple[str, ...]] = []
        self.removed: list[Sequence[str]] = []
        self.full = False
        self.directory = directory
        self._relation = relation
        self._rows = rows

    def stored(self) -> list[SortedCopy]:
        return []

    def write(self, order: Sequence[str]) -> SortedCopy:
        if self.full:
            raise StateError("the disk is full")
        self.written.append(tuple(order))
        rows, relation = self._rows, self._relation
        if order[0] == ELEMENT:
            rows = [(element, *row) for row in rows for element in {at % 5 for at in range(len(row[0] or ""))}]
            relation = Relation("elements", (Column(ELEMENT, BIGINT), *relation.columns))
        names = column_names(len(self._relation.columns))
        names = [ELEMENT, *names] if order[0] == ELEMENT else names
        places = [names.index(name) for name in order]
        rows = sorted(rows, key=lambda row: [(row[at] is not None, row[at]) for at in places])
        files = []
        for first in range(0, max(1, len(rows)), 7):
            table = rows_to_arrow(rows[first : first + 7], relation).rename_columns(names)
            path = self.directory / f"{'-'.join(order)}-{first:04}.parquet"
            parquet.write_table(table, path, row_group_size=2, write_page_checksum=True)
            files.append(CopyFile(path.name, path.stat().st_size))
        return SortedCopy(order, files, LocalFiles(self.directory))

    def remove(self, copy: SortedCopy) -> None:
        self.removed.append(copy.order)


def lookups(copies: Copies, relation: Relation) -> SortedLookups:
    names = column_names(relation.arity)
    schema = pa.schema([(name, column.type.arrow()) for name, column in zip(names, relation.columns, strict=True)])
    return SortedLookups(copies, schema, names)


def keys_of(relation: Relation, places: Sequence[int], rows: Rows) -> list[pa.Array]:
    columns = tuple(relation.columns[at] for at in places)
    keys = rows_to_arrow([tuple(row[at] for at in places) for row in rows], Relation("keys", columns))
    return [column.combine_chunks() for column in keys.columns]


def as_rows(table: pa.Table) -> Rows:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@given(st.data())
def test_rows_are_found_by_any_columns(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3))
    relation = Relation("r", tuple(Column(f"x{at}", kind) for at, kind in enumerate(kinds)))
    values = [st.sampled_from(data.draw(st.lists(KINDS[kind], min_size=1, max_size=4))) | st.none() for kind in kinds]
    rows = data.draw(st.lists(st.tuples(*values), max_size=40))
    with TemporaryDirectory() as directory:
        copies = Copies(relation, rows, Path(directory))
        finds = lookups(copies, relation)
        for _ in range(6):
            places = sorted(data.draw(st.sets(st.sampled_from(range(len(kinds))), min_size=1)))
            wanted = data.draw(st.lists(st.tuples(*values), min_size=1, max_size=4))
            found = finds.with_keys([f"c{at}" for at in places], keys_of(relation, places, wanted))
            if found is None:
                continue
            keys = [tuple(row[at] for at in places) for row in wanted]
            expected = [row for row in rows if tuple(row[at] for at in places) in keys]
            assert as_rows(found) == sorted(expected, key=repr)


PAIRS = Relation("pair", (Column("x", STRING), Column("y", INT)))
GRID = [(f"{x:02}", y) for x in range(20) for y in range(20)]


def find(finds: SortedLookups, x: str | None = None, y: int | None = None) -> pa.Table | None:
    """The rows with one x or one y among those of all others, by all columns."""
    wanted = [row for row in GRID if x in (None, row[0]) and y in (None, row[1])]
    return finds.with_keys(["c0", "c1"], keys_of(PAIRS, (0, 1), wanted))


def test_a_copy_is_made_for_what_keys_have_in_common(tmp_path: Path) -> None:
    copies = Copies(PAIRS, GRID, tmp_path)
    finds = lookups(copies, PAIRS)
    assert find(finds, x="03") is None
    assert find(finds, x="04") is None
    assert not copies.written
    found = find(finds, x="05")
    assert found is not None
    assert set(as_rows(found)) == {row for row in GRID if row[0] == "05"}
    assert copies.written == [("c0", "c1")]
    for _ in range(3):
        found = find(finds, y=7)
        assert found is not None
        assert set(as_rows(found)) == {row for row in GRID if row[1] == 7}
    assert copies.written == [("c0", "c1"), ("c1", "c0")]


def test_what_is_read_follows_what_is_looked_for(tmp_path: Path) -> None:
    copies = Copies(PAIRS, GRID, tmp_path)
    finds = lookups(copies, PAIRS)
    read = []
    for y in range(10):
        assert (find(finds, y=y) is None) == (y < 2)
        read.append(finds.take_read_bytes())
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert all(0 < each < size / 5 for each in read[3:])


def test_rows_by_elements(tmp_path: Path) -> None:
    rows = [("x" * at, at) for at in range(8)]
    finds = lookups(Copies(PAIRS, rows, tmp_path), PAIRS)
    wanted = pa.array([3, 9], pa.int64())
    found = [finds.with_elements(wanted) for _ in range(3)]
    assert found[:2] == [None, None]
    assert found[2] is not None
    assert as_rows(found[2]) == sorted((row for row in rows if row[1] > 3), key=repr)


def test_more_than_a_scan_is_worth_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finds = lookups(Copies(PAIRS, GRID, tmp_path), PAIRS)
    wanted = partial(find, finds, x="03")
    assert [wanted() is None for _ in range(3)] == [True, True, False]
    monkeypatch.setattr(sorted_lookups, "MOST_BYTES", 100)
    assert wanted() is None


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:300])])
def test_a_lost_or_truncated_copy_is_named_and_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Any
) -> None:
    copies = Copies(PAIRS, GRID, tmp_path)
    finds = lookups(copies, PAIRS)
    wanted = partial(find, finds, x="03")
    assert [wanted() is None for _ in range(3)] == [True, True, False]
    for path in tmp_path.iterdir():
        damage(path)
    with caplog.at_level(logging.WARNING, "whence"):
        assert wanted() is None
    assert "c0-c1-" in caplog.text
    assert copies.removed == [["c0", "c1"]]
    assert wanted() is not None
    assert len(copies.written) == 2


def test_flipped_bytes_are_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    finds = lookups(Copies(PAIRS, GRID, tmp_path), PAIRS)
    wanted = partial(find, finds, x="00")
    assert [wanted() is None for _ in range(3)] == [True, True, False]
    (path,) = tmp_path.glob("*-0000.parquet")
    data = bytearray(path.read_bytes())
    data[data.index(b"00", 4)] ^= 0xFF
    path.write_bytes(data)
    assert wanted() is None
    assert "damaged" in caplog.text


def test_without_room_for_a_copy_rows_are_scanned_for(tmp_path: Path) -> None:
    copies = Copies(PAIRS, GRID, tmp_path)
    copies.full = True
    finds = lookups(copies, PAIRS)
    assert all(find(finds, x="03") is None for _ in range(5))


def test_neighbours_are_read_as_one() -> None:
    assert coalesced([(4, 10), (14, 6), (20 + GAP, 5), (26 + 2 * GAP, 5)]) == [(4, 21 + GAP), (26 + 2 * GAP, 5)]
    assert coalesced([]) == []


def test_moments_before_1582_and_after() -> None:
    """Python's calendar is that of Parquet."""
    relation = Relation("r", (Column("at", TIMESTAMP),))
    rows: Rows = [(datetime.datetime(year, 1, 1),) for year in (1, 1500, 1600, 9999)]
    with TemporaryDirectory() as directory:
        finds = lookups(Copies(relation, rows, Path(directory)), relation)
        for row in rows * 3:
            found = finds.with_keys(["c0"], keys_of(relation, (0,), [row]))
            assert found is None or as_rows(found) == [row]
