"""Recursive components built on Spark: the rows of the reference engine, and supports that are enough for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from random import Random
from typing import cast

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.engines.local.recursive_driver import analysis_of
from tests.engines.local.recursive_programs import FUNCTIONS, NODES, random_program, random_update
from whence.analysis.analyze import Analysis, analyze
from whence.analysis.components import Component
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.analysis.typed_rules import typed_rule
from whence.engines.reference.body import Table
from whence.engines.reference.evaluate import evaluate, fixpoint
from whence.engines.reference.view import NaiveFold, View, ViewRule
from whence.engines.spark.recursion.build import build, recompute
from whence.engines.spark.recursion.checkpoints import MOST_PIECES
from whence.engines.spark.tuple_ids import UNPROVED, absence_ids, row_ids
from whence.engines.spark.types import frame_schema, rows_from_arrow, rows_to_arrow
from whence.errors import ConvergenceError, EvaluationError
from whence.incremental.plan import Missing, Pattern
from whence.incremental.planner import make_plan
from whence.incremental.recursive.bests import unfounded
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Functions, Program
from whence.model.rules import Negation, Rule
from whence.model.schema import Column, Relation
from whence.model.types import DOUBLE, INT, STRING, ArrayType, DecimalType, Row, Value
from whence.planning.statistics import UNCOUNTED

Counts = Mapping[str, Mapping[Row, int]]
Supported = dict[Row, tuple[int, ...]]

LIMITS = RecursionLimits(rounds=15, rows=400)


def frame(spark: SparkSession, relation: Relation, counts: Mapping[Row, int]) -> DataFrame:
    table = rows_to_arrow(list(counts), relation).append_column("n", pa.array(counts.values(), pa.int64()))
    return spark.createDataFrame(table, frame_schema(relation).add("n", "long", False))


def built(
    spark: SparkSession,
    analysis: Analysis,
    component: Component,
    tables: Counts,
    functions: Functions,
    limits: RecursionLimits = DEFAULT_LIMITS,
) -> dict[str, Supported]:
    frames = {name: frame(spark, analysis.relations[name], tables[name]) for name in component.reads}
    found = {}
    for name, rows in build(component, analysis.relations, functions, frames, limits).items():
        table = rows.toArrow()
        supports = [tuple(support) for support in table.column("support").to_pylist()]
        listed = rows_from_arrow(table, analysis.relations[name])
        found[name] = dict(zip(listed, supports, strict=True))
        assert len(found[name]) == len(listed), "every row once"
    return found


class Checker:
    """Evaluates a component over no more than a support: its input rows, and its keys that no row has."""

    def __init__(self, analysis: Analysis, component: Component, tables: Counts, functions: Functions) -> None:
        self.component = component
        self.relations = dict(analysis.relations)
        self.inputs = {
            name: {row_ids(name, self.relations[name])(row): row for row in tables[name]} for name in component.reads
        }
        # A negated atom reads a relation of its own, which has all rows but those that the support says are absent.
        self.negated: dict[str, tuple[Pattern, Relation, list[Value]]] = {}
        values = list(dict.fromkeys(value for rows in tables.values() for row in rows for value in row))
        values += [value for value in range(NODES) if value not in values]
        rules: dict[str, list[Rule]] = {}
        signatures = {name: function.signature for name, function in functions.items()}
        for number, typed in enumerate(component.typed):
            rule = typed.rule
            body = list(rule.body)
            for step in make_plan(typed, UNCOUNTED).steps:
                if isinstance(step, Missing):
                    negation = body[step.literal]
                    assert isinstance(negation, Negation)
                    name = f"{step.pattern.relation}${number}.{step.literal}"
                    relation = self.relations[step.pattern.relation]
                    self.negated[name] = step.pattern, relation, values
                    self.relations[name] = replace(relation, name=name)
                    body[step.literal] = replace(negation, atom=replace(negation.atom, relation=name))
            rules.setdefault(rule.head.relation, []).append(replace(rule, body=tuple(body)))
        self.views = [
            View(
                self.relations[name],
                [ViewRule(typed_rule(rule, self.relations, signatures), functions) for rule in rules[name]],
            )
            for name in component.relations
        ]
        self.known: dict[tuple[int, ...], dict[str, Table]] = {}

    def check(self, name: str, row: Row, support: tuple[int, ...]) -> None:
        assert list(support) == sorted(set(support))
        if support not in self.known:
            self.known[support] = fixpoint(self.views, self.tables(frozenset(support)), LIMITS)
        rows = self.known[support][name].counts
        functions = {position: fold.function for position, fold in self.folds(name)}
        assert any(
            all(_as_good(functions.get(position), other[position], value) for position, value in enumerate(row))
            for other in rows
        ), f"{name}{row} does not follow from its support, but {list(rows)}"

    def folds(self, name: str) -> list[tuple[int, NaiveFold]]:
        (view,) = [view for view in self.views if view.name == name]
        return list(zip(view.rules[0].rule.aggregates, view.folds, strict=True))

    def tables(self, support: frozenset[int]) -> dict[str, Table]:
        tables = {
            name: Table({row: 1 for number, row in rows.items() if number in support})
            for name, rows in self.inputs.items()
        }
        for name, (pattern, relation, values) in self.negated.items():
            number_of = absence_ids(pattern, relation)
            tables[name] = Table(
                {
                    row: 1
                    for row in product(values, repeat=relation.arity)
                    if number_of(tuple(row[position] for position in pattern.positions)) not in support
                }
            )
        return tables


def _as_good(function: str | None, value: Value, other: Value) -> bool:
    match function:
        case None:
            return value == other
        case "min":
            return other is None or (value is not None and value <= other)  # type: ignore[operator]
    return other is None or (value is not None and value >= other)  # type: ignore[operator]


def check(
    spark: SparkSession,
    analysis: Analysis,
    base: Counts,
    functions: Functions,
    limits: RecursionLimits = DEFAULT_LIMITS,
) -> None:
    """Every recursive component over what the reference engine says of the relations below it."""
    tables = evaluate(analysis, base, functions, limits)
    for component in analysis.components:
        if component.recursive:
            found = built(spark, analysis, component, tables, functions, limits)
            for name, rows in found.items():
                assert dict.fromkeys(rows, 1) == tables[name], name
            if unfounded(component) is None:
                checker = Checker(analysis, component, tables, functions)
                for name, rows in found.items():
                    for row, support in rows.items():
                        checker.check(name, row, support)


def play(spark: SparkSession, seed: int) -> None:
    text, analysis = random_program(seed)
    rng = Random(seed)
    base: dict[str, dict[Row, int]] = {}
    for _ in range(4):
        for name, delta in random_update(rng, base, 8, 14).items():
            base[name] = {row: 1 for row in {**base.get(name, {}), **delta} if delta.get(row, 1) > 0}
    try:
        check(spark, analysis, base, FUNCTIONS, LIMITS)
    except ConvergenceError:
        component = next(component for component in analysis.components if component.recursive)
        tables = {name: base.get(name, {}) for name in analysis.relations}
        with pytest.raises(ConvergenceError):
            built(spark, analysis, component, tables, FUNCTIONS, LIMITS)
    except EvaluationError:
        # Of values on the way to a better one, only the reference engine sees every one.
        pass
    except AssertionError as error:
        raise AssertionError(f"seed {seed}:\n{text}\n{base}") from error


@pytest.mark.parametrize("seed", [2, 4, 6, 8, 9, 14, 18, 23])
def test_random_programs(spark: SparkSession, seed: int) -> None:
    play(spark, seed)


@pytest.mark.parametrize("seed", [3, 7, 10, 19])
def test_random_programs_as_if_all_were_large(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr("whence.engines.spark.recursion.changes.SMALL", 0)
    monkeypatch.setattr("whence.engines.spark.recursion.rules.SMALL", 0)
    monkeypatch.setattr("whence.engines.spark.recursion.relation.HASHED", 0)
    monkeypatch.setattr("whence.engines.spark.recursion.checkpoints.MOST_PIECES", 2)
    play(spark, seed)


def case(text: str, **base: Sequence[Row]) -> tuple[Analysis, dict[str, dict[Row, int]]]:
    return analysis_of(text), {name: dict.fromkeys(rows, 1) for name, rows in base.items()}


def test_values_of_all_kinds(spark: SparkSession) -> None:
    """NULL is the same as NULL, and rows are told apart by all their values."""
    columns = (
        Column("x", STRING),
        Column("y", STRING),
        Column("a", DecimalType(30, 4)),
        Column("b", ArrayType(INT)),
        Column("c", DOUBLE),
    )
    edge = Relation("edge", columns, distinct=True)
    program = parse_datalog(
        "path(x, y, a, b, c) :- edge(x, y, a, b, c). path(x, z, a, b, c) :- edge(x, y, _, _, _), path(y, z, a, b, c)."
    )
    analysis = analyze(Program((edge, *program.relations), program.rules))
    rows: list[Row] = [
        ("a", None, Decimal("1.5000"), (1, None), 0.5),
        (None, "b", None, None, None),
        ("b", "a", Decimal("1.5000"), (), -1.0),
        ("b", "ü", Decimal("-3.0000"), (1,), 2.0),
        (None, None, None, (None,), 1e300),
    ]
    check(spark, analysis, {"edge": dict.fromkeys(rows, 1)}, {})


def test_several_values_of_a_group_rest_on_different_rows(spark: SparkSession) -> None:
    analysis, base = case(
        """
        .decl link(x: number, y: number, c: number, w: number)
        best(x, y, min<c>, max<w>) :- link(x, y, c, w).
        best(x, y, min<c + d>, max<least(w, v)>) :- link(x, z, c, w), best(z, y, d, v).
        """,
        link=[(0, 1, 5, 1), (0, 1, 1, 7), (1, 2, 2, 3), (0, 2, 9, 9), (2, 0, 1, 2), (1, 2, 4, 8), (2, 2, 1, 1)],
    )
    check(spark, analysis, base, {})


def test_a_best_value_of_everything(spark: SparkSession) -> None:
    """Without groups there is one row, of NULL if nothing is there."""
    text = """
        .decl price(x: number, c: number)
        .decl raised(c: number)
        highest(max<c>) :- price(_, c).
        highest(max<d>) :- highest(c), raised(d), c > 3.
        """
    for rows in ([(1, 9), (2, 7)], []):
        analysis, base = case(text, price=rows, raised=[(12,)])
        check(spark, analysis, base, {})


def test_a_long_way(spark: SparkSession) -> None:
    """Many rounds that bring little: pieces are put together, and the memory of old ones is freed."""
    analysis, base = case(
        """
        .decl next(x: number, y: number)
        reached(0) :- next(0, _).
        reached(y) :- reached(x), next(x, y).
        """,
        next=[(number, number + 1) for number in range(25)],
    )
    (component,) = [component for component in analysis.components if component.recursive]
    frames = {"next": frame(spark, analysis.relations["next"], base["next"])}
    told: list[Mapping[str, int]] = []
    kept = len(persistent(spark))
    rows = build(component, analysis.relations, {}, frames, progress=lambda _, new: told.append(new))["reached"]
    assert told == [{"reached": 1}] * 26 + [{"reached": 0}]
    assert len(persistent(spark)) - kept <= MOST_PIECES + 2
    assert sorted(row[0] for row in rows.select("c0").collect()) == list(range(26))
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"


def persistent(spark: SparkSession) -> Mapping[int, object]:
    """What Spark keeps in memory."""
    java = spark.sparkContext._jsc  # noqa: SLF001
    return cast("Mapping[int, object]", java.getPersistentRDDs())


WORK = r"'p' does not come to an end: its rules were matched with rows more than [0-9,]+ times, and still are"


@pytest.mark.parametrize(
    ("text", "limits", "message"),
    [
        ("count(0). count(n + 1) :- count(n), go(_).", RecursionLimits(rounds=5), "after 5 rounds"),
        ("count(0). count(n + d) :- count(n), go(d).", RecursionLimits(rows=10), "more than 10 rows"),
        (
            "best(0, min<0>) :- go(_). best(x, min<c - 1>) :- best(x, c), go(x).",
            RecursionLimits(rounds=4),
            "after 4 rounds",
        ),
        ("p(x) :- go(x). p(x + y + z) :- p(x), p(y), p(z).", RecursionLimits(matches=2_000), WORK),
        # Nothing new comes of most matches.
        (
            "p(x) :- go(x). p(x + 1) :- p(x), p(y), p(z), z = x * y + 7. p(x + 9) :- p(x).",
            RecursionLimits(matches=500),
            WORK,
        ),
    ],
)
def test_a_recursion_without_end(spark: SparkSession, text: str, limits: RecursionLimits, message: str) -> None:
    analysis, base = case(f".decl go(x: number)\n{text}", go=[(number,) for number in range(4)])
    (component,) = [component for component in analysis.components if component.recursive]
    with pytest.raises(ConvergenceError, match=message) as raised:
        built(spark, analysis, component, base, {}, limits)
    assert raised.value.span is not None
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"


def test_what_is_recomputed_takes_no_more_work_than_the_rest(spark: SparkSession) -> None:
    analysis, base = case(
        ".decl go(x: number)\np(x) :- go(x). p(x + y + z) :- p(x), p(y), p(z).", go=[(number,) for number in range(4)]
    )
    (component,) = [component for component in analysis.components if component.recursive]
    frames = {name: frame(spark, analysis.relations[name], base[name]) for name in component.reads}
    with pytest.raises(ConvergenceError, match=WORK) as raised:
        recompute(
            spark,
            component,
            analysis.relations,
            {},
            frames,
            lambda _: 4,
            ConvergenceLimit(component, RecursionLimits(matches=2_000)),
        )
    assert raised.value.span is not None


def test_what_proofs_do_not_hold_for_is_recomputed(spark: SparkSession) -> None:
    """A row that is owed takes back what follows from it as often."""
    analysis, base = case(
        """
        .decl plus(x: number, y: number)
        .decl minus(x: number, y: number)
        edge(x, y) :- plus(x, y).
        -edge(x, y) :- minus(x, y).
        reach(x, y) :- edge(x, y).
        reach(x, z) :- reach(x, y), edge(y, z).
        """,
        plus=[(0, 1), (1, 2)],
        minus=[(5, 6)],
    )
    bag = {**analysis.relations, "edge": replace(analysis.relations["edge"], distinct=False)}
    program = replace(analysis.program, relations=tuple(bag.values()))
    analysis = analyze(program)
    tables = evaluate(analysis, base)
    assert tables["edge"][5, 6] == -1
    (component,) = [component for component in analysis.components if component.recursive]
    found = built(spark, analysis, component, tables, {})
    assert found == {"reach": dict.fromkeys(tables["reach"], (UNPROVED,))}
