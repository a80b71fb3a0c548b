"""Terms computed by Spark have the values that they have everywhere."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from random import Random

import pyspark.sql.functions as F
import pytest
from pyspark.errors import PySparkValueError
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession

from tests.engines.spark.random_terms import (
    FINE,
    RELATION,
    VALUES,
    VARIABLES,
    WIDE,
    random_call,
    random_row,
    random_term,
    units,
)
from whence.engines.spark.errors import evaluation_errors
from whence.engines.spark.expressions import ColumnTerms
from whence.engines.spark.types import arrow_frame, rows_to_arrow, spark_type, values_from_arrow
from whence.errors import EvaluationError
from whence.functions.builtin import BUILTINS
from whence.functions.evaluate import compile_term
from whence.functions.records import RECORDS
from whence.functions.types import infer
from whence.model.program import Function, Functions, Signature
from whence.model.schema import Column, Relation
from whence.model.terms import Call, Cast, Constant, Term, Variable
from whence.model.types import BIGINT, DOUBLE, INT, STRING, Row, Value

COLUMNS = {name: f"c{number}" for number, name in enumerate(RELATION.column_names, start=1)}
NUMBERED = Relation("t", (Column("number", BIGINT), *RELATION.columns))
INTEGER, DOUBLES = Variable("x1"), Variable("x3")
# The last columns of these types, wherever types that are added to the relation move them.
LAST = {column.type: Variable(column.name) for column in RELATION.columns}
OTHER_INTEGER, OTHER_DOUBLES = LAST[INT], LAST[DOUBLE]
ONE, ZERO = Constant(1, INT), Constant(0, INT)


def frame_of(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    return arrow_frame(spark, rows_to_arrow([(number, *row) for number, row in enumerate(rows)], NUMBERED))


def row(**values: Value) -> Row:
    return tuple(values.get(name) for name in RELATION.column_names)


class Outcomes:
    """What a term is for each of some rows: a value, or none because it cannot be computed."""

    def __init__(self, term: Term, rows: Sequence[Row], functions: Functions) -> None:
        self.term = term
        self.functions = functions
        signatures = {name: function.signature for name, function in functions.items()}
        evaluate = compile_term(term, VARIABLES, signatures, {name: each.python for name, each in functions.items()})
        self.kind = infer(term, VARIABLES, signatures).type
        self.values: dict[int, Value] = {}
        for number, values in enumerate(rows):
            try:
                self.values[number] = evaluate(dict(zip(RELATION.column_names, values, strict=True)))
            except EvaluationError:
                continue
        self.failing = [number for number in range(len(rows)) if number not in self.values]

    def column(self) -> SparkColumn:
        return ColumnTerms(COLUMNS, VARIABLES, self.functions).column(self.term).cast(spark_type(self.kind))


def check(
    spark: SparkSession, terms: Sequence[Term], rows: Sequence[Row], functions: Functions | None = None
) -> list[Outcomes]:
    """All values in one job. Where there is none, Spark is not asked."""
    expected = [Outcomes(term, rows, functions or {}) for term in terms]
    table = (
        frame_of(spark, rows)
        .select("c0", *(F.when(F.col("c0").isin(list(each.values)), each.column()) for each in expected))
        .toArrow()
    )
    for each, column in zip(expected, table.columns[1:], strict=True):
        found = dict(zip(table.column(0).to_pylist(), values_from_arrow(column, each.kind), strict=True))
        for number, value in each.values.items():
            # As text, which tells 0.0 from -0.0 and 1.5 from 1.50.
            assert repr(found[number]) == repr(value), (each.term, rows[number])
    return expected


# About a hundred terms each.
SEEDS = 2 + int(os.environ.get("WHENCE_EXPRESSIONS", "0")) // 1000


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_terms(spark: SparkSession, seed: int) -> None:
    chance = Random(seed)
    rows = [random_row(chance) for _ in range(60)]
    # Intervals are in no column of these rows.
    left_out = {"interval_of", "interval_units", *(each.name for each in RECORDS)}
    names = [name for name in BUILTINS if name not in left_out]
    terms = [random_call(chance, name) for name in names] + [random_term(chance) for _ in range(30)]
    outcomes = check(spark, terms, rows)
    # Spark knows that what is computed with a NULL is NULL, and does not compute the rest.
    failing = [each for each in outcomes if each.failing and "None" not in repr(each.term)]
    for each in chance.sample(failing, 5):
        number = chance.choice(each.failing)
        with pytest.raises(EvaluationError), evaluation_errors():
            frame_of(spark, rows).where(F.col("c0") == number).select(each.column()).toArrow()


def nested_sum(depth: int) -> Term:
    return DOUBLES if not depth else Call("+", (nested_sum(depth - 1), OTHER_DOUBLES))


def test_found(spark: SparkSession) -> None:
    """What once came out differently, and what is too large for Spark's own functions."""
    terms = [
        Call("abs", (Variable("x5"),)),
        Call("abs", (Variable("x6"),)),
        Call("-", (Variable("x6"),)),
        Call("/", (OTHER_INTEGER, Cast(Variable("x0"), DOUBLE))),
        Call("substring", (Constant("10", STRING), INTEGER)),
        Call("*", (DOUBLES, OTHER_DOUBLES)),
        nested_sum(40),
        Call("and", tuple(Call(">", (INTEGER, Constant(-number, INT))) for number in range(500))),
        Call("=", (Variable("x2"), Variable("x6"))),
        Call("<=>", (Variable("x2"), Variable("x6"))),
        Call("<", (Variable("x2"), Variable("x6"))),
    ]
    rows = [
        row(x1=-(2**31), x3=1.0, x5=VALUES[WIDE][-1], x2=1, x6=units(FINE, 10**30), **{OTHER_DOUBLES.name: 0.1}),
        row(x1=5, x3=0.0, x2=10**18, x6=units(FINE, 1 - 10**38), **{OTHER_DOUBLES.name: -1e-300}),
        row(x0="no number"),
    ]
    check(spark, terms, rows)


