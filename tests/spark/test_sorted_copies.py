"""Sorted copies of a stored view: they outlive the process, and are made again where they break."""

from __future__ import annotations

import logging
from pathlib import Path
from unittest import mock

import pytest
from pyspark.sql import SparkSession

from whence.engines.spark.pages import Paging
from whence.spark import journal
from whence.spark.database import SparkDatabase

PROGRAM = """
.decl link(src: number, dst: number)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""
LINKS = [(node, node + 1) for node in range(9)]
PAGING = Paging(whole=0, mapped=0, fetched=0)


def test_copies_stay_with_their_segments(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with SparkDatabase(spark, str(tmp_path), paging=PAGING) as db:
        with mock.patch.object(journal, "SMALL_OVERLAY", 0):
            db.rules(PROGRAM)
            db.insert("link", LINKS)
        jobs = [db.delete("link", [link]).metrics["jobs"] for link in LINKS[:4]]
        assert jobs[0] > 0
        assert jobs[-1] == 0
    copied = {path.name for path in (tmp_path / "copies").iterdir()}
    assert copied == {path.name for path in (tmp_path / "segments").iterdir()}
    with SparkDatabase(spark, str(tmp_path), paging=PAGING) as db:
        assert db.delete("link", [LINKS[4]]).metrics["jobs"] == 0
        for path in (tmp_path / "copies").rglob("*.parquet"):
            path.write_bytes(path.read_bytes()[:20])
        with caplog.at_level(logging.WARNING, "whence"):
            db.delete("link", [LINKS[5]])
        assert "a sorted copy is damaged" in caplog.text
        rest = LINKS[6:]
        assert db.rows("reachable") == {(x, y) for x, _ in rest for _, y in rest if x < y}
