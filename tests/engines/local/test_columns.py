"""Tables and views in columns hold what recomputation gives, after every commit and at every border to rows."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

import whence
from tests.engines.local.counting_programs import Generator, random_delta
from whence.analysis.analyze import Analysis
from whence.columns import numbered_rows
from whence.database.database import Database
from whence.engines.local import engine as local_engine
from whence.engines.local.engine import LocalEngine
from whence.engines.reference.evaluate import NO_FUNCTIONS, evaluate
from whence.incremental.columnar import counting, pipeline, value_folds
from whence.incremental.columnar.store import ColumnStore
from whence.model.types import Row
from whence.model.updates import Delta, Update
from whence.session.session import Session


class EngineDriver:
    """An engine, and the rows that its tables should have."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        derived = {name for component in analysis.components if component.rules for name in component.relations}
        self.base = [name for name in analysis.relations if name not in derived]
        self.stores = {name: Rows() for name in self.base}
        self.engine = LocalEngine()
        self.engine.define(analysis, NO_FUNCTIONS, Update())

    def commit(self, deltas: Mapping[str, Delta]) -> None:
        before = self.counts()
        foreseen = self.engine.foresee(Update(deltas))
        assert self.counts() == before
        changed = self.engine.apply(Update(deltas))
        assert {name: dict(delta) for name, delta in changed.items() if delta} == {
            name: dict(delta) for name, delta in foreseen.items() if delta
        }
        for name, delta in deltas.items():
            self.stores[name].add(delta)
        after = self.counts()
        for name in self.analysis.relations:
            assert _added(before[name], changed.get(name, {})) == after[name]

    def counts(self) -> dict[str, dict[Row, int]]:
        return {name: dict(self.engine.counts(name)) for name in self.analysis.relations}

    def check(self) -> None:
        tables = {name: store.counts for name, store in self.stores.items()}
        assert self.counts() == evaluate(self.analysis, tables, NO_FUNCTIONS)


class Rows:
    """The rows of a table, as a test's own dict has them."""

    def __init__(self) -> None:
        self.counts: dict[Row, int] = {}

    def add(self, delta: Delta) -> None:
        self.counts = _added(self.counts, delta)


def _added(counts: Mapping[Row, int], delta: Delta) -> dict[Row, int]:
    total = dict(counts)
    for row, change in delta.items():
        total[row] = total.get(row, 0) + change
    return {row: count for row, count in total.items() if count}


@pytest.fixture(params=[0, 6])
def border(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """In columns from the first row on, or as soon as there are a few."""
    monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", request.param)
    return int(request.param)


@pytest.mark.usefixtures("border")
@pytest.mark.parametrize("seed", range(60))
def test_counts_are_those_of_recomputation(seed: int) -> None:
    play(Random(seed))


@pytest.mark.usefixtures("border")
@pytest.mark.parametrize("seed", range(500, 530))
def test_what_is_computed_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "LEAST_RECOMPUTED", 0)
    play(Random(seed))


@pytest.mark.usefixtures("border")
@pytest.mark.parametrize("seed", range(1_000, 1_020))
def test_what_is_handled_in_parts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "MOST_BINDINGS", 2)
    monkeypatch.setattr(pipeline, "PART", 3)
    monkeypatch.setattr(numbered_rows, "LEAST_ENTERED", 1)
    monkeypatch.setattr(value_folds, "LARGE_GROUP", 2)
    play(Random(seed))


def play(chance: Random) -> None:
    driver = EngineDriver(Generator(chance).program())
    driver.check()
    for _ in range(10):
        names = chance.sample(driver.base, chance.randint(1, len(driver.base)))
        driver.commit(
            {name: random_delta(chance, driver.analysis.relations[name], driver.stores[name].counts) for name in names}
        )
        driver.check()


SHOP = """
    CREATE TABLE orders(id INT PRIMARY KEY, customer STRING, total DECIMAL(10,2));
    CREATE TABLE item(ord INT, part STRING, qty INT, price DOUBLE, day DATE);
    CREATE VIEW sold AS SELECT part, count(*) AS n, sum(qty) AS q, avg(price) AS p, min(day) AS first, max(qty) AS most,
        count(DISTINCT ord) AS orders FROM item GROUP BY part;
    CREATE VIEW spent AS SELECT o.customer, sum(i.qty * i.price) AS s, sum(o.total) AS t FROM item i
        JOIN orders o ON i.ord = o.id WHERE i.qty > 1 GROUP BY o.customer;
    CREATE VIEW missing AS SELECT ord FROM item WHERE NOT EXISTS (SELECT * FROM orders WHERE id = ord);
    CREATE VIEW names AS SELECT qty, min(part) AS a, max(part) AS z, count(DISTINCT part) AS n FROM item GROUP BY qty;
    CREATE VIEW dear AS SELECT DISTINCT part, day FROM item LEFT JOIN orders ON ord = id WHERE total IS NULL;
"""


