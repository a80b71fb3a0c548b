"""Spark jobs under the names of what they are for, and how many there were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from pyspark.sql import SparkSession

_COMMITS = count(1)
_PROPERTIES = ("spark.jobGroup.id", "spark.job.description")


class Phases:
    """The jobs of one commit. The Spark UI shows each under its view and phase."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._group = f"whence commit {next(_COMMITS)}"

    @contextmanager
    def phase(self, view: str, phase: str) -> Iterator[None]:
        """Jobs that run in here are for this phase of this view."""
        context = self._spark.sparkContext
        before = [context.getLocalProperty(name) for name in _PROPERTIES]
        context.setJobGroup(self._group, f"whence {view}: {phase}")
        try:
            yield
        finally:
            for name, value in zip(_PROPERTIES, before, strict=True):
                context.setLocalProperty(name, value)  # type: ignore[arg-type] # None takes it away

    @property
    def jobs(self) -> int:
        return len(self._spark.sparkContext.statusTracker().getJobIdsForGroup(self._group))
