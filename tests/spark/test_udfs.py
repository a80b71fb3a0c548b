"""Functions of both sides, and a recursion that is asked for rows, on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import whence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def db(spark: SparkSession) -> Iterator[whence.Database]:
    with whence.connect(spark) as found:
        yield found


def test_functions_of_both_sides(db: whence.Database, spark: SparkSession) -> None:
    db.execute("CREATE TABLE word(w STRING)")
    db.insert("word", [("a",), (None,)])
    db.function("Shout", lambda text: None if text is None else f"{text}!", returns="STRING")
    db.function("wrong", lambda _: "no number", returns="INT")
    spark.udf.register("twice", lambda text: None if text is None else text + text)
    assert {row.x for row in spark.sql("SELECT shout(twice(w)) AS x FROM word").collect()} == {"aa!", None}
    assert db.query("SELECT twice(shout(w)) AS x FROM word WHERE w IS NOT NULL").to_pylist() == [{"x": "a!a!"}]
    with pytest.raises(whence.EvaluationError):
        db.query("SELECT wrong(w) AS x FROM word")
    with pytest.raises(whence.ParseError, match="Cannot resolve routine `nothing`"):
        db.query("SELECT nothing(w) FROM word")


def test_a_recursion_that_is_asked_for_rows(db: whence.Database) -> None:
    db.rules("""
        .decl link(x: number, y: number)
        .decl watched(x: number)
        r(x, y) :- link(x, y).
        r(x, y) :- r(x, z), r(z, y).
        v(x, y) :- watched(x), r(x, y).
        .output v
    """)
    db.insert("link", [(1, 2), (2, 3), (3, 1), (7, 8)])
    db.insert("watched", [(7,)])
    assert db.rows("v") == {(7, 8)}
    assert "v$r$bf(x, y) :- v$r$bf$magic(x), link(x, y)." in db.explain("v")
    with db.batch() as batch:
        batch.insert("watched", [(2,)])
        batch.delete("watched", [(7,)])
        batch.insert("link", [(3, 4)])
    assert db.rows("v") == {(2, 3), (2, 1), (2, 2), (2, 4)}
    db.delete("link", [(2, 3)])
    assert db.rows("v") == set()
    db.insert("link", [(2, 3)])
    proof = str(db.why("v", (2, 4)))
    assert "link(3, 4)" in proof
    assert "$" not in proof
    assert frozenset([("link", (3, 9))]) in {(found := db.why_not("v", (2, 9))).missing, *found.others}
