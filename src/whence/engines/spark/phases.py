"""Spark jobs under the names of what they are for, and what they took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

_COMMITS = count(1)
_PROPERTIES = ("spark.jobGroup.id", "spark.job.description")

# Spark writes down a moment later what has happened. So long it is waited for, in seconds.
PATIENCE = 0.2


@dataclass(frozen=True, slots=True)
class Spent:
    """Jobs, and the bytes that their tasks wrote for tasks of later stages."""

    jobs: int = 0
    shuffled: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.jobs + other.jobs, self.shuffled + other.shuffled)


class Phases:
    """The jobs of one commit. The Spark UI shows each under its view and phase."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._commit = f"whence commit {next(_COMMITS)}"
        self._views: dict[str, None] = {}

    @contextmanager
    def phase(self, view: str, phase: str) -> Iterator[None]:
        """Jobs that run in here are for this phase of this view."""
        self._views[view] = None
        context = self._spark.sparkContext
        before = [context.getLocalProperty(name) for name in _PROPERTIES]
        context.setJobGroup(self._group(view), f"whence {view}: {phase}")
        try:
            yield
        finally:
            for name, value in zip(_PROPERTIES, before, strict=True):
                context.setLocalProperty(name, value)  # type: ignore[arg-type] # None takes it away

    def spent(self) -> dict[str, Spent]:
        """By view, as far as there were jobs for it."""
        return {view: _spent(self._spark.sparkContext, self._group(view)) for view in self._views}

    def _group(self, view: str) -> str:
        return f"{self._commit}, {view}"


def _spent(context: SparkContext, group: str) -> Spent:
    jobs = sorted(context.statusTracker().getJobIdsForGroup(group))
    if not jobs:
        return Spent()
    # What the UI shows; PySpark has no other way to it.
    store = context._jsc.sc().statusStore()  # noqa: SLF001
    _wait(store, jobs[-1])
    stages: set[int] = set()
    for job in jobs:
        of_job = store.job(job).stageIds()
        stages.update(of_job.apply(at) for at in range(of_job.length()))
    return Spent(len(jobs), sum(_shuffled(store, stage) for stage in stages))


def _wait(store: Any, job: int) -> None:
    """Until Spark has written down that a job is over, and so all that was before."""
    deadline = time.monotonic() + PATIENCE
    while str(store.job(job).status()) == "RUNNING" and time.monotonic() < deadline:
        time.sleep(0.001)


def _shuffled(store: Any, stage: int) -> int:
    try:
        return int(store.lastStageAttempt(stage).shuffleWriteBytes())
    except Py4JJavaError:
        # Spark forgets the oldest stages when there are very many (spark.ui.retainedStages).
        return 0
