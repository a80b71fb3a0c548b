"""What `spark.sql` sees of a database: every commit, over segments and without, although no commit tells Spark."""

from __future__ import annotations

from unittest import mock

import pytest
from pyspark.sql import SparkSession

import whence
from whence.database.database import Database
from whence.spark import journal
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
            db.insert("link", [("a", f"{many}", 2)])
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


def test_a_frame_from_before_a_rewrite_says_what_to_do(spark: SparkSession) -> None:
    with mock.patch.object(journal, "SMALL_OVERLAY", 3), whence.connect(spark) as db:
        db.execute("CREATE TABLE link (src STRING, dst STRING)")
        db.insert("link", [("a", "b"), ("b", "c")])
        before = spark.table("link")
        db.insert("link", [("c", "d"), ("d", "e")])
        with pytest.raises(Exception, match=r"(?s)'link' was written anew while .*run the query again"):
            before.count()
        assert spark.table("link").count() == 4


def _check(spark: SparkSession, db: Database) -> None:
    """Spark sees the rows of all relations as the database has them."""
    for name in ("link", "site", "reach", "out"):
        found = [tuple(row) for row in spark.sql(f"SELECT * FROM {name}").collect()]
        assert sorted(map(repr, found)) == sorted(repr(tuple(row.values())) for row in db.table(name).to_pylist())
