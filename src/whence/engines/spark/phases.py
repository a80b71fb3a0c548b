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
        self._context = spark.sparkContext
        self._group = f"whence commit {next(_COMMITS)}"

    @contextmanager
    def phase(self, view: str, phase: str) -> Iterator[None]:
        """Jobs that run in here are for this phase of this view."""
        before = [self._context.getLocalProperty(name) for name in _PROPERTIES]
        self._context.setJobGroup(self._group, f"whence {view}: {phase}")
        try:
            yield
        finally:
            for name, value in zip(_PROPERTIES, before, strict=True):
                self._context.setLocalProperty(name, value)  # type: ignore[arg-type] # None takes it away

    @property
    def jobs(self) -> int:
        return len(self._context.statusTracker().getJobIdsForGroup(self._group))
