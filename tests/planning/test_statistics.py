"""Statistics against recounting."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence
from whence.analysis.analyze import analyze
from whence.engines.local.engine import LocalEngine
from whence.incremental.store import KeyedStore, Store, StoreStatistics
from whence.lang.datalog.parse import parse_datalog
from whence.model.types import Row
from whence.planning.statistics import COUNTED_ROWS, RecursionStatistics, changes_left, distinct_values, is_outdated

# What is sampled is right to this factor, and what was sampled before changes is looked at again when half has changed.
FACTOR = 2


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("rows", [200, 3 * COUNTED_ROWS])
def test_distinct_values_after_inserts_and_deletes(rows: int, keyed: bool) -> None:
    rng = Random(rows)
    store: Store = KeyedStore((0,)) if keyed else Store()
    store.apply({(number, rng.randrange(rows // 4), rng.randrange(5)): 1 for number in range(rows)})
    store.matching((2,), 0)
    number = rows
    for _ in range(12):
        present = list(store.counts)
        gone = rng.sample(present, rng.randrange(len(present) // 4))
        came = [(number + at, rng.randrange(rows // 2), rng.randrange(9)) for at in range(rng.randrange(rows // 4))]
        number += rows
        store.apply(dict.fromkeys(gone, -1) | dict.fromkeys(came, 1))
        assert store.size == len(store.counts)
        for positions in ((0,), (1,), (2,)):
            exact = len(set(map(itemgetter(*positions), store.counts)))
            found = store.distinct(positions)
            assert found is not None
            if positions == (2,) or store.size <= COUNTED_ROWS:
                assert found == exact
            else:
                assert exact / (2 * FACTOR) <= found <= min(store.size, 2 * FACTOR * exact)
        assert store.distinct((1, 2)) == min(store.size, (store.distinct((1,)) or 0) * (store.distinct((2,)) or 0))


ROWS = 100_000


@pytest.mark.parametrize(
    "value",
    [
        lambda number, _: number,
        lambda number, _: number // 4,
        lambda number, _: number // 100,
        lambda _, rng: rng.randrange(7),
        lambda _, rng: rng.randrange(3_000),
        lambda _, rng: rng.randrange(50_000),
    ],
    ids=["all differ", "fours together", "hundreds together", "seven", "thousands", "many"],
)
def test_a_sample_is_about_right(value: Callable[[int, Random], int]) -> None:
    rng = Random(0)
    rows = [(value(number, rng),) for number in range(ROWS)]
    assert len(set(rows)) / FACTOR <= distinct_values(rows, 0) <= len(set(rows)) * FACTOR


def test_changes_that_are_larger_than_a_relation_count_instead_of_it() -> None:
    statistics = StoreStatistics({"t": Store({(0, 0): 1})}, {"t": {(number % 10, number): 1 for number in range(50)}})
    assert statistics.size("t") == 51
    assert statistics.distinct("t", (0,)) == 10


@given(st.integers(0, 500), st.integers(0, 5_000))
def test_nobody_has_to_look_before(planned: int, size: int) -> None:
    """As long as no more rows have changed, whichever way, a plan is not outdated; with one more it may be."""
    if is_outdated({"t": planned}, {"t": size}):
        return
    left = changes_left({"t": planned}, {"t": size})
    sizes = range(max(0, size - left), size + left + 1)
    assert not any(is_outdated({"t": planned}, {"t": each}) for each in sizes)
    assert any(is_outdated({"t": planned}, {"t": size + more}) for more in (-left - 1, left + 1)) or size < left + 1


def test_a_plan_is_outdated_by_growth_and_by_shrinking() -> None:
    assert not is_outdated({"t": 0}, {"t": 8})
    assert is_outdated({"t": 0}, {"t": 9})
    assert not is_outdated({"t": 100}, {"t": 800})
    assert is_outdated({"t": 1_000}, {"t": 100})


def test_an_empty_recursion_counts_as_what_it_can_become() -> None:
    text = """
        .decl link(src: INT, dst: INT, cost: INT)
        reachable(x, y) :- link(x, y, _).
        reachable(x, y) :- link(x, z, _), reachable(z, y).
    """
    component = analyze(parse_datalog(text)).components[-1]
    links: dict[Row, int] = {(src, dst, 1): 1 for src in range(10) for dst in range(5)}
    below = StoreStatistics({"link": Store(links)})
    statistics = RecursionStatistics(component.typed, below, {"reachable": lambda: 0})
    assert statistics.size("reachable") == 50
    assert statistics.distinct("reachable", (0,)) == 10
    assert RecursionStatistics(component.typed, below, {"reachable": lambda: 7}).size("reachable") == 7


def test_an_engine_tells_sizes_and_distinct_values() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(a INT, b INT); CREATE MATERIALIZED VIEW v AS SELECT DISTINCT b FROM t")
    db.insert("t", [(number, number % 3) for number in range(30)])
    engine = db._session.engine  # noqa: SLF001 - which is not told of at the surface
    assert isinstance(engine, LocalEngine)
    statistics = engine.statistics()
    assert (statistics.size("t"), statistics.size("v"), statistics.distinct("t", (1,))) == (30, 3, 3)
