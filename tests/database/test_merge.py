"""MERGE INTO: rows of a source change, delete and add those of a table, in one commit."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

import whence
from whence.model.types import Row

SCRIPT = """
CREATE TABLE city(name STRING PRIMARY KEY, country STRING NOT NULL, people BIGINT);
CREATE TABLE road(src STRING, dst STRING, km INT);
CREATE TABLE news(name STRING, people INT, country STRING, is_gone BOOLEAN);
INSERT INTO city VALUES ('Oslo', 'NO', 700), ('Bergen', 'NO', 290), ('Malmo', 'SE', NULL);
INSERT INTO road VALUES ('Oslo', 'Bergen', 460), ('Oslo', 'Bergen', 460), ('Oslo', 'Malmo', 570), (NULL, NULL, 1);
INSERT INTO news VALUES ('Oslo', 701, 'NO', false), ('Malmo', 350, 'SE', NULL), ('Paris', 2100, 'FR', false),
  ('Rome', NULL, 'IT', true), (NULL, 1, 'XX', NULL);
"""
ON = "MERGE INTO city USING news AS n ON city.name = n.name "
STATEMENTS = [
    f"{ON} WHEN MATCHED THEN UPDATE SET people = n.people",
    f"{ON} WHEN MATCHED THEN DELETE",
    f"{ON} WHEN NOT MATCHED AND n.name IS NOT NULL THEN INSERT (name, country) VALUES (upper(n.name), n.country)",
    f"{ON} WHEN MATCHED AND n.people > 500 THEN DELETE WHEN MATCHED THEN UPDATE SET people = coalesce(n.people, 0) + 1",
    f"""{ON}
    WHEN MATCHED AND city.people > 1 THEN UPDATE SET people = n.people, country = n.country || '!'
    WHEN MATCHED AND n.is_gone IS NULL THEN DELETE
    WHEN NOT MATCHED AND n.is_gone THEN INSERT (people, name, country) VALUES (0, n.name, 'gone')
    WHEN NOT MATCHED AND n.name > '' THEN INSERT (name, country, people) VALUES (n.name, n.country, n.people)""",
    """MERGE INTO city AS c USING (SELECT name, max(people) AS people FROM news GROUP BY name) AS s ON c.name = s.name
    WHEN MATCHED AND s.people > 400 THEN UPDATE SET people = s.people WHEN MATCHED THEN UPDATE SET country = '?'""",
    f"{ON} WHEN NOT MATCHED BY SOURCE THEN DELETE",
    f"{ON} WHEN NOT MATCHED BY SOURCE AND city.people > 1 THEN UPDATE SET people = 1 WHEN MATCHED THEN DELETE",
    """MERGE INTO road USING city ON road.dst = city.name AND city.country = 'NO'
    WHEN MATCHED THEN UPDATE SET km = km + 1 WHEN NOT MATCHED THEN INSERT (src, dst) VALUES (city.name, 'new')""",
    "MERGE INTO road USING city ON road.dst = city.name WHEN MATCHED THEN DELETE",
    "MERGE INTO road USING news n ON false WHEN NOT MATCHED THEN INSERT (src, km) VALUES (n.name, n.people)",
]


@pytest.fixture(params=["local", "reference"])
def db(request: pytest.FixtureRequest) -> whence.Database:
    db = whence.connect(engine=request.param)
    db.execute(SCRIPT)
    return db


def bag(db: whence.Database, name: str) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in db.table(name).to_pylist())


@pytest.mark.parametrize("statement", STATEMENTS)
def test_as_in_duckdb(db: whence.Database, statement: str) -> None:
    with duckdb.connect() as duck:
        duck.execute(SCRIPT.replace("STRING", "VARCHAR"))
        duck.execute(statement)
        expected = {name: Counter(duck.execute(f"FROM {name}").fetchall()) for name in ("city", "road")}
    db.execute(statement)
    assert {name: bag(db, name) for name in ("city", "road")} == expected


def test_star_takes_columns_by_name(db: whence.Database) -> None:
    db.execute("CREATE VIEW fresh AS SELECT people, country, name FROM news WHERE name IS NOT NULL")
    commit = db.execute("""
      MERGE INTO city t USING fresh s ON t.name = s.name
      WHEN MATCHED THEN UPDATE SET *
      WHEN NOT MATCHED AND people IS NOT NULL THEN INSERT *
    """)
    assert commit is not None
    assert (commit.inserted, commit.deleted) == ({"city": 3}, {"city": 2})
    assert db.rows("city") == {("Oslo", "NO", 701), ("Bergen", "NO", 290), ("Malmo", "SE", 350), ("Paris", "FR", 2100)}


def test_the_source_may_read_the_table(db: whence.Database) -> None:
    db.execute("""
      MERGE INTO city USING (SELECT country, max(people) AS people FROM city GROUP BY country) s
      ON city.country = s.country WHEN MATCHED THEN UPDATE SET people = s.people
    """)
    assert db.rows("city") == {("Oslo", "NO", 700), ("Bergen", "NO", 700), ("Malmo", "SE", None)}


TWICE = "INSERT INTO news VALUES ('Oslo', 702, 'NO', true)"
SEVERAL = "several rows of the source match one row of 'city'"


@pytest.mark.parametrize(
    "actions",
    [
        "WHEN MATCHED THEN UPDATE SET people = n.people",
        "WHEN MATCHED THEN UPDATE SET people = city.people",
        "WHEN MATCHED AND n.is_gone THEN DELETE WHEN MATCHED THEN UPDATE SET people = 1",
        "WHEN MATCHED AND n.people > 0 THEN DELETE",
    ],
)
def test_several_matches_are_refused(db: whence.Database, actions: str) -> None:
    db.execute(TWICE)
    before = db.rows("city"), db.version
    with pytest.raises(whence.DataError, match=SEVERAL) as caught:
        db.execute(ON + actions)
    assert caught.value.span is not None
    assert (db.rows("city"), db.version) == before


def test_several_matches_that_do_not_matter(db: whence.Database) -> None:
    """Conditions leave one of them, and a deletion is one however often it is asked for."""
    db.execute(TWICE)
    db.execute(ON + "WHEN MATCHED AND n.is_gone THEN UPDATE SET people = n.people")
    assert ("Oslo", "NO", 702) in db.rows("city")
    db.execute(ON + "WHEN NOT MATCHED AND n.people > 2000 THEN INSERT * WHEN MATCHED THEN DELETE")
    assert db.rows("city") == {("Bergen", "NO", 290), ("Paris", "FR", 2100)}


def test_all_copies_of_a_row_are_one_match(db: whence.Database) -> None:
    db.execute("MERGE INTO road USING city ON road.dst = city.name WHEN MATCHED THEN UPDATE SET km = 0")
    assert bag(db, "road")["Oslo", "Bergen", 0] == 2


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ("WHEN NOT MATCHED THEN INSERT *", "column 'name' is NOT NULL"),
        ("WHEN MATCHED THEN UPDATE SET name = 'x'", "an updated row has the key of another row"),
        (
            "WHEN NOT MATCHED AND n.name = 'Rome' THEN INSERT (name, country) VALUES ('Oslo', 'x')",
            "an inserted row has the key of another row",
        ),
    ],
)
def test_rows_are_checked(db: whence.Database, actions: str, message: str) -> None:
    before = db.rows("city"), db.version
    with pytest.raises(whence.DataError, match=message) as caught:
        db.execute(ON + actions)
    assert caught.value.span is not None
    assert (db.rows("city"), db.version) == before


def test_a_value_is_computed_only_where_its_condition_holds(db: whence.Database) -> None:
    db.execute("INSERT INTO news VALUES ('Bergen', 0, 'NO', NULL)")
    db.execute(
        ON + "WHEN MATCHED AND n.people = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET people = CAST(city.people div n.people AS BIGINT)"
    )
    assert db.rows("city") == {("Oslo", "NO", 0), ("Malmo", "SE", None)}
