"""Whatever happens on the way, sites agree in the end, and with one database that has the same base rows."""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replica import small_world
from tests.replica.simulation import VIEWS, run
from tests.replica.small_world import LINK, TEXT, Pair, SmallSite
from whence.replica.augmented import Augmented
from whence.replica.knowledge import Item

SMALL_RUNS = 3_000
PARTS = 30


@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_small_worlds(part: int) -> None:
    for seed in range(part, SMALL_RUNS, PARTS):
        small_world.run(seed, steps=40)


# All about rows that some remember as deleted, others have collected, and a newcomer inserts: whichever way it ends, it
# has to end the same everywhere.
@pytest.mark.parametrize(
    ("seed", "steps"), [(280, 60), (1130, 60), (352, 40), (333, 90), (11400, 40), (336, 25), (20711, 90)]
)
def test_found_by_search(seed: int, steps: int) -> None:
    small_world.run(seed, steps)


@pytest.mark.parametrize("kind", VIEWS)
def test_worlds_of_databases(kind: str) -> None:
    for seed in range(8):
        run(seed, kinds=(kind,))


@pytest.mark.parametrize("seed", range(4))
def test_worlds_of_sites_that_are_opened_again(seed: int, tmp_path: Path) -> None:
    world = run(seed, steps=80, directory=tmp_path)
    for site in world.sites.values():
        site.close()


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_any_world(seed: int) -> None:
    run(seed)


CHANGES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.booleans()), max_size=12)


@given(CHANGES, st.randoms(use_true_random=False))
def test_merging_is_commutative_associative_and_idempotent(
    changes: list[tuple[int, int, int, bool]], chance: random.Random
) -> None:
    """Three sites change rows apart; a fourth hears from them in any order, in parts, again and again."""
    sites = [SmallSite(f"site{number}") for number in range(3)]
    for at, a, b, is_there in changes:
        sites[at].change((a, b), is_there=is_there)
    told = [[*site.augmented.knowledge.lengths.values()] for site in sites]
    states = []
    for order in permutations(told):
        items: list[Item] = [item for part in order for item in (*part, *chance.sample(part, len(part) // 2))]
        states.append(_state(_merged(items)))
        middle = chance.randint(0, len(items))
        # First among themselves, and then here.
        states.append(_state(_merged([*_known(items[:middle]), *_known(items[middle:])])))
    assert all(state == states[0] for state in states)


def _merged(items: list[Item]) -> Augmented:
    here = Augmented("here")
    here.shared[LINK.name] = TEXT
    rows: set[Pair] = set()
    for item in items:
        for row, change in here.merge([item], "there").get(LINK.name, {}).items():
            (rows.add if change > 0 else rows.discard)(row)  # type: ignore[arg-type]
    assert rows == here.expected(LINK.name)
    return here


def _known(items: list[Item]) -> list[Item]:
    return [*_merged(items).knowledge.lengths.values()]


def _state(here: Augmented) -> dict[bytes, int]:
    return {node: length.length for node, length in here.knowledge.lengths.items()}
