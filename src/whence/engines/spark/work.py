"""What a commit cost: each component, where it was followed, and all of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from whence.engines.spark.phases import Phases, Spent
from whence.model.updates import Delta, totals


@dataclass
class Work:
    """What a commit cost a component. `tries` were made in the driver; `on_cluster` is why it was followed there, if it
    was, in so many `rounds` if it is recursive. There it was derived anew, or `by_rules`; `reason` is why so.
    """

    rows_in: int = 0
    rows_out: int = 0
    elapsed: float = 0.0
    tries: int = 0
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


class Ledger:
    """The works of the last commit, by component, and the jobs since the one before: also those that looked rows up
    before the commit began.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._phases = Phases(spark)
        self._is_open = False
        self._spent = Spent()
        self._works: dict[tuple[str, ...], Work] = {}

    def phase(self, view: str, phase: str) -> AbstractContextManager[None]:
        """Jobs that run in here are for this phase of this view."""
        return self._phases.phase(view, phase)

    def begin(self) -> None:
        """A commit. What one that failed has left behind is not for this one."""
        if self._is_open:
            self._phases = Phases(self._spark)
        self._is_open = True
        self._works = {}

    def end(self) -> None:
        spent = self._phases.spent()
        self._phases = Phases(self._spark)
        self._is_open = False
        self._spent = sum(spent.values(), Spent())
        for relations, work in self._works.items():
            work.spent = spent.get(relations[0], Spent())

    def new_work(self, relations: tuple[str, ...]) -> Work:
        work = self._works[relations] = Work()
        return work

    def work(self, relations: tuple[str, ...]) -> Work | None:
        """What the last commit cost a component; None if it did not touch it."""
        return self._works.get(relations)

    def metrics(self) -> Mapping[str, int | float]:
        """Of the last commit, which has ended. `derived_anew` counts the components that were derived on the cluster,
        `rounds` those of recursions there; `shuffled_bytes` is what moved between machines, or could have.
        """
        works = self._works.values()
        return {
            "components": len(works),
            "jobs": self._spent.jobs,
            "shuffled_bytes": self._spent.shuffled,
            "tries": sum(work.tries for work in works),
            "derived_anew": sum(work.on_cluster is not None and not work.by_rules for work in works),
            "rounds": sum(work.rounds for work in works),
        }
