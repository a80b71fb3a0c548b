"""Random programs and random steps to others. `python -m tests.adapt.random_changes FIRST LAST` runs more seeds."""

from __future__ import annotations

import pytest

from tests.adapt.random_changes import run


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("in_columns", [False, True], ids=["rows", "columns"])
def test_all_relations_are_what_they_are_from_scratch(seed: int, in_columns: bool) -> None:
    run(1_000 + seed, 5, in_columns=in_columns)
