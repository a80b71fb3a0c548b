"""What `spark.sql` sees of a database: every commit, over segments and without, although no commit tells Spark."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from unittest import mock

from pyspark.sql import SparkSession

import whence
from whence.database.database import Database
from whence.spark import journal, publication
from whence.spark.database import SparkDatabase
from whence.spark.publication import Publisher

PROGRAM = """
CREATE TABLE link (src STRING, dst STRING, cost INT);
CREATE TABLE site (node STRING NOT NULL, text STRING, PRIMARY KEY (node));
CREATE MATERIALIZED VIEW reach AS WITH RECURSIVE r (src, dst) AS (
  SELECT src, dst FROM link UNION SELECT r.src, l.dst FROM r JOIN link l ON r.dst = l.src) SELECT * FROM r;
CREATE MATERIALIZED VIEW out AS SELECT src, count(*) AS links, min(cost) AS least FROM link GROUP BY src;
"""
LINKS = [("a", "b", 1), ("a", "b", 1), ("b", "a", None), (None, "a", 3), ("c", "a", 4)]


def test_every_commit_is_seen_whatever_lies_below(spark: SparkSession) -> None:
    with mock.patch.object(journal, "SMALL_OVERLAY", 20), whence.connect(spark) as db:
        db.execute(PROGRAM)
        for many in (0, 30):
            # The more of them, the more lies in segments.
            db.insert("link", [*LINKS, *(("d", str(number), number) for number in range(many))])
            db.insert("site", [(f"{many}", "x"), (f"{many} and more", None)])
            _check(spark, db)
            # From the first rows that go on, nothing has to be told any more.
            db.insert("link", [("a", f"{many}", 2), ("z", "z", 9)])
            db.delete("link", [("z", "z", 9)])
            db.insert("site", [("z", None)])
            db.delete("site", [("z",)])
            with mock.patch.object(Publisher, "_show", side_effect=AssertionError("a commit is no reason")):
                db.insert("link", [(None, f"{many} and more", 5)])
                db.delete("link", [LINKS[0], LINKS[4]])
                db.delete("site", [(f"{many}", "x")])
            _check(spark, db)
        joined = spark.sql("SELECT o.links FROM out o JOIN VALUES ('d') AS known (src) ON o.src = known.src")
        assert [row.links for row in joined.collect()] == [30]


def test_rows_that_came_and_went_before_there_was_a_segment(spark: SparkSession) -> None:
    with whence.connect(spark) as db:
        db.execute(PROGRAM)
        db.insert("link", LINKS)
        _check(spark, db)
        db.delete("link", LINKS)
        _check(spark, db)
        db.insert("link", LINKS[2:])
        _check(spark, db)


def test_a_frame_stays_at_its_version(spark: SparkSession) -> None:
    with mock.patch.object(journal, "SMALL_OVERLAY", 3), whence.connect(spark) as db:
        db.execute("CREATE TABLE link (src STRING, dst STRING)")
        db.insert("link", [("a", "b"), ("b", "c")])
        before = spark.table("link")
        db.insert("link", [("c", "d"), ("d", "e")])
        db.delete("link", [("a", "b")])
        assert sorted(map(tuple, before.collect())) == [("a", "b"), ("b", "c")]
        assert spark.table("link").count() == 3


def test_changes_beyond_a_few_files_become_one(spark: SparkSession) -> None:
    with mock.patch.object(publication, "MOST_FILES", 3), whence.connect(spark) as db:
        db.execute(PROGRAM)
        db.insert("link", LINKS)
        for number in range(8):
            db.insert("link", [("a", str(number), 2), ("a", str(number), 2)])
            db.delete("link", [("a", str(number), 2)])
            if number % 3 == 0:
                _check(spark, db)
        _check(spark, db)


def test_a_view_is_read_by_spark_alone(spark: SparkSession) -> None:
    """By its own scan of Parquet, which reads no other columns and no other keys than it has to."""
    never = mock.patch.object(publication, "IDLE_SECONDS", 3_600)
    with never, mock.patch.object(journal, "SMALL_OVERLAY", 3), whence.connect(spark) as db:
        db.execute(PROGRAM)
        db.insert("site", [(str(number), "x") for number in range(5)])
        db.insert("site", [("6", "y")])
        db.delete("site", [("1",)])
        found = spark.sql("SELECT node FROM site WHERE node = '2'")
        assert [tuple(row) for row in found.collect()] == [("2",)]
        plan = found._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - PySpark only prints it
        assert "PushedFilters: [IsNotNull(c0), EqualTo(c0,2)], ReadSchema: struct<c0:string>" in plan
        assert "LeftAnti" in plan
        assert "Python" not in plan


TYPES = """
CREATE TABLE price (shop INT NOT NULL, day DATE NOT NULL, euro DECIMAL(9,2), PRIMARY KEY (shop, day));
CREATE TABLE bag (word STRING, size DOUBLE, at TIMESTAMP, raw BINARY, good BOOLEAN, number BIGINT);
CREATE MATERIALIZED VIEW words AS SELECT DISTINCT word FROM bag;
CREATE MATERIALIZED VIEW much AS SELECT word, number FROM bag;
"""


def test_a_view_that_knows_its_changes_is_read_as_parquet_is(spark: SparkSession) -> None:
    chance = random.Random(5)
    bag: list[tuple[object, ...]] = []
    prices: dict[tuple[int, datetime.date], Decimal | None] = {}
    never = mock.patch.object(publication, "IDLE_SECONDS", 3_600)
    with never, mock.patch.object(journal, "SMALL_OVERLAY", 15), whence.connect(spark) as db:
        assert isinstance(db, SparkDatabase)
        db.execute(TYPES)
        db.insert("price", [(9, datetime.date(2026, 2, number), None) for number in range(1, 29)])
        for turn in range(12):
            come = [_bag_row(chance) for _ in range(30 if turn == 0 else 3)]
            gone = chance.sample(bag, min(len(bag), 4))
            for row in gone:
                bag.remove(row)
            bag += come
            key = (chance.randrange(4), datetime.date(2026, 1, chance.randrange(1, 4)))
            prices[key] = chance.choice([None, Decimal("1.50"), Decimal("-2.00")])
            with db.batch() as batch:
                batch.insert("bag", come)
                batch.delete("bag", gone)
                batch.upsert("price", [(*key, prices[key])])
            if turn % 2:
                db._publisher._settle()  # noqa: SLF001 - as if nothing happened for a while
            for name in ("price", "bag", "words", "much"):
                expected = sorted(repr(tuple(row.values())) for row in db.table(name).to_pylist())
                for frame in (spark.sql(f"SELECT * FROM {name}"), db.df(name), db.df(name)):
                    assert sorted(repr(tuple(row.values())) for row in frame.toArrow().to_pylist()) == expected
        assert len(db.table("bag")) == len(bag)
        db._publisher._settle()  # noqa: SLF001 - likewise
        found = spark.sql("SELECT euro FROM price WHERE shop = 9")
        plan = found._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - PySpark only prints it
        assert "EqualTo(c0,9)" in plan
        assert "Join" not in plan
        # A view of the user's that has taken the name stays.
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW price AS SELECT 1 AS mine")
        db.delete("price", [next(iter(prices))])
        db._publisher._settle()  # noqa: SLF001 - likewise
        assert spark.sql("SELECT * FROM price").columns == ["mine"]
        here, there = db.df("price"), db.df("price")
        assert here.join(there, here["shop"] == there["shop"] + 100).count() == 0


def _bag_row(chance: random.Random) -> tuple[object, ...]:
    return (
        chance.choice([None, "", "a'b", "\\n", "ü"]),
        chance.choice([None, 0.1, -0.0, 1e300]),
        chance.choice([None, datetime.datetime(1960, 2, 3, 4, 5, 6, 7)]),
        chance.choice([None, b"", b"\x00\xff"]),
        chance.choice([None, True, False]),
        chance.choice([None, -(2**63), 2**63 - 1]),
    )


def test_a_session_that_reads_no_files_by_name(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.runSQLOnFiles", "false")
    with whence.connect(session) as db:
        db.execute(PROGRAM)
        for row in LINKS:
            db.insert("link", [row])
        _check(session, db)
        db.delete("link", LINKS[:1])
        _check(session, db)


def _check(spark: SparkSession, db: Database) -> None:
    """Spark sees the rows of all relations as the database has them."""
    for name in ("link", "site", "reach", "out"):
        found = [tuple(row) for row in spark.sql(f"SELECT * FROM {name}").collect()]
        assert sorted(map(repr, found)) == sorted(repr(tuple(row.values())) for row in db.table(name).to_pylist())
