"""TRUNCATE TABLE and INSERT OVERWRITE: what a table has is replaced, and what stays is no change."""

from __future__ import annotations

from collections import Counter

import pytest

import whence

SCRIPT = """
CREATE TABLE city(name STRING PRIMARY KEY, people BIGINT);
CREATE TABLE road(src STRING, km INT);
CREATE VIEW roads AS SELECT src, count(*) AS n FROM road GROUP BY src;
INSERT INTO city VALUES ('Oslo', 700), ('Bergen', 290);
INSERT INTO road VALUES ('Oslo', 1), ('Oslo', 1), ('Bergen', 2)
"""


@pytest.fixture(params=["local", "reference"])
def db(request: pytest.FixtureRequest) -> whence.Database:
    db = whence.connect(engine=request.param)
    db.execute(SCRIPT)
    return db


def executed(db: whence.Database, sql: str) -> tuple[dict[str, int], dict[str, int]]:
    commit = db.execute(sql)
    assert commit is not None
    return dict(commit.inserted), dict(commit.deleted)


def roads(db: whence.Database) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in db.table("road").to_pylist())


def test_truncate(db: whence.Database) -> None:
    assert executed(db, "TRUNCATE TABLE road") == ({}, {"road": 3, "roads": 2})
    assert executed(db, "TRUNCATE TABLE City") == ({}, {"city": 2})
    assert executed(db, "TRUNCATE TABLE road") == ({}, {})


def test_only_what_differs_changes(db: whence.Database) -> None:
    came, went = executed(db, "INSERT OVERWRITE TABLE city VALUES ('Oslo', 700), ('Bergen', 291), ('Malmo', NULL)")
    assert (came, went) == ({"city": 2}, {"city": 1})
    assert db.rows("city") == {("Oslo", 700), ("Bergen", 291), ("Malmo", None)}


def test_copies_are_counted(db: whence.Database) -> None:
    assert executed(db, "INSERT OVERWRITE road VALUES ('Oslo', 1), ('Bergen', 2), ('Bergen', 2)") == (
        {"road": 1, "roads": 2},
        {"road": 1, "roads": 2},
    )
    assert roads(db) == {("Oslo", 1): 1, ("Bergen", 2): 2}


def test_a_query_may_read_the_table_itself(db: whence.Database) -> None:
    db.execute("INSERT OVERWRITE road SELECT src, km + 1 FROM road WHERE km = 1 UNION ALL SELECT name, 9 FROM city")
    assert roads(db) == {("Oslo", 2): 2, ("Oslo", 9): 1, ("Bergen", 9): 1}
    db.execute("INSERT OVERWRITE road(km) SELECT km FROM road WHERE km < 9")
    assert roads(db) == {(None, 2): 2}
    db.execute("INSERT OVERWRITE road SELECT src, km FROM road WHERE km > 9")
    assert roads(db) == {}


def test_values_become_those_of_the_column(db: whence.Database) -> None:
    assert executed(db, "INSERT OVERWRITE city SELECT src, max(km) FROM road GROUP BY src")[0] == {"city": 2}
    assert db.rows("city") == {("Oslo", 1), ("Bergen", 2)}


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT OVERWRITE city VALUES ('a', 1), ('a', 2)",
        "INSERT OVERWRITE city SELECT CAST(NULL AS STRING), 1",
        "INSERT OVERWRITE city SELECT src, km FROM road UNION ALL SELECT 'Oslo', 7",
    ],
)
def test_nothing_changes_where_it_cannot(db: whence.Database, sql: str) -> None:
    before = db.version, db.rows("city")
    with pytest.raises(whence.DataError):
        db.execute(sql)
    assert (db.version, db.rows("city")) == before


def test_rows_that_stay_keep_their_time() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE ping(host STRING, n INT) TBLPROPERTIES ('ttl' = '10 minutes')")
    db.advance("2026-01-01 12:00:00")
    db.insert("ping", [("a", 1), ("b", 2)])
    db.advance("2026-01-01 12:05:00")
    db.execute("INSERT OVERWRITE ping VALUES ('a', 1), ('b', 3)")
    db.advance("2026-01-01 12:10:00")
    assert db.rows("ping") == {("b", 3)}


def test_a_kept_database_has_what_is_left(tmp_path: object) -> None:
    with whence.connect(str(tmp_path)) as db:
        db.execute(SCRIPT)
        db.execute("INSERT OVERWRITE road SELECT src, km + 1 FROM road; TRUNCATE TABLE city; UPDATE road SET km = 5")
    with whence.connect(str(tmp_path)) as db:
        assert roads(db) == {("Oslo", 5): 2, ("Bergen", 5): 1}
        assert db.rows("city") == set()
