"""Many lookups at once, which two threads share, find what few find."""

from __future__ import annotations

import numpy as np
import pytest

from whence.columns.encoding import INTEGER, Encoding
from whence.columns.hash_index import NOTHING
from whence.columns.table import ColumnTable
from whence.columns.two_threads import LEAST_SHARED, in_two_threads
from whence.model.types import BIGINT

ROWS = 20_000


@pytest.fixture(scope="module")
def table() -> ColumnTable:
    made = ColumnTable([Encoding(BIGINT)] * 2, is_set=False)
    numbers = np.arange(ROWS)
    made.stage(np.stack([numbers, numbers // 3]), np.ones(ROWS, INTEGER))
    made.settle()
    return made


@pytest.mark.parametrize("length", [1, LEAST_SHARED - 1, LEAST_SHARED, ROWS])
def test_keys_have_their_matches_in_order(table: ColumnTable, length: int) -> None:
    keys = np.random.default_rng(1).permutation(ROWS)[:length]
    matches = table.probe((1,), [keys], length, is_after=False)
    assert matches is not None
    found = list(zip(keys[matches.keys].tolist(), table.column(0, matches.rows).tolist(), strict=True))
    wanted = [(key, row) for key in keys.tolist() for row in range(3 * key, min(3 * key + 3, ROWS))]
    assert sorted(found) == sorted(wanted)
    assert (np.diff(matches.keys) >= 0).all()


def test_too_many_matches_are_none(table: ColumnTable) -> None:
    keys = np.zeros(LEAST_SHARED, INTEGER)
    assert table.probe((1,), [keys], LEAST_SHARED, is_after=False, most=LEAST_SHARED) is None


def test_rows_are_found_wherever_they_are_asked_for(table: ColumnTable) -> None:
    numbers = np.random.default_rng(2).permutation(2 * ROWS)
    found = table.find(np.stack([numbers, numbers // 3]))
    assert (found == np.where(numbers < ROWS, numbers, NOTHING)).all()


def test_an_error_in_either_half_is_raised() -> None:
    def fail(first: int, last: int) -> None:
        if first == 0:
            raise ValueError(last)

    with pytest.raises(ValueError, match=str(LEAST_SHARED // 2)):
        in_two_threads(fail, LEAST_SHARED)
