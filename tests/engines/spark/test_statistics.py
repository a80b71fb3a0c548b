"""Aggregates of all values of a group: what Spark says of the same rows, and what views on Spark say."""

from __future__ import annotations

import math

from pyspark.sql import SparkSession

import whence

ROWS = [
    ("a", 1, 0.5), ("a", 2, 1.5), ("a", 2, 2.5), ("a", 7, None), ("a", None, 4.0),
    ("b", 3, 1.0), ("b", 3, 2.0), ("b", 4, 2.5), ("c", 5, 1.0), ("d", None, None),
]  # fmt: skip
AGGREGATES = (
    *("stddev(x)", "stddev_pop(x)", "variance(y)", "var_pop(y)", "skewness(x)", "kurtosis(x)", "median(y)"),
    *("percentile(x, 0.25)", "percentile_cont(0.75) WITHIN GROUP (ORDER BY y)", "mode() WITHIN GROUP (ORDER BY x)"),
    *("covar_pop(x, y)", "covar_samp(x, y)", "regr_slope(y, x)", "regr_intercept(y, x)", "regr_count(y, x)"),
    *("regr_avgx(y, x)", "regr_sxx(y, x)", "regr_sxy(y, x)", "bit_and(x)", "bit_or(x)", "bit_xor(x)"),
    *("count_if(x > 2)", "bool_and(x > 1)", "some(y > 2)", "sort_array(collect_list(x))", "sort_array(collect_set(x))"),
    *("stddev(x) FILTER (WHERE y > 1)", "count(DISTINCT x)", "listagg(DISTINCT k)"),
)
QUERY = f"SELECT k, {', '.join(f'{text} AS c{place}' for place, text in enumerate(AGGREGATES))} FROM t GROUP BY k"


def _same(ours: object, theirs: object) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-15)
    return ours == (tuple(theirs) if isinstance(theirs, list) else theirs)


def test_as_spark_says(spark: SparkSession) -> None:
    session = spark.newSession()
    session.createDataFrame(ROWS, "k STRING, x INT, y DOUBLE").createOrReplaceTempView("t")
    theirs = {row[0]: list(row) for row in session.sql(QUERY).collect()}
    with whence.connect() as database:
        database.execute(f"CREATE TABLE t(k STRING, x INT, y DOUBLE); CREATE VIEW v AS {QUERY}")
        database.insert("t", ROWS)
        ours = {row[0]: list(row) for row in database.rows("v")}
    assert ours.keys() == theirs.keys()
    for key, values in ours.items():
        for text, mine, other in zip(("k", *AGGREGATES), values, theirs[key], strict=True):
            assert _same(mine, other), f"{text} of {key!r}: {mine!r}, in Spark {other!r}"


def test_on_spark(spark: SparkSession) -> None:
    with whence.connect(spark) as database, whence.connect(engine="reference") as oracle:
        for each in (database, oracle):
            each.execute("CREATE TABLE t(k STRING, x INT, y DOUBLE)")
            each.insert("t", ROWS)
            each.execute("CREATE VIEW v AS SELECT k, stddev(x), collect_list(x), listagg(DISTINCT k) FROM t GROUP BY k")
        assert database.rows("v") == oracle.rows("v")
        for each in (database, oracle):
            each.delete("t", ROWS[:3])
            each.insert("t", [("c", 6, 1.0), ("e", 1, None)])
        assert database.rows("v") == oracle.rows("v")
