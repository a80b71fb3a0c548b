"""What a database has on storage follows what is in it, not how often that has changed."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from pyspark.sql import SparkSession

from whence.engines.spark.state import is_large_overlay
from whence.model.types import Row
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


def test_recent_changes_become_parts_of_a_base(spark: SparkSession, tmp_path: Path) -> None:
    """The driver holds few of them, whatever comes and goes, and those of groups lie in tiers."""
    limit = 12
    with mock.patch.object(journal, "SMALL_OVERLAY", limit), mock.patch.object(journal, "FEW_SEGMENTS", 3):
        with SparkDatabase(spark, str(tmp_path)) as db:
            db.execute(
                "CREATE TABLE t(a INT NOT NULL, g INT, PRIMARY KEY (a));"
                "CREATE VIEW v AS SELECT g, count(*) AS n, max(a) AS m FROM t GROUP BY g"
            )
            there: dict[int, int] = {}
            for turn in range(8):
                rows = [(a, a % 20) for a in range(10 * turn, 10 * turn + 10)]
                db.insert("t", rows)
                there.update(rows)
                gone = [10 * turn + 9, 10 * turn]
                db.delete("t", [(a, there.pop(a)) for a in gone])
                registry = db._engine.registry  # noqa: SLF001 - whose memory this is about
                assert all(len(registry[name].overlay_rows) <= limit for name in registry.names())
                assert db.rows("v") == _by_group(there)
            assert db._storage.current.tables["t"].segments  # noqa: SLF001 - likewise
        with SparkDatabase(spark, str(tmp_path)) as db:
            assert db.rows("t") == set(there.items())
            assert db.rows("v") == _by_group(there)


def _by_group(rows: dict[int, int]) -> set[tuple[int, int, int]]:
    return {
        (group, sum(g == group for g in rows.values()), max(a for a, g in rows.items() if g == group))
        for group in set(rows.values())
    }


def test_wide_rows_are_large_before_they_are_many() -> None:
    narrow: dict[Row, int] = {(number,): 1 for number in range(1000)}
    wide: dict[Row, int] = {(number, f"{number}" * 1000): 1 for number in range(1000)}
    assert not is_large_overlay(narrow, 1000, 1 << 20)
    assert is_large_overlay(narrow, 999, 1 << 20)
    assert is_large_overlay(wide, 1000, 1 << 20)
