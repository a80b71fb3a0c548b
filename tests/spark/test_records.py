"""Records in tables, views and a recursion on Spark, where they are text, as the oracle has them."""

from __future__ import annotations

from pyspark.sql import SparkSession

import whence

PROGRAM = """
    .type list = [head: number, tail: list]
    .type shape = Dot {} | Line {length: float}
    .decl l(x: list, s: shape)
    .decl m(x: list, h: number)
    m([h + 1, t], h) :- l([h, t], $Line(_)).
    .decl r(x: list, n: number)
    r(x, 0) :- m(x, _).
    r(t, n + 1) :- r([_, t], n), t != nil.
    .decl c(n: number)
    c(n) :- n = count : { m([_, [2, _]], _) }.
"""


def test_records(spark: SparkSession) -> None:
    oracle = whence.connect(engine="reference")
    with whence.connect(spark) as database:
        for each in (database, oracle):
            each.rules(PROGRAM)
            each.insert("l", [((2, (3, ())), ("Line", 1.5)), ((9, (2, ())), ("Line", 2.0)), ((), ("Dot",))])
        for step in (None, [((2, (3, ())), ("Line", 1.5))]):
            for each in (database, oracle):
                if step:
                    each.delete("l", step)
            for view in ("l", "m", "r", "c"):
                assert database.rows(view) == oracle.rows(view), view
        assert database.df("m").schema["x"].dataType.simpleString() == "string"
