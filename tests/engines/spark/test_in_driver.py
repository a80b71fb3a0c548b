"""Changes that are followed in the driver, over bases that are paged in: equal to the reference after every step."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from tests.engines.local.counting_programs import Generator, random_value
from tests.engines.local.recursive_driver import added, analysis_of
from tests.engines.local.recursive_programs import FUNCTIONS, random_program, random_update
from tests.engines.spark.simulated import ToClusterError, follow
from whence.analysis.analyze import Analysis
from whence.engines.spark.paging import Paging
from whence.model.types import Row
from whence.model.updates import Delta

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
