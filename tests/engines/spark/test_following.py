"""Recursive components that follow changes on the cluster: the rows of the reference engine, with or without proofs."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.engines.local.recursive_driver import difference
from tests.engines.local.recursive_programs import FUNCTIONS, random_program, random_update
from tests.engines.spark.test_recursion import LIMITS, Checker, Counts, frame
from whence.analysis.analyze import Analysis, analyze
from whence.analysis.components import Component
from whence.engines.reference.evaluate import evaluate
from whence.engines.spark.payloads import SUPPORT, Codec, SupportPayload
from whence.engines.spark.recursion.build import build
from whence.engines.spark.recursion.checkpoints import CountedFrame
from whence.engines.spark.recursion.delta_rules import Parts, followed
from whence.engines.spark.recursive import refusal
from whence.engines.spark.tuple_ids import UNKNOWN
from whence.engines.spark.types import rows_from_arrow, rows_to_arrow
from whence.errors import ConvergenceError, EvaluationError
from whence.incremental.recursive.rules import Rules
from whence.incremental.store import Store
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Functions, Program
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, INT, DecimalType, Row

States = dict[str, dict[Row, tuple[int, ...]]]


def state_frame(spark: SparkSession, relation: Relation, rows: Mapping[Row, tuple[int, ...]]) -> DataFrame:
    table = rows_to_arrow(list(rows), relation).append_column("support", pa.array(rows.values(), SUPPORT))
    return spark.createDataFrame(table)


class Followers:
    """A component that is kept in both ways."""

    def __init__(self, spark: SparkSession, analysis: Analysis, component: Component, functions: Functions) -> None:
        self.spark = spark
        self.analysis = analysis
        self.component = component
        self.functions = functions
        self.states: dict[bool, States] = {}

    def begin(self, tables: Counts, *, proved: bool) -> None:
        relations = self.analysis.relations
        frames = {name: frame(self.spark, relations[name], tables[name]) for name in self.component.reads}
        built = build(self.component, relations, self.functions, frames, LIMITS, proved=proved)
        self.states[proved] = {name: self._read(name, rows.toArrow()) for name, rows in built.items()}
        self._check(tables, proved=proved)

    def follow(self, before: Counts, after: Counts, *, proved: bool) -> None:
        relations = self.analysis.relations
        changes = {name: difference(after[name], before[name]) for name in self.component.reads}
        states = self.states[proved]
        parts = Parts(
            self.spark,
            self.component,
            relations,
            self.functions,
            LIMITS,
            {name: frame(self.spark, relations[name], before[name]) for name in changes},
            {name: delta for name, delta in changes.items() if delta},
            {
                name: CountedFrame(state_frame(self.spark, relations[name], rows), len(rows))
                for name, rows in states.items()
            },
        )
        if not parts.deltas:
            return
        with followed(parts, proved=proved) as (outcomes, _):
            for name, outcome in outcomes.items():
                log = Codec(relations[name], SupportPayload(), "").decode_log(outcome.changes().toArrow())
                gone = {row for row, support in log if support is None}
                come = {row: support for row, support in log if support is not None}
                assert len(log) == len(gone) + len(come) <= outcome.changed
                assert gone <= states[name].keys()
                assert not come.keys() & (states[name].keys() - gone)
                kept = {row: support for row, support in states[name].items() if row not in gone}
                assert self._read(name, outcome.after().toArrow()) == {**kept, **come}
                seen = outcome.difference().toArrow()
                counts = dict(zip(rows_from_arrow(seen, relations[name]), seen.column("n").to_pylist(), strict=True))
                assert counts == difference(after[name], before[name])
                states[name] = {**kept, **come}
        self._check(after, proved=proved)

    def _read(self, name: str, table: pa.Table) -> dict[Row, tuple[int, ...]]:
        rows = list(Codec(self.analysis.relations[name], SupportPayload(), "").decode(table))
        assert len(dict(rows)) == len(rows)
        return dict(rows)

    def _check(self, tables: Counts, *, proved: bool) -> None:
        states = self.states[proved]
        for name, rows in states.items():
            assert dict.fromkeys(rows, 1) == tables[name], name
        if proved:
            checker = Checker(self.analysis, self.component, tables, self.functions)
            for name, rows in states.items():
                for row, support in rows.items():
                    checker.check(name, row, support)
        else:
            assert {support for rows in states.values() for support in rows.values()} <= {(UNKNOWN,)}


def follows(analysis: Analysis, component: Component, functions: Functions) -> bool:
    stores = {name: Store() for name in component.reads}
    nothing = dict.fromkeys(component.relations, lambda: 0)
    return refusal(component, Rules(component, analysis.relations, functions, stores, nothing)) is None


def play(spark: SparkSession, seed: int, updates: int) -> int:
    """Returns how many changes were followed."""
    text, analysis = random_program(seed)
    (component,) = [component for component in analysis.components if component.recursive]
    if not follows(analysis, component, FUNCTIONS):
        return 0
    rng = Random(seed)
    base: dict[str, dict[Row, int]] = {}

    def change(size: int) -> None:
        for name, delta in random_update(rng, base, size, 14).items():
            base[name] = {row: 1 for row in {**base.get(name, {}), **delta} if delta.get(row, 1) > 0}

    for _ in range(3):
        change(8)
    done = 0
    followers = Followers(spark, analysis, component, FUNCTIONS)
    try:
        tables = evaluate(analysis, base, FUNCTIONS, LIMITS)
        for proved in (True, False):
            followers.begin(tables, proved=proved)
        for _ in range(updates):
            change(4)
            before, tables = tables, evaluate(analysis, base, FUNCTIONS, LIMITS)
            for proved in (True, False):
                followers.follow(before, tables, proved=proved)
            done += 1
    except (ConvergenceError, EvaluationError):
        pass
    except AssertionError as error:
        raise AssertionError(f"seed {seed}:\n{text}\n{base}") from error
    return done


@pytest.fixture(autouse=True)
def _always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.engines.spark.recursion.delta_rules.WORTH_FOLLOWING", 1.0)


def as_if_all_were_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("changes.SMALL", "rules.SMALL", "rules.SENT", "relation.SENT", "relation.HASHED"):
        monkeypatch.setattr(f"whence.engines.spark.recursion.{place}", 0)
    monkeypatch.setattr("whence.engines.spark.recursion.checkpoints.MOST_PIECES", 2)
    monkeypatch.setattr("whence.engines.spark.supported.FEW", 0)
    monkeypatch.setattr("whence.engines.spark.supported.LISTED", 0)


@pytest.mark.parametrize(("seed", "is_large"), [(8, False), (2, True)])
def test_random_programs(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int, is_large: bool) -> None:
    if is_large:
        as_if_all_were_large(monkeypatch)
    assert play(spark, seed, 2)


def test_all_kinds_of_change_at_once(spark: SparkSession) -> None:
    """NULL is the same as NULL, copies do not count, keys of a negation meet in a wider type, and several values of a
    group rest on different rows.
    """
    program = parse_datalog("""
        best(x, y, min<c>, max<c>) :- link(x, y, c), !closed(x, _).
        best(x, y, min<c + d>, max<least(c, e)>) :- link(x, z, c), best(z, y, d, e), !closed(c, y).
    """)
    link = Relation("link", (Column("x", INT), Column("y", INT), Column("c", INT, nullable=False)))
    closed = Relation("closed", (Column("x", BIGINT), Column("y", DecimalType(12, 1))), distinct=True)
    analysis = analyze(Program((link, closed, *program.relations), program.rules))
    (component,) = [component for component in analysis.components if component.recursive]
    assert follows(analysis, component, {})
    steps: list[Counts] = [
        {
            "link": {(1, 2, 5): 2, (2, 3, 1): 1, (3, 1, 4): 1, (1, None, 2): 1, (None, 3, 7): 1, (2, 4, 3): 1},
            "closed": {(4, None): 1},
        },
        # One copy less, which changes nothing; a way through NULL is gone, another one is better in one of its values,
        # what was closed is open, and a key meets a DECIMAL.
        {
            "link": {(1, 2, 5): 1, (1, 2, 9): 1, (2, 3, 1): 1, (3, 1, 4): 1, (None, 3, 7): 1, (4, 1, 1): 1},
            "closed": {(9, Decimal("3.0")): 1, (2**40, Decimal("1.0")): 1},
        },
        # There is only less.
        {
            "link": {(1, 2, 9): 1, (2, 3, 1): 3, (3, 1, 4): 1},
            "closed": {(9, Decimal("3.0")): 1, (2**40, Decimal("1.0")): 1},
        },
    ]
    tables = [evaluate(analysis, base, {}) for base in steps]
    followers = Followers(spark, analysis, component, {})
    for proved, route in ((True, tables), (False, [tables[0], tables[2]])):
        followers.begin(route[0], proved=proved)
        for before, after in pairwise(route):
            followers.follow(before, after, proved=proved)
