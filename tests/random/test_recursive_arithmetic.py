"""Recursions that compute: the same numbers and types in every engine, and in Spark's own WITH RECURSIVE.

`WHENCE_RECURSIONS=2000` looks at as many programs instead of a few, and says what came of them.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from random import Random
from typing import TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import whence
from tests.random.recursive_arithmetic import Recursion, random_recursion
from whence.errors import EvaluationError, TypeMismatchError, UnsupportedError, WhenceError
from whence.lab.strategies import connect

Outcome: TypeAlias = "str | tuple[list[str], set[tuple[object, ...]]]"

CASES = int(os.environ.get("WHENCE_RECURSIONS", "0"))


def outcome(program: Recursion, db: whence.Database) -> Outcome:
    """The types and rows of the view, or why there are none."""
    try:
        db.execute(program.tables)
        db.insert("seed", program.seed)
        db.insert("step", program.step[: len(program.step) // 2])
        db.execute(f"CREATE VIEW v AS {program.query()}")
        db.insert("step", program.step[len(program.step) // 2 :])
        return [column.type.name for column in db.catalog().relations["v"].columns], set(db.rows("v"))
    except (EvaluationError, TypeMismatchError, UnsupportedError) as error:
        return type(error).__name__
    finally:
        db.close()


def test_engines_agree() -> None:
    tally = Counter[str]()
    for number in range(CASES or 24):
        program = random_recursion(Random(number), best=number % 3 == 0)
        expected = outcome(program, whence.connect(engine="reference"))
        for maintenance in ("auto", "dred", "eager", "recompute"):
            assert outcome(program, connect(maintenance)) == expected, (maintenance, program)
        tally[expected if isinstance(expected, str) else "rows"] += 1
    sys.stdout.write(f"{dict(tally)}\n")
    assert tally["rows"] >= (CASES or 24) // 4
    assert tally["EvaluationError"]


def test_spark_computes_the_same(spark: SparkSession) -> None:
    tally = Counter[str]()
    for number in range(CASES or 12):
        program = random_recursion(Random(number))
        expected, ours = in_spark(spark, program), outcome(program, whence.connect())
        if expected != ours and not (ours == "EvaluationError" and not_finite(program)):
            raise AssertionError(f"{program}\nSpark: {expected}\nwhence: {ours}")
        tally[ours if isinstance(ours, str) else "rows"] += 1
    sys.stdout.write(f"{dict(tally)}\n")
    assert tally["rows"]


def in_spark(spark: SparkSession, program: Recursion) -> Outcome:
    for name, kinds, rows in (
        ("seed", f"n INT, x {program.seed_type}", program.seed),
        ("step", f"a INT, b INT, w {program.step_type}", program.step),
    ):
        spark.createDataFrame(rows, kinds).createOrReplaceTempView(name)
    try:
        frame = spark.sql(program.query("UNION ALL"))
    except (PySparkException, Py4JJavaError):  # a recursion that is wider than its start is an internal error in Spark
        return "TypeMismatchError"
    try:
        return [kind.upper() for _, kind in frame.dtypes], {tuple(row) for row in frame.collect()}
    except PySparkException:
        return "EvaluationError"


def not_finite(program: Recursion) -> bool:
    """Whether the error is about a value that Spark has and whence does not: NaN or an infinity."""
    try:
        db = whence.connect()
        db.execute(program.tables)
        db.insert("seed", program.seed)
        db.insert("step", program.step)
        db.execute(f"CREATE VIEW v AS {program.query()}")
    except WhenceError as error:
        return "finite" in str(error)
    return False