def test_nothing_fails_that_nobody_asks_for(spark: SparkSession) -> None:
    """By Spark's own functions and by Python, which computes ahead of conditions."""
    inverse = Call("/", (ONE, INTEGER))
    logarithm = Call("exp", (Call("*", (INTEGER, Constant(1000.0, DOUBLE))),))
    never = Call("/", (ONE, ZERO))
    is_zero = Call("=", (INTEGER, ZERO))
    terms = [
        Call("if", (is_zero, Constant(0.0, DOUBLE), inverse)),
        Call("coalesce", (Constant(2.0, DOUBLE), inverse)),
        Call("or", (is_zero, Call(">", (inverse, ZERO)))),
        Call("if", (Call(">", (INTEGER, ZERO)), Constant(0.0, DOUBLE), logarithm)),
        Call("if", (Call("isnull", (INTEGER,)), never, Constant(3.0, DOUBLE))),
    ]
    outcomes = check(spark, terms, [row(x1=0), row(x1=5), row(x1=-3)])
    assert not any(each.failing for each in outcomes)
    # There is no row that would need it.
    assert not frame_of(spark, []).select(Outcomes(never, [], {}).column()).toArrow().num_rows


def test_what_fails_says_why(spark: SparkSession) -> None:
    frame = frame_of(spark, [row(x1=2**31 - 1, x3=1e308, x0="abc")])
    reasons: dict[Term, str] = {
        Call("+", (INTEGER, ONE)): "does not fit",
        Call("/", (INTEGER, Call("-", (INTEGER, INTEGER)))): "division by zero",
        Call("*", (DOUBLES, DOUBLES)): "not a finite DOUBLE",
        Cast(Variable("x0"), INT): "cannot cast 'abc' to INT: it is not a whole number",
        Call("/", (ONE, ZERO)): "division by zero: 1 / 0",
        Call("fails", (INTEGER,)): "fails(2147483647) failed: ZeroDivisionError",
    }
    functions = {"fails": Function(Signature("fails", BIGINT), lambda x: x // 0)}
    for term, reason in reasons.items():
        with pytest.raises(EvaluationError, match=re.escape(reason)), evaluation_errors():
            frame.select(ColumnTerms(COLUMNS, VARIABLES, functions).column(term)).toArrow()


def test_registered_functions(spark: SparkSession) -> None:
    functions = {
        "twice": Function(Signature("twice", BIGINT), lambda x: None if x is None else 2 * x),
        "seven": Function(Signature("seven", INT), lambda: 7),
    }
    terms = [Call("+", (Call("twice", (INTEGER,)), Call("seven", ())))]
    check(spark, terms, [row(x1=4), row()], functions)


def test_other_failures_are_not_ours() -> None:
    with pytest.raises(PySparkValueError), evaluation_errors():
        raise PySparkValueError("something else")
