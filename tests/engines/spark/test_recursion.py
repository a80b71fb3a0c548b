"""Recursive components built on Spark: the rows of the reference engine, and supports that are enough for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.engines.local.recursive_driver import analysis_of
from tests.engines.local.recursive_programs import FUNCTIONS, NODES, random_program, random_update
from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.engine import reads
from whence.engines.local.recursive.moving import unfounded
from whence.engines.reference.evaluate import evaluate
from whence.engines.reference.fixpoint import DEFAULT_LIMITS, Limits, fixpoint
from whence.engines.reference.tables import Table
from whence.engines.reference.view import View, ViewRule
from whence.engines.spark.recursion import build
from whence.engines.spark.recursion.pieces import Pieces
from whence.engines.spark.tuple_ids import absence_ids, row_ids
from whence.engines.spark.types import frame_schema, rows_from_arrow, rows_to_arrow
from whence.errors import ConvergenceError, EvaluationError
from whence.incremental.body import Body
from whence.incremental.plan import Missing, Pattern
from whence.incremental.planner import make_plan
from whence.model.rules import Negation, Rule
from whence.model.schema import Relation
from whence.model.types import Row, Value

Counts = Mapping[str, Mapping[Row, int]]
Supported = dict[Row, tuple[int, ...]]

LIMITS = Limits(rounds=40, rows=400)


def frame(spark: SparkSession, relation: Relation, counts: Mapping[Row, int]) -> DataFrame:
    table = rows_to_arrow(list(counts), relation).append_column("n", pa.array(counts.values(), pa.int64()))
    return spark.createDataFrame(table, frame_schema(relation).add("n", "long", False))


def built(
    spark: SparkSession,
    analysis: Analysis,
    component: Component,
    tables: Counts,
    functions: Functions,
    limits: Limits = DEFAULT_LIMITS,
) -> dict[str, Supported]:
    frames = {name: frame(spark, analysis.relations[name], tables[name]) for name in reads(component)}
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
            name: {row_ids(name, self.relations[name])(row): row for row in tables[name]} for name in reads(component)
        }
        # A negated atom reads a relation of its own, which has all rows but those that the support says are absent.
        self.negated: dict[str, tuple[Pattern, Relation, list[Value]]] = {}
        values: list[Value] = sorted(
            {value for rows in tables.values() for row in rows for value in row} | {*range(NODES)}
        )
        rules: dict[str, list[Rule]] = {}
        signatures = {name: function.signature for name, function in functions.items()}
        for number, rule in enumerate(component.rules):
            body = list(rule.body)
            for step in make_plan(Body(rule, self.relations, signatures), lambda _: 1).steps:
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
            View(self.relations[name], [ViewRule(rule, self.relations, functions) for rule in rules[name]])
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

    def folds(self, name: str) -> list[tuple[int, object]]:
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
    spark: SparkSession, analysis: Analysis, base: Counts, functions: Functions, limits: Limits = DEFAULT_LIMITS
) -> None:
    """Every recursive component over what the reference engine says of the relations below it."""
    tables = evaluate(analysis, base, functions, limits)
    for component in analysis.components:
        if component.recursive and unfounded(component) is None:
            found = built(spark, analysis, component, tables, functions, limits)
            checker = Checker(analysis, component, tables, functions)
            for name, rows in found.items():
                assert dict.fromkeys(rows, 1) == tables[name], name
                for row, support in rows.items():
                    checker.check(name, row, support)


def play(spark: SparkSession, seed: int) -> None:
    text, analysis = random_program(seed)
    rng = Random(seed)
    base: dict[str, dict[Row, int]] = {}
    for _ in range(4):
        for name, delta in random_update(rng, base, 8, 14).items():
            base[name] = {row: 1 for row in base.get(name, {}) | delta if delta.get(row, 1) > 0}
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


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(spark: SparkSession, seed: int) -> None:
    play(spark, seed)
