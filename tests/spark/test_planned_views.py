"""Definitions that change on Spark along a plan over old contents: rows, counts, files, feeds and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from pyspark.sql import SparkSession

import whence
from tests.spark.random_definitions import run
from whence.engines.spark.pages import Paging
from whence.errors import StateError
from whence.model.types import Row
from whence.rewriting.adaptation import Derived
from whence.spark.database import SparkDatabase
from whence.storage.files.manifest import Segment
from whence.storage.files.segments import SEGMENTS
from whence.storage.files.store import Storage

# Everything is large: views are derived by jobs, and changes of more than a few rows are frames.
LARGE = Paging(whole=3, delta=20, columns=10)
TABLES = """
    CREATE TABLE r(a INT, b STRING, c INT NOT NULL);
    CREATE TABLE s(c INT NOT NULL, d INT);
    CREATE TABLE more(a INT, b STRING, c INT NOT NULL);
"""
ROWS: list[Row] = [(at % 7, None if at % 5 == 0 else f"b{at % 3}", at % 4) for at in range(60)]
JOINED = "SELECT a, b, r.c, d FROM r JOIN s ON r.c = s.c"


@pytest.fixture
def db(spark: SparkSession, tmp_path: Path) -> Iterator[SparkDatabase]:
    with SparkDatabase(spark, str(tmp_path), paging=LARGE) as database:
        database.execute(TABLES)
        database.insert("r", ROWS)
        database.insert("s", [(0, 10), (1, 11), (2, None), (2, 12)])
        database.insert("more", [(100 + at % 6, "m", at % 4) for at in range(30)])
        yield database


def rows(db: SparkDatabase, relation: str) -> Counter[Row]:
    return Counter(tuple(row) for row in db.df(relation).collect())


def fed(db: SparkDatabase, relation: str, version: int) -> Counter[Row]:
    """The changes of one version: how often each row came, or went."""
    found: Counter[Row] = Counter()
    for change in db.changes(relation, since=version - 1).to_pylist():
        kind, at, _ = (change.pop(name) for name in ("_change_type", "_commit_version", "_commit_timestamp"))
        if at == version:
            found[tuple(change.values())] += 1 if kind == "insert" else -1
    return found


def expected(query: str) -> Counter[Row]:
    """The rows of a query over the tables, by the reference engine."""
    with whence.connect(maintenance="recompute") as twin:
        twin.execute(TABLES)
        twin.insert("r", ROWS)
        twin.insert("s", [(0, 10), (1, 11), (2, None), (2, 12)])
        twin.insert("more", [(100 + at % 6, "m", at % 4) for at in range(30)])
        twin.execute(f"CREATE VIEW v AS {query}")
        return Counter(tuple(row.values()) for row in twin.table("v").to_pylist())


def segments(root: Path) -> set[str]:
    return {path.name for path in (root / SEGMENTS).iterdir()}


def stored(db: SparkDatabase, relation: str) -> Sequence[Segment]:
    return db._storage.current.tables[relation].segments  # noqa: SLF001 - which users do not see


def redefined(db: SparkDatabase, query: str) -> tuple[Any, Derived]:
    """The commit, and the step of the view."""
    with db.redefine() as change:
        change.execute(f"CREATE OR REPLACE VIEW v AS {query}")
    assert change.plan is not None
    (step,) = [step for step in change.plan.steps if step.component.relations == ("v",)]
    assert isinstance(step, Derived)
    return change.commit, step


@pytest.mark.parametrize(
    "query",
    [
        "SELECT b, d, a FROM r JOIN s ON r.c = s.c",
        "SELECT d, r.c, b, a FROM r JOIN s ON r.c = s.c",
        "SELECT d AS one, d AS two FROM r JOIN s ON r.c = s.c",
    ],
    ids=["a column less", "in another order", "a column twice"],
)
def test_columns_are_taken_as_they_are_stored(spark: SparkSession, tmp_path: Path, query: str) -> None:
    with SparkDatabase(spark, str(tmp_path), paging=LARGE) as db:
        db.execute(TABLES)
        db.insert("r", ROWS)
        db.insert("s", [(0, 10), (1, 11), (2, None), (2, 12)])
        db.execute(f"CREATE VIEW v AS {JOINED}; CREATE VIEW n AS SELECT count(*) AS n FROM v")
        written = segments(tmp_path)
        commit, _ = redefined(db, query)
        assert {Path(each.path).name for each in stored(db, "v")} <= written, "nothing is written"
        assert rows(db, "v") == expected(query)
        assert fed(db, "v", commit.version) == expected(query)
        assert commit.inserted["v"] == expected(query).total()
        assert rows(db, "n") == Counter({(expected(query).total(),): 1})
        # It goes on from there, and is there when it is opened again.
        change = [(3, "b1", 1), (3, "b1", 1), (50, None, 2)]
        db.insert("r", change)
        db.delete("r", ROWS[1:5])
        db.insert("more", [(0, "x", 0)])
        after = rows(db, "v")
    with SparkDatabase(spark, str(tmp_path), paging=LARGE) as db:
        assert rows(db, "v") == after == _changed(query, change)
        source = spark.read.format("whence").options(path=str(tmp_path), view="v").load()
        assert Counter(tuple(row) for row in source.collect()) == after
        feed = spark.read.format("whence").options(path=str(tmp_path), relation="v", since=commit.version - 1).load()
        net: Counter[Row] = Counter()
        for row in feed.collect():
            net[tuple(row)[:-3]] += 1 if row["_change_type"] == "insert" else -1
        assert {row: count for row, count in net.items() if count} == after


def _changed(query: str, more: Sequence[Row]) -> Counter[Row]:
    with whence.connect(maintenance="recompute") as twin:
        twin.execute(TABLES)
        twin.insert("r", [*ROWS[:1], *ROWS[5:], *more])
        twin.insert("s", [(0, 10), (1, 11), (2, None), (2, 12)])
        twin.execute(f"CREATE VIEW v AS {query}")
        return Counter(tuple(row.values()) for row in twin.table("v").to_pylist())


def test_a_branch_more_and_a_branch_less(db: SparkDatabase) -> None:
    told: list[Any] = []
    db.execute(f"CREATE VIEW v AS {JOINED}; CREATE VIEW big AS SELECT a, d FROM v WHERE a > 5")
    db.subscribe("v", told.append)
    branch = "SELECT a, b, more.c, d FROM more JOIN s ON more.c = s.c"
    commit, step = redefined(db, f"{JOINED} UNION ALL {branch}")
    assert step.keeps_rows
    assert rows(db, "v") == expected(f"{JOINED} UNION ALL {branch}")
    assert rows(db, "big") == expected(f"SELECT a, d FROM ({JOINED} UNION ALL {branch}) AS w WHERE a > 5")
    assert fed(db, "v", commit.version) == expected(branch)
    assert told[0].num_rows == commit.inserted["v"] == expected(branch).total()
    commit, step = redefined(db, JOINED)
    assert step.keeps_rows
    assert rows(db, "v") == expected(JOINED)
    assert fed(db, "v", commit.version) == Counter({row: -n for row, n in expected(branch).items()})


def test_a_set_tells_what_came_to_be_there(spark: SparkSession, db: SparkDatabase, tmp_path: Path) -> None:
    db.execute("CREATE VIEW v AS SELECT a, c FROM r UNION SELECT a, c FROM more WHERE a > 103")
    query = "SELECT a, c FROM r UNION SELECT a, c FROM more WHERE a > 103 UNION SELECT a, c FROM more"
    commit, _ = redefined(db, query)
    assert rows(db, "v") == expected(query)
    assert fed(db, "v", commit.version) == expected("SELECT DISTINCT a, c FROM more WHERE a <= 103")
    commit, _ = redefined(db, "SELECT c, a FROM r UNION SELECT c, a FROM more")
    assert rows(db, "v") == expected("SELECT c, a FROM r UNION SELECT c, a FROM more")
    feed = spark.read.format("whence").options(path=str(tmp_path), relation="v", since=commit.version - 1).load()
    assert Counter(tuple(row)[:-3] for row in feed.collect()) == rows(db, "v"), "derivations are not seen"
    commit, _ = redefined(db, "SELECT c FROM r UNION SELECT c FROM more")
    assert rows(db, "v") == fed(db, "v", commit.version) == expected("SELECT c FROM r UNION SELECT c FROM more")


def test_values_of_another_type_are_converted(db: SparkDatabase) -> None:
    db.execute("CREATE VIEW v AS SELECT a, c FROM r")
    query = "SELECT a FROM r UNION ALL SELECT CAST(c AS BIGINT) + 1 FROM more"
    redefined(db, query)
    assert rows(db, "v") == expected(query)
    assert db.df("v").dtypes == [("a", "bigint")]


def test_the_old_definition_stands_when_a_commit_fails(spark: SparkSession, db: SparkDatabase, tmp_path: Path) -> None:
    db.execute(f"CREATE VIEW v AS {JOINED}; CREATE VIEW n AS SELECT c, count(*) AS n FROM v GROUP BY c")
    version, before, counted = db.version, rows(db, "v"), rows(db, "n")
    for query in (f"{JOINED} UNION ALL SELECT a, b, c, c FROM more", "SELECT d, b, r.c FROM r JOIN s ON r.c = s.c"):
        with (
            mock.patch.object(Storage, "commit", side_effect=StateError("the disk is full")),
            pytest.raises(StateError, match="the disk is full"),
        ):
            redefined(db, query)
        assert (db.version, rows(db, "v"), rows(db, "n")) == (version, before, counted)
    db.insert("r", [(1, "late", 0)])
    before[1, "late", 0, 10] += 1
    assert rows(db, "v") == before
    db.close()
    with SparkDatabase(spark, str(tmp_path), paging=LARGE) as again:
        assert rows(again, "v") == before


def test_a_small_view_is_another_one_when_it_is_opened_again(spark: SparkSession, tmp_path: Path) -> None:
    with SparkDatabase(spark, str(tmp_path)) as db:
        db.execute("CREATE TABLE t(a INT, b INT); CREATE VIEW v AS SELECT a, b FROM t")
        db.insert("t", [(1, 2), (3, 4)])
        db.execute("CREATE OR REPLACE VIEW v AS SELECT b AS a, a AS b FROM t")
        assert db.rows("v") == {(2, 1), (4, 3)}
    with SparkDatabase(spark, str(tmp_path)) as db:
        assert db.rows("v") == {(2, 1), (4, 3)}


@pytest.mark.parametrize("seed", range(2))
def test_all_relations_are_what_they_are_from_scratch(spark: SparkSession, seed: int) -> None:
    """`python -m tests.spark.random_definitions FIRST LAST` runs more seeds."""
    assert run(spark, 2_002 + seed, 4)
