"""Proofs with changes that have not happened are proofs of what is there once they have."""

from __future__ import annotations

from random import Random

import pytest

from tests.engines.local.recursive_programs import FUNCTIONS, TABLES, random_update
from tests.explain.proofs.checker import Checker
from tests.explain.proofs.worlds import LIMITS, counted_engine, recursive_engine
from whence.analysis.analyze import Analysis
from whence.engines.local.engine import LocalEngine
from whence.errors import ConvergenceError, EvaluationError
from whence.explain.hypothetical.contents import Supposed
from whence.explain.hypothetical.history import proof_supposing
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.prover import prove
from whence.model.program import Functions
from whence.model.types import Row
from whence.model.updates import Delta, Update

BLOCK = 10


@pytest.mark.parametrize("first", range(0, 60, BLOCK))
def test_recursive_programs(first: int) -> None:
    for seed in range(first, first + BLOCK):
        text, engine, analysis = recursive_engine(seed, "auto")
        base = {name: dict(engine.counts(name)) for name in TABLES if name in analysis.relations}
        update = random_update(Random(seed), base, 4, 10)
        known = {name: delta for name, delta in update.items() if name in analysis.relations}
        try:
            compare(engine, analysis, FUNCTIONS, known)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}:\n{text}\n{known}") from error


@pytest.mark.parametrize("first", range(0, 40, BLOCK))
def test_programs_without_recursion(first: int) -> None:
    for seed in range(first, first + BLOCK):
        engine, analysis = counted_engine(seed)
        rng = Random(seed)
        tables = {name: engine.counts(name) for name in analysis.relations}
        heads = {rule.head.relation for rule in analysis.program.rules}
        gone: dict[str, dict[Row, int]] = {
            name: {row: -count for row, count in counts.items() if rng.random() < 0.4}
            for name, counts in tables.items()
            if name not in heads
        }
        compare(engine, analysis, {}, {name: delta for name, delta in gone.items() if delta})


def compare(engine: LocalEngine, analysis: Analysis, functions: Functions, update: dict[str, Delta]) -> None:
    try:
        foreseen = engine.foresee(Update(update))
    except (ConvergenceError, EvaluationError):
        return
    supposed = Supposed(engine.evidence(), {name: dict(delta.items()) for name, delta in foreseen.items()})
    backwards = Backwards(supposed)
    found = {}
    engine.apply(Update(update))
    after = {name: dict(engine.counts(name)) for name in analysis.relations}
    engine.apply(Update({name: {row: -change for row, change in delta.items()} for name, delta in update.items()}))
    for relation, rows in after.items():
        for row, count in rows.items():
            assert supposed.contents(relation).count(row) == count
            if count > 0 and not backwards.is_table(relation):
                found[relation, row] = prove(backwards, [(relation, row)], LIMITS)
        assert {row for row, count in supposed.contents(relation).matching((), ()).items() if count} == set(rows)
    checker = Checker(analysis, functions, after.__getitem__)
    for fact, reasons in found.items():
        checker.check([fact], {each: (r.kind.value, r.count, r.derivations) for each, r in reasons.items()})


def test_a_row_that_is_not_there() -> None:
    _, engine, analysis = recursive_engine(1, "auto")
    view = analysis.program.rules[0].head.relation
    arity = len(analysis.relations[view].columns)
    assert proof_supposing(engine.evidence(), {}, (view, (99,) * arity)) is None
