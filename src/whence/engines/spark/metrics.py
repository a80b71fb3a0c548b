"""Spark jobs under the names of what they are for, and what a commit cost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from whence.model.updates import Delta, totals

_COMMITS = count(1)
_PROPERTIES = ("spark.jobGroup.id", "spark.job.description")

# Spark writes down a moment later what has happened. So long it is waited for.
STATUS_WAIT_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Spent:
    """Jobs, the bytes that their tasks wrote for tasks of later stages, and those that they read and wrote as files."""

    jobs: int = 0
    shuffled: int = 0
    read: int = 0
    written: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.jobs + other.jobs,
            self.shuffled + other.shuffled,
            self.read + other.read,
            self.written + other.written,
        )


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
    return sum((_of_stage(store, stage) for stage in stages), Spent(len(jobs)))


def _wait(store: Any, job: int) -> None:
    """Until Spark has written down that a job is over, and so all that was before."""
    deadline = time.monotonic() + STATUS_WAIT_SECONDS
    while str(store.job(job).status()) == "RUNNING" and time.monotonic() < deadline:
        time.sleep(0.001)


def _of_stage(store: Any, number: int) -> Spent:
    try:
        stage = store.lastStageAttempt(number)
    except Py4JJavaError:
        # Spark forgets the oldest stages when there are very many (spark.ui.retainedStages).
        return Spent()
    return Spent(0, int(stage.shuffleWriteBytes()), int(stage.inputBytes()), int(stage.outputBytes()))


@dataclass
class SparkWork:
    """What a commit cost a component. `tries` were made in the driver, or one `in_columns`; `on_cluster` is why it was
    followed there, if it was, in so many `rounds` if it is recursive. There it was derived again, or `by_rules`;
    `reason` is why so.
    """

    rows_in: int = 0
    rows_out: int = 0
    elapsed: float = 0.0
    tries: int = 0
    in_columns: bool = False
    # Of rows that a change in columns has looked up.
    touched: int = 0
    on_cluster: str | None = None
    by_rules: bool = False
    reason: str | None = None
    rounds: int = 0
    spent: Spent = field(default_factory=Spent)

    @contextmanager
    def measured(self, inputs: Iterable[Delta]) -> Iterator[None]:
        self.rows_in = sum(sum(totals(delta)) for delta in inputs)
        started = time.perf_counter()
        yield
        self.elapsed = time.perf_counter() - started


class CommitLedger:
    """The works of the last commit, by component, and the jobs since the one before: also those that looked rows up
    before the commit began.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._phases = Phases(spark)
        self._is_open = False
        self._spent = Spent()
        self._works: dict[tuple[str, ...], SparkWork] = {}

    def phase(self, view: str, phase: str) -> AbstractContextManager[None]:
        """Jobs that run in here are for this phase of this view."""
        return self._phases.phase(view, phase)

    def begin(self) -> None:
        """A commit. What one that failed has left behind is not for this one."""
        if self._is_open:
            self._phases = Phases(self._spark)
        self._is_open = True
        self._works = {}

    def end(self, read: int = 0) -> None:
        """`read` are bytes that were read without a job."""
        spent = self._phases.spent()
        self._phases = Phases(self._spark)
        self._is_open = False
        self._spent = sum(spent.values(), Spent(read=read))
        for relations, work in self._works.items():
            work.spent = spent.get(relations[0], Spent())

    def new_work(self, relations: tuple[str, ...]) -> SparkWork:
        work = self._works[relations] = SparkWork()
        return work

    def work(self, relations: tuple[str, ...]) -> SparkWork | None:
        """What the last commit cost a component; None if it did not touch it."""
        return self._works.get(relations)

    def metrics(self) -> Mapping[str, int | float]:
        """Of the last commit, which has ended. `derived_anew` counts the components that were derived on the cluster,
        `rounds` those of recursions there; `shuffled_bytes` is what moved between machines, or could have.
        `touched_bytes` is what changes in columns have looked up.
        """
        works = self._works.values()
        return {
            "components": len(works),
            "jobs": self._spent.jobs,
            "shuffled_bytes": self._spent.shuffled,
            "read_bytes": self._spent.read,
            "written_bytes": self._spent.written,
            "tries": sum(work.tries for work in works),
            "derived_anew": sum(work.on_cluster is not None and not work.by_rules for work in works),
            "rounds": sum(work.rounds for work in works),
            "touched_bytes": sum(work.touched for work in works),
        }
