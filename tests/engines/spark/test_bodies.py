"""The bindings of a body: its variables, and what its atoms' frames carry along."""

from __future__ import annotations

from collections import Counter

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.engines.local.recursive_driver import analysis_of
from tests.engines.spark.views_driver import frame_of
from whence.analysis.typed_rules import typed_rule
from whence.engines.reference.body import Table
from whence.engines.reference.view import ViewRule
from whence.engines.spark.bodies import JoinStart, bindings
from whence.engines.spark.types import values_from_arrow
from whence.model.program import Function, Functions, Signature
from whence.model.rules import Atom, Negation
from whence.model.terms import Variable
from whence.model.types import BIGINT, Row

TABLES = """
.decl a(x: INT nullable, y: INT)
.decl b(x: BIGINT nullable, y: DOUBLE nullable) bag
.decl c(x: DECIMAL(38,30), y: STRING nullable)
"""
ROWS: dict[str, dict[Row, int]] = {
    "a": {(None, 1): 1, (1, 2): 1, (2, 2): 1, (3, 0): 1},
    "b": {(None, None): 2, (1, 2.0): 1, (2, 1.0): 3, (2, 2.5): 1},
    "c": {},
}
FUNCTIONS: Functions = {"twice": Function(Signature("twice", BIGINT), lambda x: None if x is None else 2 * x)}
SIGNATURES = {name: function.signature for name, function in FUNCTIONS.items()}
RULES = [
    "v(x, y) :- a(x, _), b(x, y).",
    "v(x, X) :- a(x, y), a(X, y), x != X.",
    "v(x, z) :- a(x, y), y != 0, z = x / y, z > 0.6.",
    "v(x, y) :- a(x, y), a(y, x + 1).",
    "v(y, x) :- a(x, y), b(y, y).",
    "v(x, y) :- a(x, y), b(twice(x), _).",
    "v(x, y) :- a(x, y), !b(x, _).",
    "v(x, y) :- a(x, y), !b(twice(x), y).",
    "v(x, y) :- a(x, y), !c(_, _), !c(x, _), !b(_, x).",
    "v(x, y) :- a(x, y), b(z, _), x <=> z, y < 2.",
    "v(2, t) :- t = 3, !a(t, t).",
    "v(1, 2).",
]


@pytest.mark.parametrize("text", RULES)
def test_bindings_are_those_of_the_reference_engine(spark: SparkSession, text: str) -> None:
    analysis = analysis_of(TABLES + text, FUNCTIONS)
    (rule,) = analysis.program.rules
    frames = {name: frame_of(spark, analysis.relations[name], rows) for name, rows in ROWS.items()}
    atoms = {number: frames[literal.relation] for number, literal in enumerate(rule.body) if isinstance(literal, Atom)}
    negations: dict[int, DataFrame] = {
        number: frames[literal.atom.relation].where("n > 0")
        for number, literal in enumerate(rule.body)
        if isinstance(literal, Negation)
    }
    typed = typed_rule(rule, analysis.relations, SIGNATURES)
    head = [(term, column.type) for term, column in zip(rule.head.terms, analysis.relations["v"].columns, strict=True)]
    expected: Counter[str] = Counter()
    tables = {name: Table(rows) for name, rows in ROWS.items()}
    for row, (_, count) in ViewRule(typed, FUNCTIONS).bindings(tables):
        expected[repr(row)] += count
    for first in (None, *atoms):
        found = bindings(typed, atoms, negations, FUNCTIONS, JoinStart(first=first))
        assert {f"a{number}_n" for number in atoms} <= set(found.frame.columns)
        table = found.frame.select(
            *(found.column(term, kind).alias(f"h{position}") for position, (term, kind) in enumerate(head)),
            *(F.col(f"a{number}_n") for number in atoms),
        ).toArrow()
        rows = zip(*(values_from_arrow(table.column(i), kind) for i, (_, kind) in enumerate(head)), strict=True)
        counts: Counter[str] = Counter()
        for row, binding in zip(rows, table.to_pylist(), strict=True):
            count = 1
            for number in atoms:
                count *= binding[f"a{number}_n"]
            counts[repr(row)] += count
        assert counts == expected, first


def test_variables_that_differ_in_case_only(spark: SparkSession) -> None:
    analysis = analysis_of(TABLES + "v(x, X) :- a(x, X).", FUNCTIONS)
    (rule,) = analysis.program.rules
    frame = frame_of(spark, analysis.relations["a"], {(1, 2): 1})
    found = bindings(typed_rule(rule, analysis.relations, SIGNATURES), {0: frame}, {}, FUNCTIONS)
    assert found.frame.select(found.column(Variable("x")), found.column(Variable("X"))).collect() == [(1, 2)]


def test_frames_carry_any_columns_along(spark: SparkSession) -> None:
    analysis = analysis_of(TABLES + "v(x) :- a(x, y), a(y, _).", FUNCTIONS)
    (rule,) = analysis.program.rules
    frame = frame_of(spark, analysis.relations["a"], {(1, 2): 1, (2, 5): 1}).withColumn("support", F.array("c1"))
    found = bindings(typed_rule(rule, analysis.relations, SIGNATURES), {0: frame, 1: frame}, {}, FUNCTIONS)
    row = found.frame.select("a0_support", "a1_support", "a0_n").collect()
    assert row == [([2], [5], 1)]


def test_starting_from_values(spark: SparkSession) -> None:
    """A variable that is defined as NULL is found by NULL."""
    analysis = analysis_of(TABLES + "v(x, z) :- a(x, y), z = x + y.", FUNCTIONS)
    (rule,) = analysis.program.rules
    frame = frame_of(spark, analysis.relations["a"], ROWS["a"])
    wanted = spark.createDataFrame([(None, None), (1, 3), (2, 5)], "x INT, z INT")
    start = JoinStart(bound=("x", "z"), given=wanted)
    found = bindings(typed_rule(rule, analysis.relations, SIGNATURES), {0: frame}, {}, FUNCTIONS, start)
    rows = found.frame.select(
        found.column(Variable("x")), found.column(Variable("y")), found.column(Variable("z"))
    ).collect()
    assert {tuple(row) for row in rows} == {(None, 1, None), (1, 2, 3)}


@pytest.mark.parametrize(
    ("negation", "expected"),
    [
        ("!b(x, _)", {(1, 2)}),
        ("!b(x + 1, y)", {(1, 2)}),
        ("!b(_, y)", {(1, 2), (2, 2), (3, 0)}),
        ("!b(_, _)", set[tuple[int, int]]()),
    ],
)
def test_starting_from_a_negation(spark: SparkSession, negation: str, expected: set[tuple[int, int]]) -> None:
    """Rows that went stand against bindings only where no other row does."""
    analysis = analysis_of(TABLES + f"v(x, y) :- a(x, y), {negation}.", FUNCTIONS)
    (rule,) = analysis.program.rules
    relations = analysis.relations
    frame = frame_of(spark, relations["a"], ROWS["a"])
    gone = frame_of(spark, relations["b"], {(1, 7.0): 1, (2, 1.5): 1, (2, 2.0): 1, (9, 0.0): 1})
    there = frame_of(spark, relations["b"], {(2, 1.0): 1})
    found = bindings(
        typed_rule(rule, relations, SIGNATURES), {0: frame}, {1: there}, FUNCTIONS, JoinStart(first=1, given=gone)
    )
    rows = found.frame.select(found.column(Variable("x")), found.column(Variable("y"))).collect()
    assert {tuple(row) for row in rows} == expected
    assert len(rows) == len(expected)
