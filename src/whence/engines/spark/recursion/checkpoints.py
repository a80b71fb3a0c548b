"""Frames that are computed once and kept on the executors, so that plans do not grow with the rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Observation, SparkSession

from whence.engines.spark.errors import evaluation_errors
from whence.model.span import Span

# Rounds are planned by hand, and replanning each of them would cost more than it could gain. Rows are partitioned by
# their number alone, which is enough for every join on it and more.
_SETTINGS: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}


@dataclass(frozen=True, slots=True)
class Counted:
    """A frame, and how many rows it has."""

    frame: DataFrame
    rows: int


class Checkpoint(Counted):
    """A frame that is there."""

    def release(self) -> None:
        """Free the memory at once. Nobody may read the frame any more."""
        # A frame of a checkpoint is nothing but an RDD; PySpark has no other way to it.
        self.frame._jdf.queryExecution().logical().rdd().unpersist(False)  # noqa: SLF001


def checkpoint(frame: DataFrame, span: Span | None = None) -> Checkpoint:
    """Compute the frame, in one job that counts it too; what cannot be computed is an error at this place."""
    observed = Observation()
    with evaluation_errors(span):
        kept = frame.observe(observed, F.count(F.lit(1)).alias("rows")).localCheckpoint()
    return Checkpoint(kept, observed.get["rows"])


@contextmanager
def planned_by_hand(spark: SparkSession) -> Iterator[None]:
    """The settings under which rounds are run."""
    before = {key: spark.conf.get(key) for key in _SETTINGS}
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, was in before.items():
            if was is not None:
                spark.conf.set(key, was)
