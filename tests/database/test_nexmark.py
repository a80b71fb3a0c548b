"""The queries of Nexmark as views, kept up to date like those of the reference engine."""

from __future__ import annotations

import random
from collections import Counter

import whence
from benchmarks import nexmark_events
from benchmarks.nexmark import TABLES
from benchmarks.nexmark_queries import QUERIES, SCHEMA
from benchmarks.nexmark_views import SIDE, given_rows


def test_all_queries_follow() -> None:
    events = nexmark_events.make(300)
    tables = [given_rows(events, kind) for kind in range(len(TABLES))]
    pick = random.Random(7)
    with whence.connect() as local, whence.connect(engine="reference") as reference:
        for db in (local, reference):
            db.execute(SCHEMA)
            db.insert("side", SIDE)
            for name, query in QUERIES.items():
                db.execute(f"CREATE VIEW {name} AS {query}")
        for start in range(0, 300, 150):
            between = events.between(start, start + 150)
            gone = {table: pick.sample(sorted(local.rows(table)), 3) if start else [] for table in TABLES}
            for db in (local, reference):
                with db.batch() as batch:
                    for table, rows, (first, last) in zip(TABLES, tables, between, strict=True):
                        batch.delete(table, gone[table])
                        batch.insert(table, rows[first:last])
            for name in QUERIES:
                found = (Counter(map(repr, db.table(name).to_pylist())) for db in (local, reference))
                assert next(found) == next(found), name
