"""Changes that are followed in the driver, over bases that are paged in: equal to the reference after every step."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from tests.engines.local.counting_programs import Generator, random_value
from tests.engines.local.recursive_driver import added, analysis_of, difference
from tests.engines.local.recursive_programs import FUNCTIONS, random_program, random_update
from tests.engines.spark.simulated import SimulatedEngine, ToClusterError, follow
from whence.analysis.analyze import Analysis
from whence.engines.reference.evaluate import evaluate
from whence.engines.spark.pages import Paging
from whence.errors import EvaluationError
from whence.model.types import Row
from whence.model.updates import Delta, Update

STEPS = 8
PROGRAMS_PER_TEST = 12


def pagings(rng: Random) -> Paging:
    """No base in memory as a whole, only small ones, or all of them."""
    return Paging(whole=rng.choice((0, 3, 1000)))


@pytest.mark.parametrize(("seed", "maintenance"), [*((seed, "auto") for seed in range(12)), (12, "dred"), (13, "dred")])
def test_recursive_components_follow(seed: int, maintenance: str) -> None:
    followed = 0
    for number in range(PROGRAMS_PER_TEST):
        _, analysis = random_program(1000 * seed + number)
        rng = Random(seed)
        base: dict[str, dict[Row, int]] = {}
        updates = []
        for _ in range(STEPS):
            updates.append(random_update(rng, base, 3, 12))
            base.update((name, added(base.get(name, {}), delta)) for name, delta in updates[-1].items())
        try:
            followed += follow(analysis, FUNCTIONS, updates, rng, pagings(rng), maintenance)
        except ToClusterError:
            continue
    assert followed > STEPS, "too few changes are followed in the driver"


@pytest.mark.parametrize("seed", range(8))
def test_counted_components_follow(seed: int) -> None:
    followed = 0
    for number in range(PROGRAMS_PER_TEST):
        rng = Random(1000 * seed + number)
        analysis = Generator(rng).program()
        base: dict[str, Mapping[Row, int]] = {}
        updates = []
        for _ in range(STEPS):
            updates.append(random_changes(rng, analysis, base))
            base.update((name, added(base.get(name, {}), delta)) for name, delta in updates[-1].items())
        try:
            followed += follow(analysis, {}, updates, rng, pagings(rng))
        except ToClusterError:
            continue
    assert followed > STEPS, "too few changes are followed in the driver"


def random_changes(rng: Random, analysis: Analysis, base: Mapping[str, Mapping[Row, int]]) -> dict[str, Delta]:
    changes: dict[str, Delta] = {}
    for component in analysis.components:
        relation = analysis.relations[component.relations[0]]
        if component.rules or rng.random() < 0.4:
            continue
        there = base.get(relation.name, {})
        delta: dict[Row, int] = {}
        for _ in range(rng.choice((1, 1, 2, 4))):
            if there and rng.random() < 0.45:
                row = rng.choice(list(there))
                delta[row] = -rng.randint(1, there[row])
            else:
                row = tuple(random_value(rng, column) for column in relation.columns)
                if not relation.distinct or row not in there:
                    delta[row] = 1
        changes[relation.name] = delta
    return changes


def test_a_ring_that_breaks_and_closes_again() -> None:
    """All rows rest on each other, and none of them keeps itself alive."""
    analysis = analysis_of("""
        .decl link(x: number, y: number)
        reach(x, y) :- link(x, y).
        reach(x, y) :- link(x, z), reach(z, y).
    """)
    ring = [(number, (number + 1) % 6) for number in range(6)]
    updates: list[Mapping[str, Delta]] = [{"link": dict.fromkeys(ring, 1)}]
    for link in ring:
        updates += [{"link": {link: -1}}, {"link": {link: 1}}]
    assert follow(analysis, {}, updates, Random(1), Paging(whole=0)) == len(updates)


KEPT = """
    .decl a(x: number, y: number)
    .decl b(x: number)
    plain(x) :- a(x, _).
    sums(x, count<*>, sum<y>, min<y>) :- a(x, y).
    way(x, y) :- a(x, y). way(x, y) :- way(x, z), a(z, y).
"""
NEW = (
    "new(x, y) :- a(x, y), !b(y).",
    "new(x, max<y>) :- way(x, y).",
    "new(x, n) :- sums(x, n, _, _), b(x).",
    "new(x, y) :- way(x, y), x < y. new(x, y) :- new(x, z), plain(z), a(z, y).",
    # Without end over the rows from before.
    "new(1, 1). new(x + 1, y) :- new(x, y), !b(x).",
)
FAILING = "bad(1 / (y - y)) :- a(_, y)."


@pytest.mark.parametrize("seed", range(20))
def test_definitions_that_come_with_rows(seed: int) -> None:
    """New components are built over the rows after the change, and a failure changes nothing."""
    rng = Random(seed)
    engine = SimulatedEngine(Paging(), rng.choice(("auto", "dred")))
    kept = analysis_of(KEPT)
    engine.define(kept, {}, Update())
    base: dict[str, Mapping[Row, int]] = {"a": {}, "b": {}}
    for step in range(STEPS):
        update = random_changes(rng, kept, base)
        update["a"] = {**update.get("a", {}), (50, step): 1}
        update["b"] = {**update.get("b", {}), (50 + step,): 1}
        base, before = {name: added(base[name], update.get(name, {})) for name in base}, base
        text = rng.choice(NEW)
        was = {name: engine.state(name) for name in engine.registry.names()}
        engine.unwritten = {}
        with pytest.raises(EvaluationError):
            engine.define(analysis_of(KEPT + text + FAILING), {}, Update(update))
        assert {name: engine.state(name) for name in engine.registry.names()} == was
        assert engine.unwritten == {}
        defined = analysis_of(KEPT + text)
        expected, former = evaluate(defined, base, {}), evaluate(kept, before, {})
        deltas = engine.define(defined, {}, Update(update))
        for name, rows in expected.items():
            assert engine.seen(name) == dict(rows), name
            assert dict(deltas.get(name, {})) == difference(rows, former.get(name, {})), name
        assert {name for name, changes in engine.unwritten.items() if len(changes) > 1} == set()
        engine.define(kept, {}, Update())
        for name in list(engine.registry.names()):
            if rng.random() < 0.3:
                engine.compact(name)
