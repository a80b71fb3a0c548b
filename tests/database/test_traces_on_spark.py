"""A question leaves no trace on Spark either, whether rows are in the driver or on the cluster."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

import whence
from tests.database.traces import check
from whence.engines.spark.pages import DEFAULT_PAGING, Paging
from whence.spark.database import SparkDatabase

DATABASES = int(os.environ.get("WHENCE_SPARK_TRACES", "2"))


@pytest.mark.parametrize("seed", range(DATABASES))
def test_no_question_leaves_a_trace(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    def connected(rng: Random, directory: Path | None) -> whence.Database:
        root = None if directory is None else str(directory)
        return SparkDatabase(spark, root, paging=rng.choice((DEFAULT_PAGING, Paging(whole=0, delta=2))))

    check(seed, 5, tmp_path / "db" if seed % 2 else None, connected)
