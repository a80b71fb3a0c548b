"""Reachability in Pathway. Runs in Pathway's own environment: links come in as JSON, times in seconds go out."""

# mypy: disable-error-code="import-not-found, misc"

from __future__ import annotations

import json
import queue
import sys
import time
from typing import Any

import pathway as pw


class Link(pw.Schema):
    src: int = pw.column_definition(primary_key=True)
    dst: int = pw.column_definition(primary_key=True)


class Changes(pw.io.python.ConnectorSubject):
    """Sends all links, then takes links away and puts them back one by one, each when the one before has settled."""

    def __init__(self, links: list[tuple[int, int]], changed: list[tuple[int, int]]) -> None:
        super().__init__()
        self.links = links
        self.changed = changed
        self.settled: queue.Queue[int] = queue.Queue()
        self.pairs = 0
        self.build = 0.0
        self.deletes: list[float] = []
        self.inserts: list[float] = []

    def run(self) -> None:
        started = time.perf_counter()
        for source, target in self.links:
            self.next(src=source, dst=target)
        self.build = self.seconds_until_settled(started)
        for source, target in self.changed:
            started = time.perf_counter()
            self.delete(src=source, dst=target)
            self.deletes.append(self.seconds_until_settled(started))
            started = time.perf_counter()
            self.next(src=source, dst=target)
            self.inserts.append(self.seconds_until_settled(started))

    def seconds_until_settled(self, started: float) -> float:
        self.commit()
        self.settled.get()
        return time.perf_counter() - started

    def count(self, key: object, row: dict[str, Any], time: int, is_addition: bool) -> None:  # noqa: ARG002 - their names
        if row["derived"]:
            self.pairs += 1 if is_addition else -1


def step(reachable: Any, link: Any) -> dict[str, Any]:
    """One round: the links, and what is one link further than what was reached before."""
    further = link.join(reachable, link.dst == reachable.src).select(src=link.src, dst=reachable.dst)
    pairs = pw.Table.concat_reindex(link.select(pw.this.src, pw.this.dst), further)
    return {"reachable": pairs.groupby(pairs.src, pairs.dst).reduce(pairs.src, pairs.dst), "link": link}


def main() -> None:
    given = json.load(sys.stdin)
    changes = Changes(given["links"], given["changed"])
    link = pw.io.python.read(changes, schema=Link, autocommit_duration_ms=None)
    start = link.groupby(link.src, link.dst).reduce(link.src, link.dst)
    reachable = pw.iterate(step, reachable=pw.iterate_universe(start), link=link).reachable
    # The links are part of the output so that it changes with every commit: it is only then that its end is told.
    output = pw.Table.concat_reindex(
        reachable.select(pw.this.src, pw.this.dst, derived=True), link.select(pw.this.src, pw.this.dst, derived=False)
    )
    pw.io.subscribe(output, on_change=changes.count, on_time_end=changes.settled.put)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    found = {"build": changes.build, "deletes": changes.deletes, "inserts": changes.inserts, "pairs": changes.pairs}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
