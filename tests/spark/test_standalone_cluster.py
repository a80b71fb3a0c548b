"""The commands of the documentation, on a standalone cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_executors_with_an_archive_and_without_whence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.spark.standalone_cluster", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # Without whence, executors do everything but call functions of Python.
    assert [line for line in said if line.startswith(("SQL", "READ"))] == ["SQL 60000", "READ 60000"] * 2, said
    assert [line for line in said if line.startswith("FUNCTION")] == ["FUNCTION 119998"], said
    (error,) = (line for line in said if line.startswith("ERROR"))
    assert "the Python of Spark's executors does not have" in error
    assert "--archives" in error
