"""Changes in columns on Spark come to the same as on the local engine, also after the database was opened again."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import whence
from tests.spark.inbox import Inbox
from whence.engines.spark import group_values
from whence.engines.spark.pages import Paging
from whence.errors import DataError
from whence.session.draft import TableDraft
from whence.spark import journal
from whence.spark.database import SparkDatabase

PROGRAM = """
    CREATE TABLE item(id BIGINT NOT NULL, order_id INT, quantity INT, price DOUBLE, cost DECIMAL(10, 2), name STRING{});
    CREATE TABLE orders(id INT NOT NULL, region STRING, day DATE, PRIMARY KEY (id));
    CREATE VIEW worth AS SELECT item.id, region, price * quantity AS w FROM item JOIN orders ON order_id = orders.id;
    CREATE VIEW sums AS SELECT region, count(*) AS n, sum(price) AS p, avg(cost) AS c, sum(quantity) AS q
      FROM item JOIN orders ON order_id = orders.id GROUP BY region;
    CREATE VIEW bests AS SELECT region, max(price) AS hi, min(name) AS lo, count(DISTINCT quantity) AS d
      FROM item JOIN orders ON order_id = orders.id GROUP BY region;
    CREATE VIEW totals AS SELECT count(*) AS n, max(cost) AS most FROM item;
    CREATE VIEW outer_join AS SELECT orders.id, name FROM orders LEFT JOIN item ON order_id = orders.id;
    CREATE VIEW kinds AS SELECT DISTINCT region, name FROM item JOIN orders ON order_id = orders.id;
    CREATE VIEW idle AS SELECT id FROM orders
      WHERE NOT EXISTS (SELECT * FROM item WHERE order_id = orders.id AND quantity > 3);
    CREATE VIEW reached AS WITH RECURSIVE r(x, y) AS (
      SELECT order_id, quantity FROM item UNION SELECT r.x, item.quantity FROM r JOIN item ON r.y = item.order_id)
      SELECT x, y FROM r;
"""


@pytest.fixture(autouse=True)
def few_rows_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.sources.arrow_rows.FEW_ROWS", 1)


VIEWS = ("item", "orders", "worth", "sums", "bests", "totals", "outer_join", "kinds", "idle", "reached")


class Rows:
    """What a database should have, and changes at random."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.there: dict[str, dict[int, tuple[Any, ...]]] = {"item": {}, "orders": {}}

    def new(self, table: str, key: int) -> tuple[Any, ...]:
        pick = self.chance.choice
        if table == "orders":
            return key, pick(("north", "south", None)), pick((datetime.date(2026, 1, 1), None))
        cost = None if self.chance.random() < 0.2 else Decimal(self.chance.randint(-300, 300)) / 100
        order, quantity = pick((1, 2, 3, 4, 9, None)), pick((1, 2, 4, 5, None))
        return key, order, quantity, pick((0.1, 2.5e-9, 1e10, None)), cost, pick(("a", "b", "é", None))

    def fresh(self, table: str, count: int) -> list[tuple[Any, ...]]:
        free = [key for key in range(1, 40) if key not in self.there[table]]
        return [self.new(table, key) for key in self.chance.sample(free, min(count, len(free)))]

    def some(self, table: str, count: int) -> list[tuple[Any, ...]]:
        rows = list(self.there[table].values())
        return self.chance.sample(rows, min(count, len(rows)))

    def step(self, table: str, databases: list[Any], spark: SparkSession) -> None:
        """One change to all databases; to the first one in another form."""
        kind = self.chance.choice(("insert", "insert", "delete", "keys", "upsert"))
        if kind == "insert":
            rows = self.fresh(table, self.chance.choice((1, 5, 9)))
            self.there[table].update((row[0], row) for row in rows)
        elif kind == "upsert":
            rows = self.fresh(table, 2) + [self.new(table, row[0]) for row in self.some(table, 3)]
            self.there[table].update((row[0], row) for row in rows)
        else:
            rows = self.some(table, self.chance.choice((1, 4)))
            for row in rows:
                del self.there[table][row[0]]
        if not rows:
            return
        for database in databases:
            given: Any = [(row[0],) for row in rows] if kind == "keys" else rows
            if database is databases[0] and kind != "keys" and self.chance.random() < 0.7:
                schema = database.table(table).schema
                values = zip(zip(*rows, strict=True), schema, strict=True)
                given = pa.table([pa.array(column, field.type) for column, field in values], schema=schema)
                if self.chance.random() < 0.5:
                    given = spark.createDataFrame(given)
            getattr(database, "delete" if kind == "keys" else kind)(table, given)


@pytest.mark.parametrize(("seed", "in_memory"), [(0, journal.SMALL_OVERLAY), (1, 2)])
def test_the_same_as_the_local_engine(spark: SparkSession, tmp_path: Path, seed: int, in_memory: int) -> None:
    """Parts are merged after every other commit, and the database is opened again in the end.

    Of rows that come one by one few are in memory, and of the best values of a group few are looked for.
    """
    rows = Rows(Random(seed))
    paging = Paging(whole=0, columns=2)
    with (
        whence.connect() as twin,
        mock.patch.object(journal, "FEW_SEGMENTS", 2),
        mock.patch.object(journal, "SMALL_OVERLAY", in_memory),
        mock.patch.object(group_values, "BEST_AT_ONCE", 1),
    ):
        twin.execute(PROGRAM.format(", PRIMARY KEY (id)"))
        with SparkDatabase(spark, str(tmp_path), paging=paging) as db:
            db.execute(PROGRAM.format(", PRIMARY KEY (id)"))
            for _ in range(7):
                rows.step(rows.chance.choice(("item", "item", "orders")), [db, twin], spark)
                for view in VIEWS:
                    assert db.table(view) == twin.table(view), view
                for view in ("item", "sums", "kinds"):
                    found = sorted(map(repr, map(tuple, db.df(view).collect())))
                    assert found == sorted(repr(tuple(row.values())) for row in twin.table(view).to_pylist()), view
        with SparkDatabase(spark, str(tmp_path), paging=paging) as db:
            rows.step("item", [db, twin], spark)
            for view in VIEWS:
                assert db.table(view) == twin.table(view), view


