"""Random programs and random changes: after every commit the maintained counts are those of recomputation."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from tests.engines.local.counting_driver import Driver
from tests.engines.local.counting_programs import Generator, random_delta
from whence.incremental.counting import bindings, input_changes, pipeline, totals
from whence.incremental.counting.counting import Counting
from whence.model.updates import Delta


@pytest.mark.parametrize("seed", range(150))
def test_counts_are_those_of_recomputation(seed: int) -> None:
    play(Random(seed))


@pytest.mark.parametrize("seed", range(1_000, 1_040))
def test_what_is_handled_in_pieces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (input_changes, bindings, pipeline):
        monkeypatch.setattr(module, "FULL", 2)
    monkeypatch.setattr(totals, "MANY", 1)
    play(Random(seed))


def play(chance: Random) -> None:
    analysis = Generator(chance).program()
    driver = Driver(analysis, Counting, {})
    driver.check()
    for _ in range(3):
        driver.commit(
            {
                name: random_delta(chance, driver.analysis.relations[name], driver.stores[name].counts)
                for name in driver.base
            }
        )
    # A build over data is a code path of its own.
    driver = Driver(analysis, Counting, {name: driver.stores[name].counts for name in driver.base})
    driver.check()
    for _ in range(10):
        names = chance.sample(driver.base, chance.randint(1, len(driver.base)))
        deltas = {
            name: random_delta(chance, driver.analysis.relations[name], driver.stores[name].counts) for name in names
        }
        if chance.random() < 0.3:
            before = driver.counts()
            driver.commit(deltas, settle=False)
            assert driver.counts() == before
        driver.commit(deltas)
        driver.check()


def random_deltas(chance: Random, driver: Driver, names: Sequence[str]) -> dict[str, Delta]:
    relations, stores = driver.analysis.relations, driver.stores
    return {name: random_delta(chance, relations[name], stores[name].counts) for name in names}
