"""Each query of Nexmark that can be a view by itself while events come, against recomputing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot

import whence
from benchmarks import duck, nexmark_events
from benchmarks.harness import Report, Stopwatch, main
from benchmarks.nexmark import SCHEMA, TABLES, VIEWS, as_arrow, as_tuples
from benchmarks.nexmark_events import Events

DAY = "date_time div 86400000"
SOLD = """
  SELECT a.id, a.seller, max(b.price) AS final, max(b.date_time) AS date_time
  FROM auction a JOIN bid b ON a.id = b.auction
  WHERE b.date_time BETWEEN a.date_time AND a.expires GROUP BY a.id, a.seller
"""
LEVELS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
RANKS = ", ".join(f"count(*) FILTER (WHERE {level}) AS rank{at}_bids" for at, level in enumerate(LEVELS, 1))
BIDDERS = ", ".join(
    f"count(DISTINCT bidder) FILTER (WHERE {level}) AS rank{at}_bidders" for at, level in enumerate(LEVELS, 1)
)
# Ties of bids are decided, so that every system has the same rows. Times are whole numbers of milliseconds.
QUERIES = {
    **{name: query for name, (query, _) in VIEWS.items()},
    "q6": f"""
      SELECT seller, avg(final) OVER (
        PARTITION BY seller ORDER BY date_time, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS average
      FROM ({SOLD}) AS sold
    """,
    "q9": """
      SELECT id, seller, auction, bidder, price, bid_time FROM (
        SELECT a.id, a.seller, b.auction, b.bidder, b.price, b.date_time AS bid_time,
          row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.bidder) AS n
        FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time AND a.expires) AS ranked
      WHERE n <= 1
    """,
    "q13": "SELECT b.auction, b.bidder, b.price, h.back FROM bid b JOIN hop h ON b.auction % 10 = h.back",
    "q14": """
      SELECT auction, bidder, CAST(0.908 AS DOUBLE) * price AS price,
        CASE WHEN price % 3 = 0 THEN 'day' ELSE 'night' END AS kind,
        length(channel) - length(replace(channel, 'c', '')) AS c_counts
      FROM bid WHERE price > 1000000
    """,
    "q15": f"SELECT {DAY} AS day, count(*) AS bids, {RANKS}, count(DISTINCT bidder) AS bidders, {BIDDERS} FROM bid "
    "GROUP BY ALL",
    "q16": f"SELECT channel, {DAY} AS day, count(*) AS bids, {RANKS}, count(DISTINCT bidder) AS bidders, {BIDDERS} "
    "FROM bid GROUP BY ALL",
    "q17": f"SELECT auction, {DAY} AS day, count(*) AS bids, {RANKS}, min(price) AS low, max(price) AS high, "
    "avg(price) AS average, sum(price) AS whole FROM bid GROUP BY ALL",
    "q18": """
      SELECT auction, bidder, price, channel, date_time FROM (
        SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC, price, channel) AS n
        FROM bid) AS ranked WHERE n <= 1
    """,
    "q19": """
      SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, bidder, date_time, channel) AS n
        FROM bid) AS ranked WHERE n <= 10
    """,
    "q20": """
      SELECT b.auction, b.bidder, b.price, b.channel, a.item_name, a.seller
      FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10
    """,
    "q21": """
      SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0'
        WHEN lower(channel) = 'google' THEN '1' WHEN lower(channel) = 'facebook' THEN '2' ELSE channel END AS channel_id
      FROM bid
    """,
}


@dataclass(frozen=True)
class Sizes:
    events: int = 100_000
    commit: int = 1_000


def run(sizes: Sizes) -> Report:
    report = Report(
        "nexmark_views",
        "Each query of Nexmark by itself",
        f"{sizes.events:,} events in commits of {sizes.commit:,}, as tuples; each of "
        f"{', '.join(sorted(QUERIES, key=_number))} is the only view of a database. DuckDB computes the query "
        "again over all events; in the end the rows are compared. q10 writes files, q11 and q12 are windows of "
        "sessions and of the clock, q22 splits a text: these are not there.",
    )
    events = nexmark_events.make(sizes.events)
    for name in sorted(QUERIES, key=_number):
        watch, recompute = _measure(events, sizes, QUERIES[name])
        report.compare(f"{name}: a commit", watch.timing, duck.NAME, recompute.timing)
        report.figure(name, sizes.events / sum(watch.seconds), "events per second")
    return report


def _number(name: str) -> int:
    return int(name[1:])


def _measure(events: Events, sizes: Sizes, query: str) -> tuple[Stopwatch, duck.Recompute]:
    watch = Stopwatch()
    translated = sqlglot.transpile(query, read="spark", write="duckdb")[0]
    with whence.connect() as db, duck.connect() as theirs:
        db.execute(SCHEMA)
        db.execute(f"CREATE VIEW v AS {query}")
        for start in range(0, sizes.events, sizes.commit):
            rows = _rows(events, start, start + sizes.commit)
            with watch, db.batch() as batch:
                for table, given in rows:
                    batch.insert(table, given)
        for kind, table in enumerate(TABLES):
            theirs.register("rows", as_arrow(events, kind, 0, len(events.places[kind])))
            theirs.execute(f"CREATE TABLE {table} AS FROM rows")
            theirs.unregister("rows")
        theirs.execute("CREATE TABLE hop AS SELECT unnest([0, 1, 2, 3, 4]) AS back")
        recompute = duck.Recompute(theirs, translated)
        for _ in range(5):
            recompute()
        duck.check_similar_rows(db, "v", theirs, translated)
    return watch, recompute


def _rows(events: Events, start: int, end: int) -> Sequence[tuple[str, list[tuple[object, ...]]]]:
    between = zip(TABLES, events.between(start, end), strict=True)
    return [
        (table, as_tuples(events, kind, first, last))
        for kind, (table, (first, last)) in enumerate(between)
        if first < last
    ]


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(events=10_000))
