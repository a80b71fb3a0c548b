"""Structs and maps in tables: how they come in from Python and from files, what goes out, and what is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import whence

STRUCT = "STRUCT<a: DATE, b: STRUCT<c: DECIMAL(5,2)>>"
COLUMNS = f"id INT, s {STRUCT}, m MAP<INT, ARRAY<STRING>>, l ARRAY<STRUCT<k: STRING, v: INT>>"
DAY = datetime.date(2026, 1, 31)
ROWS = {
    (1, (DAY, (Decimal("1.50"),)), ((7, ("x", None)), (3, ())), (("a", 1), None)),
    (2, (None, None), (), ()),
    (3, None, None, None),
}


def table(database: whence.Database, name: str = "t") -> None:
    database.execute(f"CREATE TABLE {name}({COLUMNS})")


def test_dicts_and_tuples_come_in_and_tuples_go_out() -> None:
    with whence.connect() as database:
        table(database)
        given = {"A": DAY, "b": {"c": Decimal("1.5")}}
        database.insert("t", [(1, given, {7: ["x", None], 3: []}, [{"k": "a", "v": 1}, None])])
        database.insert("t", [(2, {}, [], []), (3, None, None, None)])
        assert database.rows("t") == ROWS
        shown = database.table("t").sort_by("id").to_pylist()[0]
        assert shown["s"] == {"a": DAY, "b": {"c": Decimal("1.50")}}
        assert shown["m"] == [(7, ["x", None]), (3, [])]
        database.delete("t", [(1, given, {7: ["x", None], 3: []}, [("a", 1), None])])
        assert len(database.rows("t")) == 2


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("s", {"z": 1}, "there is no field 'z'"),
        ("s", (DAY,), "it has 1 values, and the struct has 2 fields"),
        ("s", 5, "it is an int, not a tuple or a dict of fields"),
        ("s", {"a": 5}, "field 'a' is 5"),
        ("m", {None: []}, "a key is NULL"),
        ("m", [(1, []), (1, [])], "the key 1 is there twice"),
        ("m", {"a": []}, "a key is 'a'"),
        ("m", 5, "it is an int, not a dict"),
    ],
)
def test_what_does_not_fit(column: str, value: object, why: str) -> None:
    with whence.connect() as database:
        table(database)
        row = {"id": 1, "s": None, "m": None, "l": None, column: value}
        with pytest.raises(whence.DataError) as caught:
            database.insert("t", [row])
        assert why in caught.value.message


@pytest.mark.parametrize("file", ["rows.jsonl", "rows.parquet"])
def test_files(file: str, tmp_path: Path) -> None:
    with whence.connect() as database:
        table(database)
        database.insert("t", list(ROWS))
        database.execute(f"COPY t TO '{file}'", directory=tmp_path)
        table(database, "copied")
        database.execute(f"COPY copied FROM '{file}'", directory=tmp_path)
        assert database.rows("copied") == ROWS


def test_a_text_is_no_struct(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "s": "text"}\n')
    with whence.connect() as database:
        table(database)
        with pytest.raises(whence.DataError, match="must be STRUCT"):
            database.execute("COPY t FROM 'rows.jsonl'", directory=tmp_path)


def test_many_rows_of_arrow() -> None:
    kind = pa.struct([("a", pa.int32()), ("b", pa.string())])
    values = pa.array([{"a": number % 7, "b": str(number % 3)} for number in range(20_000)], kind)
    with whence.connect() as database, whence.connect(engine="reference") as oracle:
        for each in (database, oracle):
            each.execute("CREATE TABLE t(id INT, s STRUCT<a: INT, b: STRING>)")
            each.execute("CREATE VIEW v AS SELECT s, count(*) AS n, max_by(id, s.b) AS m FROM t GROUP BY s")
            each.insert("t", pa.table({"id": range(20_000), "s": values}))
            each.execute("DELETE FROM t WHERE id >= 15000 OR s.a = 3")
        assert database.rows("v") == oracle.rows("v")
        assert len(database.rows("v")) == 18


def test_they_are_there_after_reopening(tmp_path: Path) -> None:
    with whence.connect(str(tmp_path / "db")) as database:
        table(database)
        database.execute("CREATE VIEW v AS SELECT s.b.c, m[7] AS x, count(*) AS n FROM t GROUP BY s.b.c, m[7]")
        database.insert("t", list(ROWS))
        before = database.rows("v")
    with whence.connect(str(tmp_path / "db")) as database:
        assert (database.rows("t"), database.rows("v")) == (ROWS, before)


def test_a_struct_may_be_a_key_and_a_map_not() -> None:
    with whence.connect() as database:
        database.execute("CREATE TABLE p(s STRUCT<a: INT> PRIMARY KEY, n INT)")
        database.upsert("p", [((1,), 2)])
        database.upsert("p", [({"a": 1}, 3)])
        assert database.rows("p") == {((1,), 3)}
        with pytest.raises(whence.TypeMismatchError, match="maps are not compared"):
            database.execute("CREATE TABLE q(m MAP<INT, INT> PRIMARY KEY)")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT m FROM t",
        "SELECT m FROM t UNION SELECT m FROM t",
        "SELECT m FROM t EXCEPT ALL SELECT m FROM t",
        "SELECT m, count(*) FROM t GROUP BY m",
        "SELECT max(m) FROM t",
        "SELECT count(DISTINCT m) FROM t",
        "SELECT count(DISTINCT m, id) FROM t",
        "SELECT collect_set(m) FROM t",
        "SELECT id FROM t WHERE m = m",
        "SELECT id FROM t WHERE m IN (SELECT m FROM t)",
        "SELECT a.id FROM t a JOIN t b ON a.m <=> b.m",
        "SELECT a.id FROM t a JOIN t b USING (m)",
        "SELECT rank() OVER (PARTITION BY m ORDER BY id) FROM t",
        "SELECT id FROM t ORDER BY m LIMIT 1",
        "SELECT id FROM t ORDER BY m",
        "SELECT max_by(id, m) FROM t",
        "SELECT greatest(m, m) FROM t",
        "SELECT nullif(m, m) FROM t",
    ],
)
def test_maps_are_not_compared(query: str) -> None:
    with whence.connect() as database:
        table(database)
        with pytest.raises(whence.TypeMismatchError, match="maps are not compared"):
            database.execute(f"CREATE VIEW v AS {query}")


def test_of_equal_ones_the_greatest_and_the_least() -> None:
    with whence.connect() as database:
        database.execute("CREATE TABLE t(x INT, y INT); CREATE VIEW v AS SELECT max_by(x, y), min_by(x, y) FROM t")
        database.insert("t", [(1, 5), (2, 5), (None, 5), (9, None)])
        assert database.rows("v") == {(2, None)}
        database.delete("t", [(None, 5), (2, 5)])
        assert database.rows("v") == {(1, 1)}
