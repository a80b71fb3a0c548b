"""Queries of Nexmark in Pathway. Runs in Pathway's own environment: sizes come in as JSON, times in seconds go out."""

# mypy: disable-error-code="import-not-found, misc"

from __future__ import annotations

import json
import queue
import sys
import time
from typing import Any

import pathway as pw

from benchmarks import nexmark_events
from benchmarks.nexmark_events import AUCTION, BID, PERSON


class Event(pw.Schema):
    """All kinds in one, as in Nexmark. A column is what the kind has there."""

    kind: int
    first: int
    second: int
    third: int
    at: int
    until: int
    name: str
    city: str
    state: str


class Stream(pw.io.python.ConnectorSubject):
    """Sends the events in commits of one size; where it waits, each when the one before has settled."""

    def __init__(self, commits: list[list[dict[str, Any]]], *, waits: bool) -> None:
        super().__init__()
        self.commits = commits
        self.waits = waits
        self.settled: queue.Queue[int] = queue.Queue()
        self.seconds: list[float] = []
        self.started = 0.0
        self.found: dict[str, list[int]] = {}

    def run(self) -> None:
        self.started = time.perf_counter()
        for events in self.commits:
            started = time.perf_counter()
            for event in events:
                self.next(**event)
            self.commit()
            if self.waits:
                self.settled.get()
            self.seconds.append(time.perf_counter() - started)

    def note(self, key: object, row: dict[str, Any], time: int, is_addition: bool) -> None:  # noqa: ARG002 - their names
        if is_addition:
            self.found[row["view"]] = [row["rows"], row["total"]]


def views(event: Any) -> dict[str, tuple[Any, Any]]:
    """The table of each query, and a column of it."""
    person = event.filter(pw.this.kind == PERSON).select(
        person=pw.this.first, name=pw.this.name, city=pw.this.city, state=pw.this.state, at=pw.this.at
    )
    auction = event.filter(pw.this.kind == AUCTION).select(
        auction=pw.this.first, seller=pw.this.second, category=pw.this.third, at=pw.this.at, until=pw.this.until
    )
    bid = event.filter(pw.this.kind == BID).select(
        auction=pw.this.first, bidder=pw.this.second, price=pw.this.third, channel=pw.this.name, at=pw.this.at
    )
    q0 = bid.select(pw.this.auction, pw.this.bidder, pw.this.price, pw.this.at)
    q1 = bid.select(pw.this.auction, pw.this.bidder, price=0.908 * pw.this.price, at=pw.this.at)
    q2 = bid.filter(pw.this.auction % 123 == 0).select(pw.this.auction, pw.this.price)
    western = person.filter((pw.this.state == "OR") | (pw.this.state == "ID") | (pw.this.state == "CA"))
    tenth = auction.filter(pw.this.category == 10)
    q3 = tenth.join(western, tenth.seller == western.person).select(
        western.name, western.city, western.state, tenth.auction
    )
    in_time = (
        auction.join(bid, auction.auction == bid.auction)
        .select(auction.auction, auction.category, bid.price, bid_at=bid.at, at=auction.at, until=auction.until)
        .filter((pw.this.bid_at >= pw.this.at) & (pw.this.bid_at <= pw.this.until))
    )
    final = in_time.groupby(pw.this.auction, pw.this.category).reduce(
        pw.this.category, final=pw.reducers.max(pw.this.price)
    )
    q4 = final.groupby(pw.this.category).reduce(pw.this.category, average=pw.reducers.avg(pw.this.final))
    hops = [bid.select(pw.this.auction, start=(pw.this.at // 2_000 - back) * 2_000) for back in range(5)]
    hopped = pw.Table.concat_reindex(*hops)
    counts = hopped.groupby(pw.this.auction, pw.this.start).reduce(
        pw.this.auction, pw.this.start, num=pw.reducers.count()
    )
    most = counts.groupby(pw.this.start).reduce(pw.this.start, num=pw.reducers.max(pw.this.num))
    q5 = counts.join(most, counts.start == most.start, counts.num == most.num).select(
        counts.auction, counts.start, counts.num
    )
    windowed = bid.select(
        pw.this.auction, pw.this.price, pw.this.bidder, pw.this.at, start=pw.this.at // 10_000 * 10_000
    )
    highest = windowed.groupby(pw.this.start).reduce(pw.this.start, price=pw.reducers.max(pw.this.price))
    q7 = windowed.join(highest, windowed.start == highest.start, windowed.price == highest.price).select(
        windowed.auction, windowed.price, windowed.bidder, windowed.at
    )
    new = person.select(pw.this.person, pw.this.name, start=pw.this.at // 10_000 * 10_000)
    opened = auction.select(pw.this.seller, start=pw.this.at // 10_000 * 10_000)
    sellers = opened.groupby(pw.this.seller, pw.this.start).reduce(pw.this.seller, pw.this.start)
    q8 = new.join(sellers, new.person == sellers.seller, new.start == sellers.start).select(
        new.person, new.name, new.start
    )
    return {
        "q0": (q0, q0.price),
        "q1": (q1, q1.price),
        "q2": (q2, q2.price),
        "q3": (q3, q3.auction),
        "q4": (q4, q4.average),
        "q5": (q5, q5.num),
        "q7": (q7, q7.price),
        "q8": (q8, q8.person),
    }


def read(events: int, size: int) -> list[list[dict[str, Any]]]:
    made = nexmark_events.make(events)
    rows = [nexmark_events.rows(columns) for columns in made.columns]
    commits = []
    for start in range(0, events, size):
        commit = []
        for kind, (first, last) in enumerate(made.between(start, start + size)):
            commit += [as_event(kind, row) for row in rows[kind][first:last]]
        commits.append(commit)
    return commits


def as_event(kind: int, row: tuple[Any, ...]) -> dict[str, Any]:
    event = {"kind": kind, "second": 0, "third": 0, "until": 0, "city": "", "state": ""}
    if kind == PERSON:
        number, name, city, state, at = row
        return event | {"first": number, "name": name, "city": city, "state": state, "at": at}
    if kind == AUCTION:
        number, name, seller, category, at, until = row
        return event | {
            "first": number,
            "name": name,
            "second": seller,
            "third": category,
            "at": at,
            "until": until,
        }
    number, bidder, price, channel, at = row
    return event | {"first": number, "second": bidder, "third": price, "name": channel, "at": at}


def main() -> None:
    given = json.load(sys.stdin)
    stream = Stream(read(given["events"], given["size"]), waits=given["waits"])
    event = pw.io.python.read(stream, schema=Event, autocommit_duration_ms=None)
    # Of each view the number of rows and one sum go out, and not the rows. It is a sum of whole numbers, since one of
    # fractions does not always follow where rows change and their number does not. The events are one more, so that the
    # output changes with every commit: it is only then that its end is told.
    parts = [
        table.reduce(view=name, rows=pw.reducers.count(), total=pw.reducers.sum(pw.cast(int, column)))
        for name, (table, column) in (views(event) | {"event": (event, event.at)}).items()
    ]
    pw.io.subscribe(pw.Table.concat_reindex(*parts), on_change=stream.note, on_time_end=stream.settled.put)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    total = time.perf_counter() - stream.started
    json.dump({"seconds": stream.seconds, "total": total, "found": stream.found}, sys.stdout)


if __name__ == "__main__":
    main()
