"""Nothing that the parser finds is passed over."""

from __future__ import annotations

import pytest
from sqlglot import exp

import whence
from whence.lang.sql.refuse import PARTS
from whence.model.types import Row


@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
def test_what_is_read_is_what_the_parser_can_set(kind: type[exp.Expr]) -> None:
    assert PARTS[kind] <= kind.arg_types.keys()


def view(query: str) -> set[Row]:
    db = whence.connect()
    db.execute("""
      CREATE TABLE t(a INT, b INT);
      CREATE TABLE u(a INT, c INT);
      INSERT INTO t VALUES (1, 2), (2, 3);
      INSERT INTO u VALUES (1, 5), (3, 7);
    """)
    db.execute(f"CREATE VIEW v AS {query}")
    return db.rows("v")


def test_a_query_of_with_hides_one_of_another_letter_case() -> None:
    inner = "WITH X AS (SELECT c FROM u) SELECT c AS a FROM x"
    assert view(f"WITH x AS (SELECT a FROM t) SELECT a FROM ({inner}) q") == {(5,), (7,)}
    assert view(f"WITH x AS (SELECT 9 AS c), X2 AS ({inner}) SELECT a FROM x2") == {(5,), (7,)}


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT max(c) + t.a AS m FROM u", {(1, 8), (2, 9)}),
        ("SELECT max(c) + t.a AS m FROM u UNION ALL SELECT max(c) FROM u WHERE u.a = t.b", {(1, 8), (2, 9)}),
        ("SELECT count(c) + t.a AS m FROM u WHERE c > 9 UNION ALL SELECT count(*) FROM u", {(1, 2), (2, 2)}),
    ],
)
def test_aggregates_beside_outer_columns(query: str, rows: set[tuple[int, int]]) -> None:
    assert view(f"SELECT a, (SELECT max(m) FROM ({query}) q) AS m FROM t") == rows
    found = {a for a, m in rows if m == 8}
    assert {a for (a,) in view(f"SELECT a FROM t WHERE 8 IN (SELECT max(m) FROM ({query}) q)")} == found


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a AS x FROM t ORDER BY x, t.b DESC, a + b, 1",
        "SELECT DISTINCT a, b FROM t ORDER BY a + b",
        "SELECT * FROM t ORDER BY b NULLS LAST",
        "(SELECT a FROM t) ORDER BY b",
        "SELECT a FROM t UNION SELECT c FROM u ORDER BY a",
        "SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY n, a, max(b) - 1",
        "SELECT max(b) AS m FROM t ORDER BY m",
        "WITH x AS (SELECT a FROM t ORDER BY b) SELECT a FROM x",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 AS one FROM u WHERE u.a = t.a ORDER BY t.b)",
    ],
)
def test_an_order_that_makes_sense_is_ignored(query: str) -> None:
    without = query.partition(" ORDER BY ")[0] + (")" if query.startswith("SELECT a FROM t WHERE") else "")
    if "WITH" not in query:
        assert view(query) == view(without)
    assert view(query)
