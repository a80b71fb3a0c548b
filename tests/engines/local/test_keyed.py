"""Rows with a key: the same as without one, but found by it."""

from __future__ import annotations

from random import Random

import pytest

from tests.engines.local.counting_programs import keyed_delta, random_keyed_delta
from whence.incremental.keyed import Key, KeyedDelta, KeyedRows
from whence.incremental.store import KeyedStore, Store, table_store
from whence.model.schema import Column, Relation
from whence.model.types import INT, STRING, Row
from whence.model.updates import totals

COLUMNS = (Column("a", INT), Column("b", STRING), Column("c", INT))
RELATION = Relation("r", COLUMNS, distinct=True, key=("c", "a"))
DELTA = keyed_delta(RELATION, {(1, "x", 1): -1, (1, "y", 1): 1, (2, "x", 1): -1, (3, "x", 1): 1})


def test_rows_are_found_by_their_key() -> None:
    rows = KeyedRows((0, 2))
    rows.by_key[1, 1] = (1, "x", 1)
    assert (1, "x", 1) in rows
    assert (1, "y", 1) not in rows
    assert rows.get((1, "y", 1), 0) == 0
    assert rows[1, "x", 1] == 1
    assert rows == {(1, "x", 1): 1}
    assert [*rows.items()] == [((1, "x", 1), 1)]
    assert [*rows.values()] == [1]
    with pytest.raises(KeyError):
        rows[2, "x", 1]


def test_a_change_of_keys_is_a_change_of_rows() -> None:
    assert DELTA == {(1, "x", 1): -1, (1, "y", 1): 1, (2, "x", 1): -1, (3, "x", 1): 1}
    assert [*DELTA.items()][:2] == [((1, "x", 1), -1), ((2, "x", 1), -1)]
    assert DELTA[1, "y", 1] == 1
    assert DELTA.get((9, "x", 9)) is None
    assert totals(DELTA) == (2, 2)
    columns, counts = DELTA.columns()
    assert dict(zip(zip(*columns, strict=True), counts, strict=True)) == DELTA
    assert not KeyedDelta((0, 2), [], [], [])


@pytest.mark.parametrize("seed", range(30))
def test_a_store_by_key_is_like_any_other(seed: int) -> None:
    chance = Random(seed)
    keyed, plain = table_store(RELATION), Store()
    assert isinstance(keyed, KeyedStore)
    for _ in range(40):
        delta = random_keyed_delta(chance, RELATION, plain.counts)
        for store in (keyed, plain):
            store.apply(delta)
        assert keyed.counts == plain.counts
        assert len(keyed.counts) == len(plain.counts)
        for positions in ((), (0,), (1,), (0, 2), (0, 1, 2)):
            keys = [*{_key(row, positions) for row in [*plain.counts, (-1, "?", -1)]}]
            found = keyed.matching_all(positions, keys)
            for key, rows in zip(keys, found, strict=True):
                assert keyed.matching(positions, key) == plain.matching(positions, key) == dict.fromkeys(rows, 1)
            assert list(map(len, found)) == list(map(len, plain.matching_all(positions, keys)))
        holder = keyed.holder((0, 2))
        assert holder is not None
        assert all(holder((row[0], row[2])) == row for row in plain.counts)
        assert keyed.holder((0,)) is None


def _key(row: Row, positions: tuple[int, ...]) -> Key:
    return row[positions[0]] if len(positions) == 1 else tuple(row[position] for position in positions)
