"""Intervals and lambdas in views over columns, in directories, and what is refused of them."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import pytest

import whence
from whence.model.types import Row

TABLE = "CREATE TABLE t(id INT, ym INTERVAL YEAR TO MONTH, dt INTERVAL DAY TO SECOND, n INT, a ARRAY<INT>)"
VIEWS = {
    "computed": "SELECT id, ym * n AS m, dt / 2 AS h, ym > INTERVAL '1' MONTH AS c, transform(a, x -> x + n) FROM t",
    "totals": "SELECT n, sum(dt) AS s, avg(ym) AS a, min(dt) AS l, max(ym) AS g FROM t GROUP BY n",
    "pairs": "SELECT a.n, b.id FROM t a JOIN t b ON a.dt = b.dt AND a.ym = b.ym WHERE a.id < b.id",
    "kept": "SELECT DISTINCT ym, dt FROM t WHERE exists(a, x -> x = n) OR dt < INTERVAL '0' SECOND",
}


def row(pick: random.Random, number: int) -> Row:
    length = datetime.timedelta(minutes=pick.randrange(-9, 9), microseconds=pick.choice([0, 1]))
    return (
        number,
        pick.choice([None, pick.randrange(-30, 30)]),
        pick.choice([None, length, length]),
        pick.choice([None, *range(4)]),
        pick.choice([None, tuple(pick.choices([None, 1, 2], k=pick.randrange(3)))]),
    )


def test_views_over_columns_follow_changes() -> None:
    pick = random.Random(5)
    rows = [row(pick, number) for number in range(5000)]
    with whence.connect() as database, whence.connect(engine="reference") as oracle:
        database.execute(TABLE)
        database.insert("t", rows)
        for name, query in VIEWS.items():
            database.execute(f"CREATE VIEW {name} AS {query}")
        database.delete("t", rows[60:])
        database.execute("UPDATE t SET dt = dt + INTERVAL '1' MINUTE, ym = ym - INTERVAL '2' MONTH WHERE n = 1")
        oracle.execute(TABLE)
        oracle.insert("t", rows[:60])
        oracle.execute("UPDATE t SET dt = dt + INTERVAL '1' MINUTE, ym = ym - INTERVAL '2' MONTH WHERE n = 1")
        for name, query in VIEWS.items():
            oracle.execute(f"CREATE VIEW {name} AS {query}")
            assert sorted(map(repr, database.rows(name))) == sorted(map(repr, oracle.rows(name))), query


def test_definitions_are_read_again(tmp_path: Path) -> None:
    views = {
        **VIEWS,
        "nested": "SELECT id, transform(a, x -> aggregate(a, n, (s, y) -> s + y + x)) AS s FROM t",
        "constant": "SELECT transform(a, 0) AS z, array_sort(a, (l, r) -> coalesce(r, 0) - coalesce(l, 0)) FROM t",
        "inside": "SELECT transform(a, x -> x + more) AS b FROM (SELECT a, n * 2 + id AS more FROM t)",
    }
    pick = random.Random(1)
    with whence.connect(str(tmp_path)) as database:
        database.execute(TABLE)
        for name, query in views.items():
            database.execute(f"CREATE VIEW {name} AS {query}")
        database.insert("t", [row(pick, number) for number in range(9)])
        before = {name: database.rows(name) for name in views}
    with whence.connect(str(tmp_path)) as database:
        assert {name: database.rows(name) for name in views} == before
        database.insert("t", [row(pick, 10)])


def test_a_second_row_of_a_subquery_is_refused() -> None:
    with whence.connect() as database:
        database.execute("CREATE TABLE t(a INT); CREATE TABLE u(a INT, k INT)")
        database.execute("INSERT INTO t VALUES (1), (2); INSERT INTO u VALUES (7, 1), (7, 1)")
        database.execute("CREATE VIEW v AS SELECT a, (SELECT DISTINCT a FROM u WHERE k = t.a) AS x FROM t")
        assert database.rows("v") == {(1, 7), (2, None)}
        with pytest.raises(whence.EvaluationError) as caught:
            database.execute("INSERT INTO u VALUES (8, 1)")
        assert caught.value.message == "a subquery that is used as a value has 2 rows"
        assert caught.value.span is not None
        assert len(database.table("u")) == 2
        database.execute("DELETE FROM u; INSERT INTO u VALUES (8, 1)")
        assert database.rows("v") == {(1, 8), (2, None)}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("transform(a, x -> (SELECT 1))", "a subquery in a lambda is not supported"),
        ("transform(a, (x, x) -> 1)", "two parameters of this lambda have one name"),
        ("transform(a, (x, y, z) -> 1)", "a lambda of transform() has 2 parameters, not 3"),
        ("filter(a, x -> x)", "the lambda of filter() gives TRUE or FALSE, not INT"),
        ("aggregate(a, 0L, (s, x) -> 1)", "the lambda of aggregate() gives what it begins with, BIGINT, not INT"),
        ("length(x -> x)", "length(...) takes no lambda"),
        ("transform(a, x -> twice(x))", "twice() is a Python function, and a lambda cannot call it, as in Spark"),
        ("ym + dt", "'+' does not work on INTERVAL YEAR TO MONTH and INTERVAL DAY TO SECOND"),
        ("INTERVAL 2 WEEKS", "an INTERVAL of weeks or of several kinds of units has no type"),
        ("INTERVAL n DAY", "an INTERVAL of a computed number is not supported, as in Spark"),
        ("sum(dt) OVER ()", "sum of an INTERVAL over a window is not supported"),
    ],
)
def test_what_is_refused(value: str, why: str) -> None:
    with whence.connect() as database:
        database.function("twice", lambda x: 2 * x, returns="INT")
        database.execute(TABLE)
        with pytest.raises(whence.WhenceError) as caught:
            database.execute(f"CREATE VIEW v AS SELECT {value} AS x FROM t")
        assert caught.value.message == why
        assert caught.value.span is not None
