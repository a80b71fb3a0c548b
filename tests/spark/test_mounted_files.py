"""Feeds and readers on a file system that only Hadoop reaches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_feed_and_readers_behind_hadoop(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.spark.mounted_files", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    now, then = "[('a', 1), ('b', 1)]", "[('a', 2), ('b', 1)]"
    changes = "[('insert', 'a', 2), ('insert', 'b', 1), ('delete', 'a', 2), ('insert', 'a', 1)]"
    assert said == [changes, now, now, then, now]


@pytest.mark.slow
def test_what_a_delete_reads_behind_hadoop_does_not_grow_with_the_state(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.spark.mounted_lookups", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    (of_small, _, _), (counted, told, jobs) = ([int(number) for number in line.split()] for line in said)
    assert jobs == 0
    # Of a short file Hadoop cannot read more than it has.
    assert 0 < told <= counted < 2 * of_small
    state = sum(path.stat().st_size for path in (tmp_path / "400" / "segments").rglob("*.parquet"))
    assert counted < state / 4