def random_items(chance: Random, count: int) -> list[Row]:
    first = datetime.date(2026, 1, 1)
    return [
        (
            None if chance.random() < 0.1 else chance.randrange(200),
            chance.choice(("a", "b", "c", "", None)),
            None if chance.random() < 0.1 else chance.randrange(-2, 5),
            None if chance.random() < 0.1 else chance.uniform(-1, 1) * 10.0 ** chance.randint(-200, 200),
            None if chance.random() < 0.1 else first + datetime.timedelta(days=chance.randrange(-700_000, 2_000_000)),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_batches_of_all_sizes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Arrow and as tuples, in columns and in rows."""
    chance = Random(seed)
    monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", 500)
    in_columns = database(LocalEngine())
    monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", math.inf)
    in_rows = database(LocalEngine())
    for db in (in_columns, in_rows):
        db.execute(SHOP)
    there: list[Row] = []
    for size in (1, 40, 3_000, 1, 100, 1_000, 7, 10_000, 1):
        items = random_items(chance, size)
        gone = [there.pop(chance.randrange(len(there))) for _ in range(min(len(there), size // 2))]
        keys = chance.sample(range(200), min(size, 100))
        taken = {row[0] for row in in_rows.rows("orders")}
        orders: list[Row] = [(key, chance.choice("xyz"), Decimal(key).scaleb(-2)) for key in keys if key not in taken]
        old = chance.sample(sorted(in_rows.rows("orders"), key=str), min(len(taken), size // 3))
        for db in (in_columns, in_rows):
            with db.batch() as batch:
                batch.insert("item", as_arrow(db, "item", items) if size % 2 == 0 else items)
                batch.delete("orders", old)
                batch.insert("orders", orders)
            db.delete("item", as_arrow(db, "item", gone) if size % 3 == 0 else gone)
        there += items
        for name in ("orders", "item", "sold", "spent", "missing", "names", "dear"):
            assert Counter(tuples(in_columns, name)) == Counter(tuples(in_rows, name)), name
    assert (is_in_columns(in_columns, "item"), is_in_columns(in_rows, "item")) == (True, False)


def database(engine: LocalEngine) -> whence.Database:
    return Database(Session(engine))


def tuples(db: whence.Database, name: str) -> list[Row]:
    return list(zip(*db.table(name).to_pydict().values(), strict=True))


def is_in_columns(db: whence.Database, name: str) -> bool:
    return isinstance(db._session.engine._stores[name], ColumnStore)  # type: ignore[attr-defined]  # noqa: SLF001


def as_arrow(db: whence.Database, table: str, rows: list[Row]) -> pa.Table:
    columns = db.relation(table).columns
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(each, column.type.arrow()) for each, column in zip(values, columns, strict=True)]
    return pa.Table.from_arrays(arrays, [column.name for column in columns])


LEAST = -(2**63)


@pytest.mark.parametrize("row", [(LEAST, 1), (LEAST + 1, 2)])
def test_a_number_that_columns_do_not_hold(monkeypatch: pytest.MonkeyPatch, row: Row) -> None:
    """It stands for NULL there. In a table, or made by a view, it lets the database go back to rows."""
    monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", 0)
    db = whence.connect()
    db.execute("CREATE TABLE t(x BIGINT, y BIGINT)")
    db.execute("CREATE VIEW v AS SELECT x + 1 - y AS z, CAST(NULL AS STRING) AS n FROM t WHERE y > 1")
    db.insert("t", [(5, 2)])
    assert is_in_columns(db, "t")
    db.what_if(insert={"t": [row]})
    db.insert("t", [row])
    assert not is_in_columns(db, "t")
    assert row in db.rows("t")
    assert db.rows("v") == {(4, None)} | ({(LEAST, None)} if row[1] == 2 else set())
    db.delete("t", [row])
    assert db.rows("v") == {(4, None)}


def test_an_error_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", 0)
    db = whence.connect()
    db.execute("CREATE TABLE t(g INT, x INT); CREATE VIEW v AS SELECT g, sum(x) AS s, max(x) AS m FROM t GROUP BY g")
    db.execute("CREATE VIEW w AS SELECT g, 10 div (s - 3) AS d FROM v")
    db.insert("t", [(1, 1), (1, 1), (2, 7)])
    with pytest.raises(whence.EvaluationError, match="division by zero"):
        db.insert("t", [(2, 1), (1, 1), (3, 9)])
    assert db.rows("v") == {(1, 2, 1), (2, 7, 7)}
    with pytest.raises(whence.EvaluationError, match="division by zero"):
        db.execute("CREATE VIEW u AS SELECT 1 div (s - 7) AS e FROM v")
    db.insert("t", [(2, 1)])
    assert db.rows("w") == {(1, -10), (2, 2)}


def test_components_say_what_keeps_them_in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", 0)
    db = whence.connect()
    db.execute("CREATE TABLE t(x ARRAY<INT>); CREATE VIEW v AS SELECT max(x) AS m FROM t")
    db.insert("t", [((1,),), ((2,),)])
    assert db.rows("v") == {((2,),)}
    assert "row by row because of max of ARRAY<INT>" in str(db.explain("v"))
    db.execute("CREATE VIEW w AS SELECT count(*) AS n FROM t")
    assert "row by row" not in str(db.explain("w"))


def test_what_is_left_is_computed_again_where_that_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", 0)
    db = whence.connect()
    db.execute(SHOP)
    rows = random_items(Random(5), 3_000)
    db.insert("item", rows)
    said = "computed again: more rows changed than are left"
    db.delete("item", rows[:900])
    assert said not in str(db.explain("sold", analyze=True))
    db.delete("item", rows[900:2_700])
    assert said in str(db.explain("sold", analyze=True))
    twin = whence.connect(engine="reference")
    twin.execute(SHOP)
    twin.insert("item", rows[2_700:])
    for name in ("item", "sold", "spent", "missing", "names", "dear"):
        assert Counter(tuples(db, name)) == Counter(tuples(twin, name)), name


def test_the_one_group_of_a_head_without_others_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", 0)
    monkeypatch.setattr(counting, "LEAST_RECOMPUTED", 1)
    with whence.connect() as db:
        db.execute("CREATE TABLE t(x INT); CREATE VIEW n AS SELECT count(*) AS n, sum(x) AS s FROM t")
        db.insert("t", [(x,) for x in range(9)])
        db.delete("t", [(x,) for x in range(7)])
        assert db.table("n").to_pylist() == [{"n": 2, "s": 15}]
        db.delete("t", [(7,), (8,)])
        assert db.table("n").to_pylist() == [{"n": 0, "s": None}]
