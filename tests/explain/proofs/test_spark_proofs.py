"""Proofs on Spark: the same rows, looked up on the cluster, and the same checker."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

import whence
from tests.explain.proofs.helpers import check, check_all
from whence.engines.spark import evidence
from whence.engines.spark.pages import Paging
from whence.errors import UnsupportedError
from whence.spark import journal
from whence.spark.database import SparkDatabase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
  CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, km INT NOT NULL);
  CREATE TABLE closed(city STRING NOT NULL);
  CREATE VIEW reach AS WITH RECURSIVE way(src, dst) AS (
    SELECT src, dst FROM link UNION SELECT l.src, w.dst FROM link l JOIN way w ON l.dst = w.src)
  SELECT src, dst FROM way;
  CREATE VIEW shortest AS WITH RECURSIVE way(src, dst, km) AS (
    SELECT src, dst, min(km) FROM link GROUP BY src, dst
    UNION SELECT l.src, w.dst, min(l.km + w.km) FROM link l JOIN way w ON l.dst = w.src GROUP BY l.src, w.dst)
  SELECT src, dst, km FROM way;
  CREATE VIEW leaving AS SELECT src, count(*) AS n, sum(km) AS km FROM link GROUP BY src;
  CREATE VIEW cut_off AS SELECT src FROM link WHERE NOT EXISTS (SELECT 1 FROM closed WHERE city = src)
"""
RULES = """
  open_way(x, y) :- link(x, y, _), !closed(y).
  open_way(x, y) :- link(x, z, _), !closed(z), open_way(z, y).
  degree(x, count<*>) :- link(x, _, _).
"""
VIEWS = ("reach", "shortest", "leaving", "cut_off", "open_way")
LINKS = [("a", "b", 4), ("b", "c", 5), ("c", "a", 1), ("a", "c", 20), ("c", "d", 2), ("d", "e", 2)]


@pytest.mark.parametrize("maintenance", ["auto", "dred"])
def test_every_row_has_a_proof(spark: SparkSession, maintenance: str) -> None:
    with whence.connect(spark, maintenance=maintenance) as db:
        db.execute(PROGRAM)
        db.rules(RULES)
        db.insert("link", LINKS)
        db.insert("closed", [("d",)])
        db.delete("link", [("a", "c", 20)])
        assert check_all(db, VIEWS) > 30


def test_supports_and_critical_rows(spark: SparkSession) -> None:
    with whence.connect(spark) as db:
        db.execute(PROGRAM)
        db.insert("link", LINKS)
        proof = db.why("reach", ("a", "c"))
        assert [len(support) for support in proof.supports(all=True)] == [1, 2]
        assert db.critical("reach", ("a", "d")) == {("link", ("c", "d", 2))}
        assert db.critical("leaving", ("a", 2, 24)) == {("link", ("a", "b", 4)), ("link", ("a", "c", 20))}
        assert db.probability("reach", ("a", "c"), {"link": 0.5}).value == 0.625


def test_views_on_the_cluster_are_looked_up_and_not_read(spark: SparkSession) -> None:
    """Nothing stays in the driver: every commit is followed by a compaction, and what is looked up is fetched."""
    nodes = 12
    links = [(f"n{at}", f"n{(at + step) % nodes}", step) for at in range(nodes) for step in (1, 5)]
    with (
        mock.patch.object(journal, "SMALL_OVERLAY", 0),
        SparkDatabase(spark, None, paging=Paging(whole=0)) as db,
    ):
        db.execute(";".join(PROGRAM.split(";")[:2]))
        db.rules(RULES)
        with db.batch() as batch:
            batch.insert("link", links)
            batch.insert("closed", [("n3",)])
        for view, row in (("open_way", ("n0", "n11")), ("degree", ("n4", None))):
            proof = db.why(view, row)
            check(db, proof)
            assert proof.complete
        # Of many numbers, rows are found by a join.
        with mock.patch.object(evidence, "LISTED", 1):
            check(db, db.why("open_way", ("n0", "n11")))
        with pytest.raises(UnsupportedError, match="more rows than should be brought to the driver"):
            db.why("open_way", (None, None))
