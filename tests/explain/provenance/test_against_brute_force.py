"""Supports, critical rows, cuts and probabilities are those that trying all subsets of base rows gives."""

from __future__ import annotations

from random import Random

import pytest

from tests.engines.local.recursive_programs import FUNCTIONS, TABLES
from tests.explain.proofs.worlds import recursive_engine
from tests.explain.provenance.brute import World
from whence.analysis.analyze import Analysis
from whence.engines.local.engine import LocalEngine
from whence.explain.proofs.backwards import Backwards
from whence.explain.provenance.cut import smallest_cut
from whence.explain.provenance.probability import probability
from whence.explain.provenance.provenance import Weighing, critical

MOST_ROWS = 9


def world_of(engine: LocalEngine, analysis: Analysis) -> World:
    tables = {name: dict(engine.counts(name)) for name in TABLES if name in analysis.relations}
    return World(analysis, tables, FUNCTIONS)


@pytest.mark.parametrize("maintenance", ["auto", "dred"])
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_recursive_programs(first: int, maintenance: str) -> None:
    for seed in range(first, first + 20):
        text, engine, analysis = recursive_engine(seed, maintenance, size=4, steps=3)
        world = world_of(engine, analysis)
        if len(world.facts) > MOST_ROWS:
            continue
        try:
            compare(engine, analysis, world, Random(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}:\n{text}\n{world.facts}") from error


def compare(engine: LocalEngine, analysis: Analysis, world: World, rng: Random) -> int:
    """Every row whose derivations tell all; how many there are."""
    backwards = Backwards(engine.evidence())
    number = 0
    for relation in {rule.head.relation: None for rule in analysis.program.rules}:
        for row in sorted(engine.counts(relation), key=repr):
            weighing = Weighing(backwards, (relation, row))
            supports = weighing.supports(None)
            assert supports.complete and [*map(len, supports)] == sorted(map(len, supports))
            for support in supports:
                assert not weighing.cone.is_exact or world.holds(weighing.root, support)
            if not weighing.cone.is_exact:
                continue
            number += 1
            assert set(supports) == world.minimal_supports(weighing.root)
            assert weighing.supports(2) == supports[:2]
            candidates = [*supports[0]] if supports else []
            assert critical(weighing.cone, weighing.root, candidates) == world.critical(weighing.root)
            cut = smallest_cut(weighing.cone, weighing.root, weighing.watch())
            assert (None if cut is None else len(cut)) == world.smallest_cut(weighing.root)
            assert cut is None or not world.holds(weighing.root, set(world.facts) - cut)
            chances = {fact: rng.choice((0.0, 0.25, 0.5, 0.9, 1.0)) for fact in world.facts if rng.random() < 0.8}
            found = probability(weighing.cone, weighing.root, chances, lambda _: pytest.fail("no trial"), 1.0)
            assert found.exact and found.value == pytest.approx(world.probability(weighing.root, chances))
    return number
