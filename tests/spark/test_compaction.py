"""What a database has on storage follows what is in it, not how often that has changed."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from pyspark.sql import SparkSession

from whence.spark import bulk_load, journal
from whence.spark.database import SparkDatabase

PROGRAM = """
    .decl link(src: number, dst: number)
    reachable(x, y) :- link(x, y).
    reachable(x, y) :- link(x, z), reachable(z, y).
    .decl leaving(src: number, n: number)
    leaving(x, count<y>) :- reachable(x, y).
"""
STATES = ("link", "reachable", "leaving")
CHAIN = [(x, x + 1) for x in range(4)]


@pytest.fixture
def db(spark: SparkSession, tmp_path: Path) -> SparkDatabase:
    database = SparkDatabase(spark, str(tmp_path), keep_versions=3)
    database.rules(PROGRAM)
    return database


def test_logs_do_not_grow_with_what_comes_and_goes(spark: SparkSession, tmp_path: Path, db: SparkDatabase) -> None:
    with mock.patch.object(journal, "SMALL_OVERLAY", 20):
        db.insert("link", CHAIN)
        sizes = []
        for x in range(40):
            db.insert("link", [(4, 100 + x)])
            db.delete("link", [(4, 100 + x)])
            tables = db._storage.current.tables  # noqa: SLF001 - whose size this is about
            sizes.append(sum(log.rows for name in STATES for log in tables[name].logs))
        assert max(sizes) <= 3 * (20 + 2 * 5)
        assert not list(db._storage.current.segments())  # noqa: SLF001 - likewise
    rows = {name: db.rows(name) for name in STATES}
    changes = db.changes("leaving", since=db.version - 3).to_pylist()
    db.close()
    with SparkDatabase(spark, str(tmp_path), keep_versions=3) as again:
        assert {name: again.rows(name) for name in STATES} == rows
        assert again.changes("leaving", since=again.version - 3).to_pylist() == changes
        assert again.insert("link", [(4, 7)]).inserted == {"link": 1, "reachable": 5, "leaving": 5}


def test_a_base_of_many_parts_is_written_anew(spark: SparkSession, db: SparkDatabase) -> None:
    with mock.patch.object(bulk_load, "TAKEN_AS_ROWS", 0), mock.patch.object(journal, "FEW_SEGMENTS", 2):
        for x in range(4):
            db.insert("link", spark.createDataFrame([(x, x + 1)], "src INT, dst INT"))
            assert len(db._storage.current.tables["link"].segments) == (x + 1 if x < 2 else x - 1)  # noqa: SLF001
    assert db.rows("link") == set(CHAIN)
    db.close()
