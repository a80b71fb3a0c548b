"""What readers get from columns is what they get from rows: the same tables in the same order."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import whence
from whence.columns.arrow import ArrowDelta
from whence.columns.delta import ColumnDelta
from whence.engines.local import engine

COLUMNS = {
    "s": "STRING",
    "i": "INT",
    "b": "BIGINT",
    "d": "DOUBLE",
    "n": "DECIMAL(10,2)",
    "m": "DECIMAL(38,3)",
    "f": "BOOLEAN",
    "day": "DATE",
    "at": "TIMESTAMP",
    "a": "ARRAY<ARRAY<INT>>",
}
EXTREMES: dict[str, list[object]] = {
    "s": [None, "", "a", "ab", "Z", "\x00", "\uffff", "\U00010000", "ä", "a\x00"],
    "i": [None, 0, -1, 1, 2**31 - 1, -(2**31)],
    "b": [None, 0, -1, 1, 2**63 - 1, -(2**63) + 1],
    "d": [None, 0.0, -0.0, 1.5, -1.5, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308],
    "n": [None, Decimal("0.00"), Decimal("-0.01"), Decimal("99999999.99"), Decimal("-99999999.99")],
    "m": [None, Decimal("0.000"), Decimal("1.001"), Decimal("9" * 35 + ".999"), Decimal("-" + "9" * 35 + ".999")],
    "f": [None, True, False],
    "day": [None, datetime.date(1, 1, 1), datetime.date(1970, 1, 1), datetime.date(9999, 12, 31)],
    "at": [
        None,
        datetime.datetime(1, 1, 1),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime.datetime.max,
    ],
    "a": [None, (), (None,), ((),), ((1, None), (2,)), ((1,),), ((-1,), None)],
}
Rows = list[tuple[Any, ...]]


def random_rows(chance: Random, names: list[str], count: int) -> Rows:
    return [tuple(chance.choice(EXTREMES[name]) for name in names) for _ in range(count)]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[whence.Database, whence.Database]]:
    """A database that keeps everything in columns, and one that keeps everything row by row."""

    def connected(*paths: Path) -> tuple[whence.Database, whence.Database]:
        made = []
        for at, limit in enumerate((0, 10**9)):
            monkeypatch.setattr(engine, "ROWS_IN_COLUMNS", limit)
            db = whence.connect(*(path / str(at) for path in paths))
            if not db.version:
                # It decides with the first definition.
                db.execute("CREATE TABLE first(x INT)")
            made.append(db)
        return made[0], made[1]

    return connected


def same(tables: list[pa.Table]) -> None:
    first, second = tables
    assert first.schema == second.schema
    assert first.to_pylist() == second.to_pylist()
    assert first == second
    # Equal numbers may still be told apart.
    assert [str(row) for row in first.to_pylist()] == [str(row) for row in second.to_pylist()]
    first.validate(full=True)


def compare(databases: tuple[whence.Database, whence.Database], names: list[str]) -> None:
    for name in names:
        same([db.table(name) for db in databases])
        same([db.changes(name).drop(["_commit_timestamp"]) for db in databases])
        answers = [db.query(f"SELECT * FROM {name}") for db in databases]
        assert answers[0].schema == answers[1].schema
        assert sorted(map(str, answers[0].to_pylist())) == sorted(map(str, answers[1].to_pylist()))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kept", ["memory", "directory"])
def test_every_type(
    both: Callable[..., tuple[whence.Database, whence.Database]], seed: int, kept: str, tmp_path: Path
) -> None:
    chance = Random(seed)
    names = chance.sample(list(COLUMNS), 1 + seed % 4) if seed else list(COLUMNS)
    columns = ", ".join(f"{name} {COLUMNS[name]}" for name in names)
    databases = both(tmp_path) if kept == "directory" else both()
    rows, more = random_rows(chance, names, 300), random_rows(chance, names, 40)
    schema = None
    for db in databases:
        db.execute(f"CREATE TABLE t({columns})")
        db.execute(f"CREATE VIEW v AS SELECT {', '.join(reversed(names))} FROM t")
        db.execute(f"CREATE VIEW w AS SELECT DISTINCT {', '.join(names[:2])} FROM t")
        db.execute(f"CREATE VIEW g AS SELECT {names[0]}, count(*) AS n FROM t GROUP BY {names[0]}")
        schema = db.table("t").schema
        db.insert("t", rows[:100])
        # Whole columns, with copies among them.
        db.insert("t", pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows[100:]], schema))
        there = list(db.rows("t"))
        gone = sorted(there, key=str)[::2]
        db.delete("t", gone)
        db.insert("t", more)
        left = sorted(db.rows("t"), key=str)
        db.delete("t", pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in left], schema))
    compare(databases, ["t", "v", "w", "g"])
    if kept == "directory":
        for db in databases:
            db.close()
        compare(both(tmp_path), ["t", "v", "w", "g"])


def test_a_key_and_its_updates(both: Callable[[], tuple[whence.Database, whence.Database]]) -> None:
    databases = both()
    first = pa.table({"k": pa.array(range(200), pa.int32()), "x": pa.array(["x"] * 200)})
    second = pa.table({"k": pa.array(range(100, 300), pa.int32()), "x": pa.array(["y"] * 200)})
    for db in databases:
        db.execute("CREATE TABLE t(k INT PRIMARY KEY, x STRING)")
        db.insert("t", first)
        with db.batch() as batch:
            batch.delete("t", first)
            batch.insert("t", second)
    compare(databases, ["t"])
    kinds = databases[0].changes("t", since=3).column("_change_type").to_pylist()
    assert kinds == ["delete"] * 100 + ["update_preimage", "update_postimage"] * 100 + ["insert"] * 100


def test_subscribers_and_what_if_get_the_same(both: Callable[[], tuple[whence.Database, whence.Database]]) -> None:
    databases = both()
    heard: list[list[pa.Table]] = [[], []]
    asked = []
    rows = pa.table({"x": pa.array([at % 90 for at in range(200)], pa.int32())})
    for db, tables in zip(databases, heard, strict=True):
        db.execute("CREATE TABLE t(x INT); CREATE VIEW v AS SELECT x + 1 AS y FROM t")
        db.subscribe("v", tables.append)
        db.insert("t", rows)
        asked.append(db.what_if(delete={"t": rows.slice(0, 100)}).table("v").drop(["_commit_timestamp"]))
    same([tables[0].drop(["_commit_timestamp"]) for tables in heard])
    same(asked)


def test_an_order_of_columns_with_ties(both: Callable[[], tuple[whence.Database, whence.Database]]) -> None:
    databases = both()
    chance = Random(7)
    rows = [(chance.randrange(3), chance.randrange(3), chance.choice("ab"), at) for at in range(500)]
    for db in databases:
        db.execute("CREATE TABLE t(a INT, b INT, c STRING, d INT)")
        db.insert("t", rows)
    same([db.table("t") for db in databases])
    assert databases[0].table("t").to_pylist() == [dict(zip("abcd", row, strict=True)) for row in sorted(rows)]


def test_nothing_is_read_row_by_row(
    both: Callable[[], tuple[whence.Database, whence.Database]], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, _ = both()
    db.execute("CREATE TABLE t(x INT, y STRING); CREATE VIEW v AS SELECT y, x FROM t WHERE x > 10")
    rows = pa.table({"x": pa.array(range(1000), pa.int32()), "y": pa.array(["a", "b"] * 500)})

    def refuse(*_: object) -> None:
        raise AssertionError("read row by row")

    for kind in (ArrowDelta, ColumnDelta):
        monkeypatch.setattr(kind, "__iter__", refuse)
        monkeypatch.setattr(kind, "__getitem__", refuse)
    heard: list[pa.Table] = []
    db.subscribe("v", heard.append)
    commit = db.insert("t", rows)
    assert (commit.inserted, commit.deleted) == ({"t": 1000, "v": 989}, {})
    assert (commit.metrics["rows_in"], commit.metrics["rows_out"]) == (1000, 989)
    assert db.delete("t", rows).deleted == {"t": 1000, "v": 989}
    assert [each.num_rows for each in heard] == [989, 989]
    assert db.changes("t").num_rows == 2000


def test_no_negative_zero_from_arrow(tmp_path: Path) -> None:
    rows = pa.table({"x": pa.array([-0.0, 0.0] * 50)})
    with whence.connect(tmp_path) as db:
        db.execute("CREATE TABLE t(x DOUBLE)")
        db.insert("t", rows)
    with whence.connect(tmp_path) as db:
        assert {str(value) for value in db.table("t").column("x").to_pylist()} == {"0.0"}
        assert db.changes("t").num_rows == 100
        db.delete("t", rows)
        assert db.rows("t") == set()
