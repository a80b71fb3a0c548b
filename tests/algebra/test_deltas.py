"""Changes of relations form a group: they add up in any order, and each has an inverse."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whence.algebra.deltas import add_to, added, all_added, all_negated, delta_between, negated
from whence.model.types import Row

ROWS: st.SearchStrategy[Row] = st.tuples(st.integers(0, 4))
COUNTS = st.integers(-3, 3).filter(bool)
DELTAS = st.dictionaries(ROWS, COUNTS, max_size=6)


@given(DELTAS, DELTAS, DELTAS)
def test_the_laws_of_a_group(a: dict[Row, int], b: dict[Row, int], c: dict[Row, int]) -> None:
    assert added(added(a, b), c) == added(a, added(b, c)) == added(a, b, c)
    assert added(a, b) == added(b, a)
    assert added(a, {}) == a
    assert added(a, negated(a)) == {}
    assert all(added(a, b, c).values())


@given(DELTAS, DELTAS)
def test_in_place_and_between(a: dict[Row, int], b: dict[Row, int]) -> None:
    total = dict(a)
    add_to(total, b.items())
    assert total == added(a, b)
    assert delta_between(a, b) == added(b, negated(a))
    assert added(a, delta_between(a, b)) == b


@given(st.dictionaries(st.sampled_from("rs"), DELTAS), st.dictionaries(st.sampled_from("rs"), DELTAS))
def test_several_relations(a: dict[str, dict[Row, int]], b: dict[str, dict[Row, int]]) -> None:
    assert all_added(a, b) == {name: total for name in {**a, **b} if (total := added(a.get(name, {}), b.get(name, {})))}
    assert all_added(a, all_negated(a)) == {}
