"""A program with views of every kind, and random changes to its tables, for databases that are opened again."""

from __future__ import annotations

import datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

import whence

TABLES = """
    CREATE TABLE item(id INT, ord INT, qty INT, price DOUBLE, cost DECIMAL(10, 2), tag STRING, day DATE);
    CREATE TABLE orders(ord INT PRIMARY KEY, seg STRING, tags ARRAY<STRING>);
    CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, km INT NOT NULL, PRIMARY KEY (src, dst));
    CREATE TABLE hop(src STRING NOT NULL, dst STRING NOT NULL, fee DOUBLE);
    CREATE TABLE reading(sensor INT, value DOUBLE) TBLPROPERTIES ('ttl' = '30 seconds');
"""
VIEWS = {
    "by_ord": "SELECT ord, count(*) AS n, sum(qty) AS q, sum(price) AS p, avg(cost) AS c FROM item GROUP BY ord",
    "extremes": "SELECT seg, min(qty) AS a, max(price) AS b, min(tag) AS c, max(day) AS d FROM item i "
    "JOIN orders o ON i.ord = o.ord GROUP BY seg",
    "different": "SELECT tag, count(DISTINCT ord) AS n, sum(DISTINCT price) AS p FROM item GROUP BY tag",
    "total": "SELECT count(*) AS n, sum(qty) AS q, max(tag) AS t FROM item",
    "many": "SELECT ord, sum(qty) AS q FROM item GROUP BY ord HAVING sum(qty) > 10",
    "tags": "SELECT DISTINCT tag, day FROM item WHERE qty > 2",
    "both": "SELECT ord FROM item UNION ALL SELECT ord FROM orders",
    "empty": "SELECT ord, seg FROM orders o WHERE NOT EXISTS (SELECT * FROM item i WHERE i.ord = o.ord)",
    "lost": "SELECT i.id, o.seg, o.tags FROM item i LEFT JOIN orders o ON i.ord = o.ord",
    "ranked": "SELECT id, row_number() OVER (PARTITION BY ord ORDER BY id, qty, price, cost, tag, day) AS r FROM item",
    "means": "SELECT sensor, avg(value) AS mean FROM reading GROUP BY sensor",
}
RULES = """
    reachable(x, y) :- link(x, y, _).
    reachable(x, y) :- link(x, z, _), reachable(z, y).
    meeting(x, y) :- link(x, y, _).
    meeting(x, y) :- meeting(x, z), meeting(z, y).
    near(x, y, min<c>) :- link(x, y, c).
    near(x, y, min<c + d>) :- link(x, z, c), near(z, y, d).
    cheap(x, y, min<c>) :- hop(x, y, c).
    cheap(x, y, min<c + d>) :- cheap(x, z, c), hop(z, y, d).
    two(x, y) :- reachable(x, z), near(z, y, d), d < 30.
"""


def define(db: whence.Database) -> None:
    db.execute(TABLES)
    db.advance("2026-01-01")
    for name, query in VIEWS.items():
        db.execute(f"CREATE VIEW {name} AS {query}")
    db.rules(RULES)
    # Over a recursive one.
    db.execute("CREATE VIEW degrees AS SELECT x, count(*) AS n FROM reachable GROUP BY x")


def item(chance: Random) -> tuple[Any, ...]:
    at = chance.randrange
    return (
        at(30),
        chance.choice([None, *range(12)]),
        chance.choice([None, *range(9)]),
        chance.choice([None, 0.1, 0.25, 1e-200, 1e200, 2.5]),
        chance.choice([None, Decimal("0.05"), Decimal("12.30")]),
        chance.choice([None, "", "a", "bb", "é", f"t{at(50)}"]),
        chance.choice([None, datetime.date(2026, 1, 1 + at(20))]),
    )


def change(chance: Random, present: dict[str, list[Any]]) -> list[tuple[str, str, Any]]:
    """The changes of a commit: what to do, to which table, with which rows. `present` has all rows, and follows."""
    found: list[tuple[str, str, Any]] = []
    for name in chance.sample(["item", "orders", "link", "hop", "reading"], chance.randrange(1, 4)):
        rows = present.setdefault(name, [])
        going = chance.sample(rows, min(len(rows), chance.choice([0, 1, 3, 10])))
        if name != "reading" and going:
            for row in going:
                rows.remove(row)
            found.append(("delete", name, going))
        coming = _coming(name, chance, rows)
        if coming:
            rows += coming
            found.append(("insert", name, coming))
    return found


def _coming(name: str, chance: Random, rows: list[Any]) -> list[Any]:
    count = chance.choice([0, 1, 2, 5, 40])
    if name == "item":
        return [item(chance) for _ in range(count)]
    if name == "reading":
        return [(chance.randrange(5), chance.randrange(9) / 2) for _ in range(count)]
    if name == "orders":
        keys = chance.sample(range(15), min(count, 15))
        new = [(key, chance.choice([None, "A", "B"]), chance.choice([None, ("x",), ("x", "y")])) for key in keys]
        return [row for row in new if row[0] not in {other[0] for other in rows}]
    nodes = 9
    pairs = {(chance.randrange(nodes), chance.randrange(nodes)) for _ in range(min(count, 8))}
    if name == "link":
        return [(*pair, chance.randrange(1, 20)) for pair in pairs - {row[:2] for row in rows}]
    return [(f"n{src}", f"n{dst}", chance.choice([None, 0.5, 1.0, 2.25])) for src, dst in pairs]


def commit(db: whence.Database, changes: list[tuple[str, str, Any]], *, as_arrow: bool = False) -> None:
    relations = db.catalog().relations
    with db.batch() as batch:
        for action, name, rows in changes:
            given = rows
            if as_arrow and len(rows) > 3 and name == "item":
                columns = zip(relations[name].columns, zip(*rows, strict=True), strict=True)
                given = pa.table({column.name: column.type.to_arrow(list(values)) for column, values in columns})
            (batch.insert if action == "insert" else batch.delete)(name, given)


def contents(db: whence.Database) -> dict[str, pa.Table]:
    return {name: db.table(name) for name in sorted(db.catalog().relations)}
