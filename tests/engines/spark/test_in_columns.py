"""Changes that are followed in columns, whatever their size: equal to the reference engine after every step."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from tests.engines.local.counting_programs import Generator
from tests.engines.local.recursive_driver import added, analysis_of
from tests.engines.spark.simulated import SimulatedEngine, ToClusterError, follow
from tests.engines.spark.test_in_driver import random_changes
from whence.engines.spark.pages import Paging
from whence.model.types import Row
from whence.model.updates import Update

STEPS = 8
PROGRAMS_PER_TEST = 10


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int) -> None:
    """Some changes come as columns and some as rows, so that each finds what the other has left."""
    followed = 0
    for number in range(PROGRAMS_PER_TEST):
        rng = Random(5000 + 1000 * seed + number)
        analysis = Generator(rng).program()
        base: dict[str, Mapping[Row, int]] = {}
        updates = []
        for _ in range(STEPS):
            updates.append(random_changes(rng, analysis, base))
            base.update((name, added(base.get(name, {}), delta)) for name, delta in updates[-1].items())
        try:
            followed += follow(analysis, {}, updates, rng, Paging(whole=1000, columns=rng.choice((1, 2, 3))))
        except ToClusterError:
            continue
    assert followed > STEPS, "too few changes are followed in the driver"


def test_what_is_followed_in_columns() -> None:
    """Not only in principle: joins, negation, sets, and aggregates that keep values or do not."""
    analysis = analysis_of("""
        .decl a(x: number, y: number) bag
        .decl b(x: number)
        joined(x, y) :- a(x, y), b(x).
        missing(x) :- a(x, _), !b(x).
        sums(x, count<*>, sum<y>, min<y>, count<distinct y>) :- a(x, y).
        total(sum<n>) :- sums(_, n, _, _, _).
    """)
    engine = SimulatedEngine(Paging(columns=1), "auto")
    engine.define(analysis, {}, Update())
    engine.apply(Update({"a": {(1, 2): 1, (1, 3): 2, (2, 5): 1}, "b": {(1,): 1}}))
    engine.apply(Update({"a": {(1, 2): -1, (2, 7): 1}, "b": {(2,): 1}}))
    works = {component.relations[0]: engine.work(component) for component in analysis.components if component.rules}
    assert {name for name, work in works.items() if work is not None and work.in_columns} == set(works)
    assert engine.seen("sums") == {(1, 2, 6, 3, 1): 1, (2, 2, 12, 5, 2): 1}
    assert engine.seen("joined") == {(1, 3): 1, (2, 5): 1, (2, 7): 1}
    assert engine.seen("missing") == {}
    assert engine.seen("total") == {(4,): 1}
