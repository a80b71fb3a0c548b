"""Engines with random programs and rows, and proofs of everything that is in them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from tests.engines.local.counting_programs import Generator, random_value
from tests.engines.local.recursive_programs import FUNCTIONS, random_program, random_update
from tests.explain.proofs.checker import Checker
from whence.analysis.analyze import Analysis
from whence.analysis.limits import RecursionLimits as Rounds
from whence.engines.local.engine import LocalEngine
from whence.errors import ConvergenceError, EvaluationError
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.prover import Steps, prove
from whence.explain.proofs.reasons import Fact, ProofLimits
from whence.lab.strategies import STRATEGIES
from whence.model.program import Functions
from whence.model.types import Row
from whence.model.updates import Delta, Update

LIMITS = ProofLimits(members=10**6, steps=10**6)


def recursive_engine(seed: int, maintenance: str, size: int = 14, steps: int = 6) -> tuple[str, LocalEngine, Analysis]:
    """A random recursive program after a few changes, some of which fail and are taken back."""
    rng = Random(seed)
    text, analysis = random_program(seed)
    engine = LocalEngine(maintenance, Rounds(rounds=40, rows=400), STRATEGIES)
    engine.define(analysis, FUNCTIONS, Update())
    base: dict[str, dict[Row, int]] = {}
    for _ in range(steps):
        update = random_update(rng, base, rng.choice((1, 3, 8)), size)
        try:
            engine.apply(Update(update))
        except (ConvergenceError, EvaluationError):
            continue
        for name, delta in update.items():
            rows = base.setdefault(name, {})
            rows.update(delta)
            base[name] = {row: count for row, count in rows.items() if count > 0}
    return text, engine, analysis


def counted_engine(seed: int) -> tuple[LocalEngine, Analysis]:
    """A random program without recursion: bags and sets, negation, aggregates, rules that take away."""
    chance = Random(seed)
    while True:
        analysis = Generator(chance).program()
        engine = LocalEngine()
        try:
            engine.define(analysis, {}, Update())
            engine.apply(Update(_rows(chance, analysis)))
        except EvaluationError:
            continue
        return engine, analysis


def _rows(chance: Random, analysis: Analysis) -> Mapping[str, Delta]:
    views = {rule.head.relation for rule in analysis.program.rules}
    found: dict[str, Delta] = {}
    for name, relation in analysis.relations.items():
        if name in views:
            continue
        rows: dict[tuple[object, ...], Row] = {}
        for _ in range(chance.randint(0, 6)):
            row = tuple(random_value(chance, column) for column in relation.columns)
            key = tuple(row[relation.column_names.index(each)] for each in relation.key) or row
            rows[key] = row
        found[name] = {row: 1 if relation.distinct or relation.key else chance.randint(1, 2) for row in rows.values()}
    return found


def prove_everything(engine: LocalEngine, analysis: Analysis, functions: Functions) -> int:
    """Every row of every view has a proof that the checker accepts, and that can be shown; how many there are."""
    backwards = Backwards(engine.evidence())
    checker = Checker(analysis, functions, engine.counts)
    number = 0
    for relation in {rule.head.relation: None for rule in analysis.program.rules}:
        for row, count in engine.counts(relation).items():
            if count > 0:
                number += 1
                _prove(backwards, checker, (relation, row))
    return number


def _prove(backwards: Backwards, checker: Checker, fact: Fact) -> None:
    reasons = prove(backwards, [fact], LIMITS)
    checker.check([fact], {each: (r.kind.value, r.count, r.derivations) for each, r in reasons.items()})
    (root,) = Steps(reasons, backwards).roots([fact])
    assert all(step.label for step in root.walk())
