"""Random programs and random steps to others. `python -m tests.adapt.random_changes FIRST LAST` runs more seeds."""

from __future__ import annotations

import pytest

from tests.adapt.random_changes import run

# Two thousand steps from one program to another, and what they take is mostly to read SQL.
STEPS = 25


@pytest.mark.parametrize("seed", range(70))
def test_all_relations_are_what_they_are_from_scratch(seed: int) -> None:
    run(1_000 + seed, STEPS, in_columns=False, views=3)


@pytest.mark.parametrize("seed", range(14))
def test_in_columns_as_well(seed: int) -> None:
    run(1_100 + seed, STEPS, in_columns=True, views=3)
