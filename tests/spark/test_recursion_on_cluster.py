"""Recursive views whose changes are too large for the driver, by delta rules with proofs and without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from whence.engines.spark import recursive, supported
from whence.engines.spark.pages import Paging
from whence.spark.database import SparkDatabase

PROGRAM = """
    .decl link(src: number, dst: number)
    reachable(x, y) :- link(x, y).
    reachable(x, y) :- link(x, z), reachable(z, y).
"""
RING = [(node, (node + 1) % 5) for node in range(5)]


@contextmanager
def opened(spark: SparkSession, path: Path, maintenance: str = "auto") -> Iterator[SparkDatabase]:
    with SparkDatabase(spark, str(path), maintenance, paging=Paging(whole=0, mapped=0)) as db:
        yield db


def reached(*links: tuple[int, int]) -> set[tuple[int, int]]:
    found = set(links)
    while more := {(x, y) for x, z in links for other, y in found if other == z} - found:
        found |= more
    return found


def told(db: SparkDatabase) -> str:
    return next(line for line in str(db.explain("reachable", analyze=True)).splitlines() if "last commit" in line)


def test_large_changes(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supported, "DEAD_HERE", 2)
    monkeypatch.setattr(recursive, "DEAD_HERE", 2)
    with opened(spark, tmp_path) as db:
        db.rules(PROGRAM)
        db.insert("link", [*RING, (0, 2), (5, 6)])
        commit = db.delete("link", [(0, 2)])
        assert commit.metrics["derived_anew"] == 0
        assert "reachable" not in commit.deleted, "there is another way round the ring"
        assert re.search(r"by delta rules, since \d+ of about 26 rows had lost their proof", told(db))
        assert db.rows("reachable") == reached(*RING, (5, 6))
        commit = db.delete("link", [(3, 4)])
        assert commit.metrics["derived_anew"] == 1
        assert "; derived anew, since 1" in told(db)
        assert db.rows("reachable") == reached((0, 1), (1, 2), (2, 3), (4, 0), (5, 6))
    with opened(spark, tmp_path, "dred") as db:
        assert "kept by DRed" in str(db.explain("reachable"))
        commit = db.insert("link", [(3, 4)])
        assert commit.metrics["derived_anew"] == 0
        commit = db.delete("link", [(1, 2)])
        assert (commit.metrics["derived_anew"], commit.deleted["reachable"]) == (0, 15)
        assert "rows were deleted, to be derived again" in told(db)
        assert db.rows("reachable") == reached((0, 1), (2, 3), (3, 4), (4, 0), (5, 6))
    with opened(spark, tmp_path) as db:
        db.delete("link", [(5, 6)])
        assert told(db).endswith("; derived anew, since rows of reachable have no proof")
        assert db.rows("reachable") == reached((0, 1), (2, 3), (3, 4), (4, 0))
