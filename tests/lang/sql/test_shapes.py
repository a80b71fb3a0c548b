"""Queries of all shapes as views, under random inserts, updates and deletes, against the reference engine."""

from __future__ import annotations

import random

import pytest

import whence
from tests.lang.sql.shapes import AS_IN_SPARK, DRAWN, QUANTIFIED, TABLES
from whence.model.types import Row

PER_DATABASE = 9
QUERIES = [*AS_IN_SPARK, *QUANTIFIED]


@pytest.mark.parametrize("first", range(0, len(QUERIES), PER_DATABASE))
def test_views_follow_changes(first: int) -> None:
    pick = random.Random(first)
    queries = QUERIES[first : first + PER_DATABASE]
    with whence.connect() as local, whence.connect(engine="reference") as reference:
        for db in (local, reference):
            for name, columns in TABLES.items():
                db.execute(f"CREATE TABLE {name}({columns})")
            for number, query in enumerate(queries):
                db.execute(f"CREATE VIEW v{number} AS {query}")
        rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        for step in range(6):
            number = pick.randrange(30)
            for db in (local, reference):
                db.execute(f"UPDATE t SET x = x + 1 WHERE id = {number}")
            rows["t"] = [tuple(row.values()) for row in local.table("t").to_pylist()]
            for name, drawn in DRAWN.items():
                came = [drawn(pick, pick.randrange(30)) for _ in range(12 if step == 0 else 2)]
                gone = pick.sample(rows[name], min(len(rows[name]), 2))
                for row in gone:
                    rows[name].remove(row)
                rows[name] += came
                for db in (local, reference):
                    with db.batch() as batch:
                        batch.insert(name, came)
                        if gone:
                            batch.delete(name, gone)
            for number, query in enumerate(queries):
                found = [sorted(map(repr, db.table(f"v{number}").to_pylist())) for db in (local, reference)]
                assert found[0] == found[1], query
