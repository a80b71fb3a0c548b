"""Rows found by key in files of Parquet: the same as a look at every row finds."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.engines.spark import decoded_segment as heaps
from whence.engines.spark.decoded_segment import (
    SCANNED_FIRST,
    Points,
    Reachable,
    decoded_files,
    hash_rows,
    hash_values,
    heaps_of,
)
from whence.engines.spark.types import arrow_frame, rows_to_arrow
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, ArrayType, DecimalType, Type

KINDS: dict[Type, st.SearchStrategy[Any]] = {
    INT: st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    BOOLEAN: st.booleans(),
    DOUBLE: st.sampled_from([0.0, 1.5, -1.5, float("inf")]) | st.floats(allow_nan=False),
    STRING: st.text(max_size=3),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(),
    DecimalType(5, 2): st.integers(-99999, 99999).map(lambda units: Decimal(units).scaleb(-2)),
    DecimalType(38, 0): st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal),
    ArrayType(BIGINT): st.lists(st.integers(0, 2) | st.none(), max_size=3).map(tuple),
    ArrayType(ArrayType(STRING)): st.lists(st.lists(st.text(max_size=2), max_size=2).map(tuple), max_size=2).map(tuple),
}


@st.composite
def rows(draw: st.DrawFn) -> tuple[Relation, list[tuple[Any, ...]]]:
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3))
    relation = Relation("r", tuple(Column(f"x{at}", kind) for at, kind in enumerate(kinds)))
    return relation, draw(st.lists(st.tuples(*[KINDS[kind] | st.none() for kind in kinds]), max_size=12))


@given(rows(), st.data())
def test_equal_rows_have_equal_hashes_wherever_they_lie(
    drawn: tuple[Relation, list[tuple[Any, ...]]], data: st.DataObject
) -> None:
    relation, values = drawn
    hashes = hash_rows(_columns(relation, values))
    order = data.draw(st.permutations(range(len(values))))
    begin = data.draw(st.integers(0, len(values)))
    turned = [column.slice(begin) for column in _columns(relation, [values[at] for at in order])]
    assert hash_rows(turned).tolist() == hashes[order][begin:].tolist()
    by_hash = dict(zip(hashes.tolist(), values, strict=True))
    assert [by_hash[each] for each in hashes.tolist()] == values


def test_zeros_are_one_value_and_so_are_those_that_are_no_numbers() -> None:
    other = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    hashes = hash_values(pa.array([0.0, -0.0, float("nan"), other], pa.float64()))
    assert hashes[0] == hashes[1]
    assert hashes[2] == hashes[3]
    assert hashes[0] != hashes[2]


@pytest.fixture
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heaps, "PIECE", 4)
    monkeypatch.setattr(heaps, "RUN", 8)


@pytest.mark.usefixtures("_small_pieces")
def test_rows_are_found_in_any_number_of_files_batches_and_runs(tmp_path: Path) -> None:
    relation = Relation("r", (Column("a", BIGINT), Column("b", STRING), Column("c", ArrayType(BIGINT))))
    values = [(at % 7, f"text {at % 3}", tuple(range(at % 4))) for at in range(50)]
    heap = decoded_files(list(_files(tmp_path, relation, values)), _schema(relation), tmp_path)
    wanted = [(3, "text 0"), (5, "text 2"), (9, "text 1")]
    keys = _columns(Relation("keys", relation.columns[:2]), wanted)
    assert _read(heap.with_keys(["c0", "c1"], keys)) == [row for row in values if row[:2] in wanted]
    assert _read(heap.with_elements("c2", pa.array([2, 5], pa.int64()))) == [row for row in values if 2 in row[2]]
    assert heap.with_keys(["c1"], [pa.array(["none such"])]).num_rows == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.parquet", "1.parquet"]


def test_a_segment_without_rows(tmp_path: Path) -> None:
    relation = Relation("r", (Column("a", BIGINT),))
    heap = decoded_files(list(_files(tmp_path, relation, [])), _schema(relation), tmp_path)
    assert heap.with_keys(["c0"], [pa.array([1])]).num_rows == 0


def test_frames_are_scanned_first_and_always_where_they_are_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relation = Relation("r", (Column("a", BIGINT),))
    files = list(_files(tmp_path, relation, [(1,)]))
    small = Points(Reachable(lambda: files, 1, tmp_path), _schema(relation))
    assert small.heap() is not None
    monkeypatch.setattr(heaps, "DECODED_AT_ONCE", 0)
    near = Points(Reachable(lambda: files, 1, tmp_path), _schema(relation))
    far = Points(None, _schema(relation))
    damaged = Points(Reachable(lambda: [tmp_path / "none such"], 1, tmp_path), _schema(relation))
    for _ in range(SCANNED_FIRST):
        assert near.heap() is None
    assert near.heap() is not None
    assert all(far.heap() is None and damaged.heap() is None for _ in range(2 * SCANNED_FIRST))
    assert heaps_of([near]) is not None
    assert heaps_of([near, far]) is None
    assert heaps_of([]) is None


def test_spark_writes_what_is_read(spark: Any, tmp_path: Path) -> None:
    relation = Relation("r", tuple(Column(f"x{at}", kind) for at, kind in enumerate(KINDS)))
    moment = datetime.datetime(1582, 10, 4, 23, 59, 59, 999999)
    values: list[tuple[Any, ...]] = [
        (1, -(2**62), True, 0.5, "x", moment.date(), moment, Decimal("-1.25"), Decimal(10**37), (1, None), (("y",),)),
        (
            2,
            5,
            False,
            -0.5,
            "",
            datetime.date(9999, 12, 31),
            moment.replace(year=9999),
            Decimal("0.01"),
            Decimal(7),
            (),
            (),
        ),
        (None,) * len(KINDS),
    ]
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    frame = arrow_frame(session, rows_to_arrow(values, relation))
    frame.coalesce(1).write.parquet(str(tmp_path / "written"))
    heap = decoded_files(list((tmp_path / "written").glob("*.parquet")), _schema(relation), tmp_path)
    for at, (name, column) in enumerate(zip(heap.schema.names, relation.columns, strict=True)):
        for row in values:
            keys = _columns(Relation("keys", (column,)), [(row[at],)])
            assert heap.with_keys([name], keys).num_rows == 1, (name, row[at])


def _schema(relation: Relation) -> pa.Schema:
    return pa.schema([(f"c{at}", column.type.arrow()) for at, column in enumerate(relation.columns)])


def _columns(relation: Relation, values: Sequence[tuple[Any, ...]]) -> list[pa.Array]:
    return [column.combine_chunks() for column in rows_to_arrow(values, relation).columns]


def _files(directory: Path, relation: Relation, values: Sequence[tuple[Any, ...]]) -> Iterator[Path]:
    half = len(values) // 2
    for number, part in enumerate((values[:half], values[half:])):
        path = directory / f"{number}.parquet"
        parquet.write_table(rows_to_arrow(part, relation), path, write_page_checksum=True)
        yield path


def _read(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return [
        tuple(tuple(each) if isinstance(each, list) else each for each in row) for row in zip(*columns, strict=True)
    ]