def _table(*rows: tuple[int | None, int | None]) -> pa.Table:
    return pa.table([pa.array(column, pa.int32()) for column in zip(*rows, strict=True)], ["a", "b"])


def test_what_does_not_fit_is_told_as_for_few_rows(spark: SparkSession) -> None:
    with SparkDatabase(spark, None, paging=Paging(columns=2)) as db:
        db.execute("CREATE TABLE t(a INT NOT NULL, b INT, PRIMARY KEY (a)); CREATE VIEW v AS SELECT sum(b) AS s FROM t")
        db.insert("t", _table((1, 1), (2, 2), (3, 3)))
        with pytest.raises(DataError, match="key of another row"):
            db.insert("t", _table((4, 4), (1, 7)))
        with pytest.raises(DataError, match="cannot be deleted"):
            db.delete("t", _table((1, 1), (9, 9)))
        with pytest.raises(DataError, match="NULL"):
            db.insert("t", _table((None, 4), (5, 7)))
        # The same row again is no change, and is passed over.
        assert db.insert("t", _table((1, 1), (5, 5))).inserted == {"t": 1, "v": 1}
        assert db.delete("t", _table((5, 5), (6, 6)), missing="ignore").deleted == {"t": 1, "v": 1}
        assert db.rows("v") == {(6,)}


def _commit(db: SparkDatabase, changes: list[tuple[str, str, list[tuple[int, int]]]]) -> None:
    with db.batch() as batch:
        for kind, table, rows in changes:
            getattr(batch, kind)(table, rows)


def test_batches(spark: SparkSession) -> None:
    """Rows go and come in one commit, of several tables, and what must not happen is told as row by row."""
    with SparkDatabase(spark, None, paging=Paging(whole=0, columns=2)) as db:
        db.execute("CREATE TABLE t(a INT NOT NULL, b INT, PRIMARY KEY (a)); CREATE TABLE bag(a INT, b INT)")
        db.execute("CREATE VIEW v AS SELECT t.a, t.b + bag.b AS s FROM t JOIN bag ON t.a = bag.a")
        with db.batch() as batch:
            batch.insert("t", [(1, 1), (2, 2), (3, None)])
            batch.insert("bag", _table((1, 1), (1, 1), (2, 7)))
        with mock.patch.object(TableDraft, "insert") as one_by_one, db.batch() as batch:
            batch.delete("t", [(1, 1), (2, 2)])
            batch.insert("t", [(1, 5)])
            batch.insert("t", [(2, 2), (3, None)])
            batch.delete("bag", [(1, 1)])
            batch.insert("bag", [(3, 3), (None, 4)])
        assert not one_by_one.called
        assert batch.commit is not None
        assert (batch.commit.inserted, batch.commit.deleted) == ({"t": 1, "bag": 2, "v": 2}, {"t": 1, "bag": 1, "v": 2})
        assert db.rows("v") == {(1, 6), (2, 9), (3, None)}
        wrong: list[tuple[str, list[tuple[str, str, list[tuple[int, int]]]]]] = [
            ("cannot be deleted", [("delete", "t", [(7, 7)]), ("insert", "t", [(7, 7)])]),
            ("cannot be deleted", [("delete", "bag", [(2, 7), (2, 7)]), ("insert", "bag", [(2, 7)])]),
            ("key of another row", [("delete", "t", [(1, 5)]), ("insert", "t", [(1, 6), (2, 6)])]),
            ("key of another row", [("insert", "t", [(8, 6), (8, 7)]), ("insert", "bag", [(1, 1)])]),
        ]
        for message, changes in wrong:
            with pytest.raises(DataError, match=message):
                _commit(db, changes)
        # In this order the row that is there already is no change, and then it goes.
        with db.batch() as batch:
            batch.insert("t", [(1, 5), (9, 9)])
            batch.delete("t", [(1, 5)])
        assert db.rows("t") == {(2, 2), (3, None), (9, 9)}


def test_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    """What goes makes room for what comes, in one batch."""
    inbox = Inbox(spark, tmp_path / "in", "a INT, b INT, op STRING")
    with SparkDatabase(spark, None, paging=Paging(columns=2)) as db:
        db.execute("CREATE TABLE t(a INT NOT NULL, b INT, PRIMARY KEY (a)); CREATE VIEW v AS SELECT max(b) AS s FROM t")
        db.attach("t", inbox.stream, changes="op")
        running = db.start()
        inbox.put(*({"a": a, "b": 10 * a, "op": "insert"} for a in range(1, 5)))
        running.processAllAvailable()
        inbox.put({"a": 4, "b": 40, "op": "delete"}, {"a": 4, "b": 4, "op": "insert"}, {"a": 5, "b": 5, "op": "insert"})
        running.processAllAvailable()
        assert db.rows("t") == {(1, 10), (2, 20), (3, 30), (4, 4), (5, 5)}
        assert db.rows("v") == {(30,)}
        assert "last commit: in the driver, in columns" in db.explain("v", analyze=True)
        running.stop()
