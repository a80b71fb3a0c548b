"""Steps from one program of the adaptation paper's workload to another, and what they take view by view.

Times are of the processor. What a view takes is the time to plan it and to derive its rows, those of its derivation
tables included; compared is the time to compute it beside, under another name, over the same tables, and the
time to rebuild it in its place. Parsing, analysis and the commit itself are in the totals alone.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from whence.database.database import Database
from whence.engines.local.engine import LocalEngine
from whence.lab.workloads.exchange import Exchange, ExchangeSize, apart_name, exchange, source_columns
from whence.model.schema import owner
from whence.model.types import Row
from whence.rewriting.adaptation import Derived
from whence.session.session import Session

if TYPE_CHECKING:
    from whence.adapt.redefine import DefinitionChange

# Rows of a source that come and go where data changes with definitions, as in the paper.
CHANGED_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Seconds of each view that is defined differently, and of the whole step."""

    views: Mapping[str, float] = field(default_factory=dict)
    total: float = 0.0

    def least(self, other: StepTimes) -> StepTimes:
        """The shorter time of each: everything else that happens on a machine only adds to them."""
        views = {name: min(seconds, other.views.get(name, seconds)) for name, seconds in self.views.items()}
        return StepTimes(views, min(self.total, other.total))

    def __add__(self, other: StepTimes) -> StepTimes:
        names = dict.fromkeys([*self.views, *other.views])
        views = {name: self.views.get(name, 0.0) + other.views.get(name, 0.0) for name in names}
        return StepTimes(views, self.total + other.total)


class Steps:
    """A database with the workload's views, which is as it was after every step."""

    def __init__(self, size: ExchangeSize, *, keeps_derivations: bool) -> None:
        self.size = size
        self.program = exchange(self.size)
        self._session = Session(LocalEngine())
        self._session.keeps_derivations = keeps_derivations
        self._db = Database(self._session)
        self._db.execute(self.program.tables())
        self._columns = {
            name: source_columns(self.size, name, attributes) for name, attributes in self.program.sources.items()
        }
        import pyarrow as pa

        for name, columns in self._columns.items():
            self._db.insert(name, pa.table(columns))
        self._db.mappings(self.program.mappings())

    def differing(self, new: Exchange) -> list[str]:
        return [name for name, rules in new.views.items() if self.program.views.get(name) != rules]

    def recomputed(self, new: Exchange) -> StepTimes:
        """The views that differ, computed beside those that are there."""
        names = self.differing(new)
        text = new.apart(names).mappings([apart_name(name) for name in names])
        total = _seconds(lambda: self._db.mappings(text))
        works = self._works()
        with self._db.redefine() as change:
            for name in reversed(names):
                change.drop(apart_name(name))
        return StepTimes({name: works.get(apart_name(name), 0.0) for name in names}, total)

    def adapted(self, new: Exchange, *, with_rows: bool = False) -> StepTimes:
        """One step to the new definitions; `with_rows` also to other rows, in the same commit."""
        return self._there_and_back(new, self._changed_rows() if with_rows else {}, is_combined=True)

    def rebuilt(self, new: Exchange, *, with_rows: bool = False) -> StepTimes:
        """The same without any use of old contents. Those who follow the views are told what differs, as always."""
        planner = self._session.planner
        planner.is_used = False
        try:
            return self._there_and_back(new, self._changed_rows() if with_rows else {}, is_combined=True)
        finally:
            planner.is_used = True

    def one_after_the_other(self, new: Exchange) -> StepTimes:
        """Rows first, which old views follow, and then definitions."""
        return self._there_and_back(new, self._changed_rows(), is_combined=False)

    def _there_and_back(self, new: Exchange, rows: Mapping[str, _RowChange], *, is_combined: bool) -> StepTimes:
        names = self.differing(new)
        followed = StepTimes()
        if rows and not is_combined:
            total = _seconds(lambda: self._change_rows(rows))
            works = self._works()
            followed = StepTimes({name: works.get(name, 0.0) for name in names}, total)
        made: list[DefinitionChange] = []

        def step() -> None:
            with self._db.redefine() as change:
                made.append(change)
                change.mappings(new.mappings(names))
                for table, each in rows.items() if is_combined else ():
                    change.delete(table, each.gone)
                    change.insert(table, each.come)

        total = _seconds(step)
        works = self._works()
        steps = () if made[0].plan is None else made[0].plan.steps
        for each in steps:
            if isinstance(each, Derived):
                name = owner(each.component.relations[0])
                works[name] = works.get(name, 0.0) + each.seconds
        self._go_back(names, rows)
        return followed + StepTimes({name: works.get(name, 0.0) for name in names}, total)

    def _go_back(self, names: Sequence[str], rows: Mapping[str, _RowChange]) -> None:
        with self._db.redefine() as change:
            change.mappings(self.program.mappings([name for name in names if name in self.program.views]))
            for name in reversed(names):
                if name not in self.program.views:
                    change.drop(name)
        self._change_rows({table: _RowChange(each.gone, each.come) for table, each in rows.items()})

    def _change_rows(self, rows: Mapping[str, _RowChange]) -> None:
        with self._db.batch() as batch:
            for table, each in rows.items():
                batch.delete(table, each.gone)
                batch.insert(table, each.come)

    def _changed_rows(self) -> Mapping[str, _RowChange]:
        """Half of them go, and as many come with other accession numbers."""
        random = Random(self.size.seed)  # noqa: S311 - chance is not a secret here
        found = {}
        for table, columns in self._columns.items():
            values = list(columns.values())
            half = min(CHANGED_ROWS // 2, len(values[0]) // 4)
            gone = [
                tuple([int(each[at]) for each in values]) for at in sorted(random.sample(range(len(values[0])), half))
            ]
            found[table] = _RowChange(come=[(row[0] + self.size.rows, *row[1:]) for row in gone], gone=gone)
        return found

    def _works(self) -> dict[str, float]:
        """What the last change took for each view, by its name."""
        plans = self._session.engine.capabilities.plans
        assert plans is not None, "the local engine tells what it does"
        found: dict[str, float] = {}
        for component in self._session.definitions.analysis.components:
            work = plans.work(component)
            if work is not None and component.rules:
                name = owner(component.relations[0])
                found[name] = found.get(name, 0.0) + work.elapsed
        return found


@dataclass(frozen=True, slots=True)
class _RowChange:
    come: Sequence[Row]
    gone: Sequence[Row]


def _seconds(work: Callable[[], object]) -> float:
    """What it takes, without the cycle collector, which comes at any time."""
    gc.disable()
    try:
        started = time.process_time()
        work()
        return time.process_time() - started
    finally:
        gc.enable()


def repeated(measure: Callable[[], StepTimes], runs: int) -> StepTimes:
    """The least of so many, after one that does not count: indexes are made, and plans learn what rows take."""
    gc.collect()
    measure()
    found = measure()
    for _ in range(runs - 1):
        found = found.least(measure())
    return found
