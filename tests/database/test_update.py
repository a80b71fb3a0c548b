"""UPDATE: rows leave and others take their place in one commit, or nothing happens."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

import whence
from whence.model.types import Row

CITIES = [("Oslo", "NO", 700), ("Bergen", "NO", 290), ("Malmo", "SE", None)]
SCRIPT = """
CREATE TABLE city(name STRING PRIMARY KEY, country STRING NOT NULL, people INT);
CREATE TABLE road(src STRING, dst STRING, km INT);
INSERT INTO city VALUES ('Oslo', 'NO', 700), ('Bergen', 'NO', 290), ('Malmo', 'SE', NULL);
INSERT INTO road VALUES ('Oslo', 'Bergen', 460), ('Oslo', 'Bergen', 460), ('Oslo', 'Malmo', 570);
"""


@pytest.fixture(params=["local", "reference"])
def db(request: pytest.FixtureRequest) -> whence.Database:
    db = whence.connect(engine=request.param)
    db.execute(SCRIPT)
    db.execute("CREATE VIEW total AS SELECT country, sum(people) AS people FROM city GROUP BY country")
    return db


def bag(db: whence.Database, name: str) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in db.table(name).to_pylist())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE city SET people = people + 1",
        "UPDATE city SET people = people * 2, country = lower(country) WHERE name = 'Oslo'",
        "UPDATE city SET people = NULL WHERE people > 300",
        "UPDATE city SET name = name || '!', people = 0",
        "UPDATE city SET people = CASE WHEN people IS NULL THEN 1 ELSE people END",
        "UPDATE city SET name = 'Bergen' WHERE name = 'none'",
        "UPDATE city AS c SET people = (SELECT max(km) FROM road r WHERE r.dst = c.name) WHERE c.people IS NOT NULL",
        "UPDATE city SET people = 5 WHERE name IN (SELECT dst FROM road WHERE km > 500)",
        "UPDATE city SET people = 5 WHERE NOT EXISTS (SELECT 1 FROM road WHERE road.dst = city.name)",
        "UPDATE road SET km = km + 1",
        "UPDATE road SET km = 570, dst = 'Malmo' WHERE km = 460",
        "UPDATE road SET src = dst, dst = src",
    ],
)
def test_as_in_duckdb(db: whence.Database, statement: str) -> None:
    with duckdb.connect() as duck:
        duck.execute(SCRIPT.replace("STRING", "VARCHAR"))
        duck.execute(statement)
        expected = {name: Counter(duck.execute(f"FROM {name}").fetchall()) for name in ("city", "road")}
    db.execute(statement)
    assert {name: bag(db, name) for name in ("city", "road")} == expected


def test_one_commit_with_the_net_change(db: whence.Database) -> None:
    version = db.version
    commit = db.execute("UPDATE city SET people = 700 WHERE country = 'NO'")
    assert commit is not None
    assert (commit.version, commit.inserted, commit.deleted) == (
        version + 1,
        {"city": 1, "total": 1},
        {"city": 1, "total": 1},
    )
    assert db.rows("total") == {("NO", 1400), ("SE", None)}


def test_keys_may_change_places(db: whence.Database) -> None:
    db.execute("UPDATE city SET name = CASE name WHEN 'Oslo' THEN 'Bergen' ELSE 'Oslo' END WHERE country = 'NO'")
    assert db.rows("city") == {("Bergen", "NO", 700), ("Oslo", "NO", 290), ("Malmo", "SE", None)}


def test_values_become_those_of_the_column() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(a BIGINT, b DOUBLE, c DECIMAL(10,2), d ARRAY<INT>, e BOOLEAN)")
    db.execute("INSERT INTO t VALUES (1, 1.0, 1.5, array(1), true)")
    db.execute("UPDATE t SET a = 7, b = 2, c = 3, d = NULL, e = a > 0 AND b = 1")
    assert db.table("t").to_pylist() == [{"a": 7, "b": 2.0, "c": 3, "d": None, "e": True}]


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("SET name = 'x'", whence.DataError, "an updated row has the key of another row of 'city'"),
        ("SET name = 'Oslo' WHERE name = 'Bergen'", whence.DataError, "an updated row has the key of another row"),
        ("SET name = 'x', country = '', people = 1", whence.DataError, "an updated row has the key of another row"),
        ("SET country = NULL WHERE name = 'Oslo'", whence.DataError, "column 'country' is NOT NULL"),
        ("SET people = people + 2147483647", whence.EvaluationError, "does not fit INT"),
        ("SET people = 1 / 0 WHERE people > 0", whence.WhenceError, "column 'people' is INT"),
    ],
)
def test_nothing_changes_where_it_cannot(
    db: whence.Database, statement: str, error: type[whence.WhenceError], message: str
) -> None:
    version = db.version
    with pytest.raises(error, match=message) as caught:
        db.execute(f"UPDATE city {statement}")
    assert caught.value.span is not None
    assert (db.version, db.rows("city")) == (version, set(CITIES))


def test_an_updated_row_is_a_new_row() -> None:
    """Its time to live starts again, and one that stays as it is keeps its own."""
    db = whence.connect()
    db.execute("CREATE TABLE ping(host STRING PRIMARY KEY, n INT) TBLPROPERTIES ('ttl' = '10 minutes')")
    db.advance("2026-01-01 12:00:00")
    db.insert("ping", [("a", 1), ("b", 2)])
    db.advance("2026-01-01 12:05:00")
    db.execute("UPDATE ping SET n = 2")
    db.advance("2026-01-01 12:10:00")
    assert db.rows("ping") == {("a", 2)}


def test_of_a_set_without_a_key() -> None:
    """Rows that become equal are one."""
    db = whence.connect()
    db.rules(".decl link(src: symbol, cost: number)")
    db.insert("link", [("a", 1), ("b", 2)])
    db.execute("UPDATE link SET src = 'c', cost = 3")
    assert db.rows("link") == {("c", 3)}
