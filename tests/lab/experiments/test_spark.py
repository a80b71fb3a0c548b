"""The comparison with Spark, on a session."""

from __future__ import annotations

import csv
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whence.lab.experiments import spark as comparison
from whence.lab.experiments.figure import QUICK, Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_same_deletes_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    # The session outlives the experiment.
    monkeypatch.setattr(comparison, "_session", lambda: nullcontext(spark))
    told: list[str] = []
    written = comparison.compare_with_spark(Settings(QUICK, 1, 30, tmp_path, told.append))
    assert [path.name for path in written] == ["spark.csv", "spark.svg"]
    assert told[: len(comparison.MAINTENANCE)] == [f"spark: {way}" for way in comparison.MAINTENANCE]
    with written[0].open() as file:
        costs = {(cost["where"], cost["way"]): cost for cost in csv.DictReader(file)}
    assert list(costs) == [
        *[("Spark", way) for way in comparison.MAINTENANCE],
        ("network", "DRed"),
        ("network", "Absorption Lazy"),
    ]
    moved = {way: int(cost["bytes"]) for way, cost in costs.items()}
    assert moved["Spark", "absorption"] < moved["Spark", "dred"] < moved["Spark", "recompute"]
    assert 0 < moved["network", "Absorption Lazy"] < moved["network", "DRed"]
    assert all(int(costs["Spark", way]["jobs"]) > 0 for way in comparison.MAINTENANCE)
