"""Questions to what the Spark engine does in the driver, over bases that are paged in: random programs, and the answers
compared with what trying everything gives.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from random import Random

import pytest

from tests.engines.local.recursive_driver import added
from tests.engines.local.recursive_programs import FUNCTIONS, TABLES, random_program, random_update
from tests.engines.spark.simulated import SimulatedEngine, ToClusterError
from tests.explain.proofs.checker import Checker
from tests.explain.proofs.worlds import LIMITS
from tests.explain.provenance.brute import World
from whence.analysis.analyze import Analysis
from whence.engines import engine as engines
from whence.engines.local.engine import LocalEngine
from whence.engines.reference.evaluate import evaluate
from whence.engines.spark.evidence import SparkEvidence
from whence.engines.spark.pages import Paging
from whence.engines.spark.tuple_ids import row_ids
from whence.errors import UnsupportedError, WhenceError
from whence.explain.hypothetical.contents import DatabaseContents
from whence.explain.hypothetical.dependents import dependents
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.prover import prove
from whence.explain.provenance.cut import smallest_cut
from whence.explain.provenance.probability import probability
from whence.explain.provenance.provenance import Weighing, critical
from whence.model.types import Row
from whence.model.updates import Delta, Update

BLOCK = 24
MOST_ROWS = 8


class Evidence(SparkEvidence):
    """Rows are found by their numbers without a job."""

    def __init__(self, engine: SimulatedEngine, analysis: Analysis) -> None:
        super().__init__(engine, analysis, FUNCTIONS)
        self._simulated = engine

    def _fetch_with_ids(self, name: str, ids: Collection[int]) -> list[Row]:
        number = row_ids(name, self.analysis.relations[name])
        return [row for row, count in self._simulated.seen(name).items() if count > 0 and number(row) in ids]


def grown(seed: int, size: int) -> tuple[SimulatedEngine, Analysis, dict[str, dict[Row, int]]]:
    """A random program after a few changes, with some bases in memory and others not."""
    rng = Random(seed)
    _, analysis = random_program(seed)
    engine = SimulatedEngine(Paging(whole=rng.choice((0, 0, 3, 1000))), rng.choice(("auto", "auto", "dred")))
    engine.define(analysis, FUNCTIONS, Update())
    base: dict[str, dict[Row, int]] = {}
    for _ in range(3):
        update = random_update(rng, base, rng.choice((1, 3, 6)), size)
        try:
            engine.apply(Update(update))
        except WhenceError:
            continue
        base.update((name, dict(added(base.get(name, {}), delta))) for name, delta in update.items())
        for name in list(engine.registry.names()):
            if rng.random() < 0.6:
                engine.compact(name)
    return engine, analysis, base


@pytest.mark.parametrize("first", range(0, 144, BLOCK))
def test_answers_are_those_of_trying_everything(first: int) -> None:
    asked = followed = 0
    for seed in range(first, first + BLOCK):
        try:
            engine, analysis, base = grown(seed, size=4)
            rows = evaluate(analysis, base, FUNCTIONS)
            asked += compare(engine, analysis, base, rows, seed)
            followed += follow_dependents(engine, analysis, base, Random(seed))
            foresee(engine, analysis, base, rows, Random(seed))
        except ToClusterError:
            continue
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
    assert asked > BLOCK
    assert followed > BLOCK / 2


def compare(
    engine: SimulatedEngine,
    analysis: Analysis,
    base: Mapping[str, Delta],
    rows: Mapping[str, Mapping[Row, int]],
    seed: int,
) -> int:
    """Proofs, and what rows rest on; returns of how many rows."""
    backwards = Backwards(Evidence(engine, analysis))
    checker = Checker(analysis, FUNCTIONS, rows.__getitem__)
    world = World(analysis, {name: base.get(name, {}) for name in TABLES if name in analysis.relations}, FUNCTIONS)
    rng = Random(seed)
    asked = 0
    for view in {rule.head.relation: None for rule in analysis.program.rules}:
        for row in sorted(rows[view], key=repr):
            fact = (view, row)
            # Where no column of a base is known, all of it would have to be read.
            with suppress(UnsupportedError):
                reasons = prove(backwards, [fact], LIMITS)
                checker.check([fact], {each: (r.kind.value, r.count, r.derivations) for each, r in reasons.items()})
                if len(world.facts) <= MOST_ROWS:
                    weigh(Weighing(backwards, fact), world, rng)
                asked += 1
            # What was paged in is gone from time to time, as after a commit.
            if rng.random() < 0.3:
                engine.registry.forget()
    return asked


def weigh(weighing: Weighing, world: World, rng: Random) -> None:
    supports = weighing.supports(None)
    assert supports.complete
    if weighing.cone.is_exact:
        assert set(supports) == world.minimal_supports(weighing.root)
        candidates = [*supports[0]] if supports else []
        assert critical(weighing.cone, weighing.root, candidates) == world.critical(weighing.root)
        cut = smallest_cut(weighing.cone, weighing.root, weighing.watch())
        assert (None if cut is None else len(cut)) == world.smallest_cut(weighing.root)
        chances = {fact: rng.choice((0.0, 0.25, 0.5, 0.9)) for fact in world.facts if rng.random() < 0.8}
        found = probability(weighing.cone, weighing.root, chances, lambda _: pytest.fail("no trial"), 1.0)
        assert found.exact and found.value == pytest.approx(world.probability(weighing.root, chances))


def foresee(
    engine: SimulatedEngine,
    analysis: Analysis,
    base: Mapping[str, Delta],
    before: Mapping[str, Mapping[Row, int]],
    rng: Random,
) -> None:
    """Several times over what was paged in for others, and then really."""
    for is_real in (False, False, True):
        update = random_update(rng, {name: dict(rows) for name, rows in base.items()}, 3, 6)
        after = {**base, **{name: added(base.get(name, {}), delta) for name, delta in update.items()}}
        try:
            wanted = evaluate(analysis, after, FUNCTIONS)
        except WhenceError:
            continue
        seen = engine.foresee(Update(update))
        assert {name: dict(delta) for name, delta in seen.items() if delta} == {
            name: delta for name in wanted if (delta := added(wanted[name], negative(before.get(name, {}))))
        }
        assert all(engine.seen(name) == dict(before.get(name, {})) for name in wanted)
        if is_real:
            assert engine.apply(Update(update)) == seen
            engine.apply(Update({name: negative(delta) for name, delta in update.items()}))


def follow_dependents(engine: SimulatedEngine, analysis: Analysis, base: Mapping[str, Delta], rng: Random) -> int:
    """Those that the local engine finds, or some of them where a whole base would have to be read; returns how often it
    was all of them.
    """
    complete = 0
    local = LocalEngine()
    local.define(analysis, FUNCTIONS, Update())
    local.apply(Update(base))
    facts = [(name, row) for name, rows in sorted(base.items()) for row in rows]
    for name, row in rng.sample(facts, min(len(facts), 2)):
        wanted, nothing_more = dependents_of(local.evidence(), name, row)
        found, partly = dependents_of(Evidence(engine, analysis), name, row)
        assert not nothing_more
        assert found == wanted or partly
        assert all(rows <= wanted[view] for view, rows in found.items())
        complete += not partly
    return complete


def dependents_of(evidence: engines.Evidence, table: str, row: Row) -> tuple[dict[str, set[Row]], frozenset[str]]:
    contents, backwards = DatabaseContents(evidence), Backwards(evidence)
    found, partly = dependents(contents, backwards, table, [row], steps=10**6, seconds=60.0)
    return {view: set(rows) for view, rows in found.items()}, partly


def negative(rows: Mapping[Row, int]) -> dict[Row, int]:
    return {row: -count for row, count in rows.items()}
