"""Proofs on Spark: the same rows, looked up on the cluster, and the same checker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import whence
from tests.explain.proofs.helpers import check, check_all

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
        assert check_all(db, VIEWS) > 30
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


def test_a_view_in_files_is_looked_up_and_not_read(spark: SparkSession, tmp_path: object) -> None:
    nodes = 60
    links = [(f"n{at}", f"n{(at + step) % nodes}", step) for at in range(nodes) for step in (1, 7)]
    with whence.connect(str(tmp_path), engine="spark") as db:
        db.execute(PROGRAM)
        db.insert("link", links)
    with whence.connect(str(tmp_path), engine="spark") as db:
        proof = db.why("reach", ("n0", "n30"))
        check(db, proof)
        assert proof.complete
        check(db, db.why("shortest", ("n0", "n30", None)))
