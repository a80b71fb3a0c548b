"""Alerts by a clock: something came, and what should follow did not come in time.

Whether a node has the one and lacks the other is a view. When that began is a row of a table, and so is the alert once
the time has run out; both are there after reopening.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Any, TypeAlias

from whence.database.database import Database
from whence.documents.registry import PROPERTIES
from whence.errors import DataError, TypeMismatchError
from whence.model.updates import Commit
from whence.session.batch import Batch

Time: TypeAlias = float | datetime
"""Seconds since any moment, the same for all of a document; or a moment."""

# What a node goes by: its path, or the key of its document.
TimeOf: TypeAlias = Callable[[str], float]


def seconds(time: object) -> float:
    if isinstance(time, datetime):
        return time.timestamp()
    if isinstance(time, bool) or not isinstance(time, int | float) or time != time:
        raise TypeMismatchError(f"a time is a number of seconds or a datetime, not {time!r}")
    return float(time)


def check_order(time: float, clock: float | None, what: str) -> None:
    """Time does not go back: alerts have been given for what was late, and would have been wrong."""
    if clock is not None and time < clock:
        raise DataError(
            f"{what} is of time {time:g}, and the clock is at {clock:g} already",
            hint="nothing of it is taken; put updates in the order of their times before they are added",
        )


@dataclass(slots=True)
class Alert:
    """`NAME(node, of, due)`: nodes that lacked something at the time `due`, which was the last one for it."""

    database: Database
    name: str
    within: float
    label: Callable[[Any], str] = str
    """From what the views have beside a node to what it goes by."""

    _due: dict[int, tuple[float, str]] = field(default_factory=dict)
    _order: list[tuple[float, int]] = field(default_factory=list)

    @property
    def lacking(self) -> str:
        """The view of nodes that have the one and lack the other."""
        return f"{self.name}_lacking"

    @property
    def waiting(self) -> str:
        """The table of nodes that lack something, and until when it may come."""
        return f"{self.name}_waiting"

    def define(self, after: str, unless: str) -> None:
        """Over the relations of two queries, of nodes with what they go by."""
        self.database.rules(
            f"""
            .decl {self.name}(node: number, of: symbol, due: float)
            .decl {self.waiting}(node: number, of: symbol, due: float)
            {self.lacking}(n, x) :- {after}(n, x), !{unless}(n, x).
            """,
            name=self.name,
        )

    def restore(self, clock: float) -> None:
        """Go on where the database was left, which may be between a change and what follows from it."""
        given = {row[0] for row in self._rows(self.name)}
        for node, of, due in self._rows(self.waiting):
            self._wait(node, of, due)
        lacking = {(node, self.label(of)) for node, of in self._rows(self.lacking)}
        came = [(node, of) for node, of in lacking if node not in self._due and node not in given]
        self._record(came, set(self._due) - {node for node, _ in lacking}, lambda _: clock)

    def pass_time(self, clock: float) -> None:
        """It is so late now: give the alerts whose time has run out."""
        late: list[tuple[int, str, float]] = []
        while self._order and self._order[0][0] < clock:
            due, node = heappop(self._order)
            if self._due.get(node, (None, ""))[0] == due:
                late.append((node, self._due.pop(node)[1], due))
        self._change([], late, late)

    def follow(self, commit: Commit, time_of: TimeOf) -> None:
        """What a commit changed, at the time that it happened to each."""
        if not commit.inserted.get(self.lacking) and not commit.deleted.get(self.lacking):
            return
        changed = self.database.changes(self.lacking, since=commit.version - 1).to_pylist()
        came = [(row["n"], self.label(row["x"])) for row in changed if row["_change_type"] == "insert"]
        self._record(came, {row["n"] for row in changed if row["_change_type"] == "delete"}, time_of)

    def _record(self, came: Iterable[tuple[int, str]], left: Iterable[int], time_of: TimeOf) -> None:
        gone: list[tuple[int, str, float]] = []
        late: list[tuple[int, str, float]] = []
        for node in left:
            if node in self._due:
                due, of = self._due.pop(node)
                gone.append((node, of, due))
                if time_of(of) > due:
                    late.append((node, of, due))
        waits = [(node, of, time_of(of) + self.within) for node, of in came]
        self._change(waits, gone, late)
        for each in waits:
            self._wait(*each)

    def _wait(self, node: int, of: str, due: float) -> None:
        self._due[node] = (due, of)
        heappush(self._order, (due, node))
        # What came in time stays in the queue until its time; that is to be a part of it only.
        if len(self._order) > 2 * len(self._due) + 64:
            self._order = [(due, node) for node, (due, _) in self._due.items()]
            heapify(self._order)

    def _change(
        self,
        waits: list[tuple[int, str, float]],
        gone: list[tuple[int, str, float]],
        late: list[tuple[int, str, float]],
    ) -> None:
        if not (waits or gone or late):
            return
        with self.database.batch() as batch:
            for rows, change, table in (
                (gone, batch.delete, self.waiting),
                (waits, batch.insert, self.waiting),
                (late, batch.insert, self.name),
            ):
                if rows:
                    change(table, rows)

    def _rows(self, relation: str) -> list[Any]:
        return list(self.database.rows(relation))


class Clock:
    """The time of a document, and its alerts. Updates that come without a time happen when the last one did."""

    def __init__(self, document: str, database: Database) -> None:
        self.time: float | None = None
        self.alerts: dict[str, Alert] = {}
        self._document = document
        self._database = database

    def add(self, name: str, within: float, after: str, unless: str, label: Callable[[Any], str] = str) -> Alert:
        """An alert over two relations of nodes."""
        span = seconds(within)
        if span < 0:
            raise TypeMismatchError(f"within is a number of seconds, not {within!r}")
        found = Alert(self._database, name, span, label)
        found.define(after, unless)
        self._database.insert(PROPERTIES, [(self._document, f"alert {name}", json.dumps(span))])
        self.alerts[name] = found
        found.restore(self.now)
        return found

    def resume(self, properties: Mapping[str, str], label: Callable[[Any], str] = str) -> None:
        """Go on where the database was left."""
        self.time = json.loads(properties["clock"]) if "clock" in properties else None
        for name, value in properties.items():
            if name.startswith("alert "):
                alert = name.removeprefix("alert ")
                self.alerts[alert] = Alert(self._database, alert, json.loads(value), label)
                self.alerts[alert].restore(self.now)

    @property
    def now(self) -> float:
        return 0.0 if self.time is None else self.time

    def pass_time(self, time: float) -> None:
        """Give the alerts that are due before this time."""
        for alert in self.alerts.values():
            alert.pass_time(time)

    def follow(self, commit: Commit, time_of: TimeOf) -> None:
        for alert in self.alerts.values():
            alert.follow(commit, time_of)

    def set(self, batch: Batch, time: float | None) -> None:
        """Store the time, together with what happens then."""
        if time is not None and time != self.time:
            if self.time is not None:
                batch.delete(PROPERTIES, [(self._document, "clock", json.dumps(self.time))])
            batch.insert(PROPERTIES, [(self._document, "clock", json.dumps(time))])
