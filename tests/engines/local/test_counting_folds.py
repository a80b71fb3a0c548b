"""Aggregates that follow changes give what they would over all values at once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import EvaluationError
from whence.functions.aggregates import aggregate_type, fold
from whence.incremental.counting.folds import ByValue, Extreme, Fold, LinearFold
from whence.model.types import BIGINT, DOUBLE, INT, STRING, ArrayType, DecimalType, Type, Value

DECIMAL = DecimalType(38, 2)
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    INT: st.integers(-3, 3),
    DOUBLE: st.one_of(st.floats(-1e300, 1e300), st.sampled_from([0.1, 0.2, 0.3, 5e-324, 1e16, 1.0])),
    DECIMAL: st.decimals(-(10**30), 10**30, places=2),
    STRING: st.text("ab", max_size=2),
    ArrayType(INT): st.lists(st.one_of(st.none(), st.integers(0, 1)), max_size=2).map(tuple),
}
Step = tuple[bool, list[tuple[Value, int]]]


def steps(kind: Type, copies: st.SearchStrategy[int]) -> st.SearchStrategy[list[Step]]:
    """Changes, each of which is settled or undone."""
    return st.lists(st.tuples(st.booleans(), st.lists(st.tuples(VALUES[kind], copies), max_size=8)), max_size=8)


def check(aggregate: Fold, function: str, distinct: bool, kind: Type, changes: list[Step]) -> None:
    result = aggregate_type(function, kind, None)
    state = aggregate.empty()
    settled: list[tuple[Value, int]] = []
    for settles, values in changes:
        change = added(aggregate, aggregate.begin(state), values)
        assert aggregate.result(change) == fold(function, distinct, [*settled, *values], result)
        if settles:
            state = aggregate.settle(change)
            settled += values
        else:
            aggregate.undo(change)
    everything_back = added(aggregate, aggregate.begin(state), [(value, -copies) for value, copies in settled])
    aggregate.result(everything_back)
    assert aggregate.is_empty(aggregate.settle(everything_back))


def added(aggregate: Fold, change: Any, values: list[tuple[Value, int]]) -> Any:
    """The change with these values, in two parts, one of which has a NULL."""
    given, weights = [*(value for value, _ in values), None], [*(copies for _, copies in values), 1]
    for some in (range(0, len(given), 2), range(1, len(given), 2)):
        change = aggregate.add(change, given, weights, some)
    return change


@pytest.mark.parametrize("kind", [INT, DOUBLE, DECIMAL], ids=str)
@pytest.mark.parametrize("function", ["count", "sum", "avg"])
@settings(max_examples=30)
@given(data=st.data())
def test_values_that_only_come(function: str, kind: Type, data: st.DataObject) -> None:
    changes = data.draw(steps(kind, st.integers(1, 3)))
    check(LinearFold(function, kind, aggregate_type(function, kind, None)), function, False, kind, changes)


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("kind", [INT, DOUBLE, DECIMAL], ids=str)
@pytest.mark.parametrize("function", ["count", "sum", "avg"])
@settings(max_examples=30)
@given(data=st.data())
def test_values_that_can_be_owed(function: str, kind: Type, distinct: bool, data: st.DataObject) -> None:
    changes = data.draw(steps(kind, st.integers(-2, 2)))
    aggregate = ByValue(function, distinct, kind, aggregate_type(function, kind, None))
    check(aggregate, function, distinct, kind, changes)


@pytest.mark.parametrize("kind", list(VALUES), ids=str)
@pytest.mark.parametrize("function", ["min", "max"])
@settings(max_examples=30)
@given(data=st.data())
def test_the_best_value(function: str, kind: Type, data: st.DataObject) -> None:
    check(Extreme(function, kind), function, False, kind, data.draw(steps(kind, st.integers(-2, 2))))


def test_a_heap_does_not_grow_with_what_has_gone() -> None:
    aggregate = Extreme("min", INT)
    state = aggregate.empty()
    for value in range(1_000):
        change = aggregate.add(aggregate.begin(state), [-1 if value == 0 else value], [1], [0])
        if value > 1:
            change = aggregate.add(change, [value - 1], [-1], [0])
        assert aggregate.result(change) == -1
        state = aggregate.settle(change)
    assert len(state.copies) == 2
    assert len(state.heap) < 50


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (BIGINT, 2**62, "the sum 9223372036854775808 does not fit BIGINT"),
        (DecimalType(38, 0), Decimal(10) ** 37 * 5, "does not fit DECIMAL"),
        (DOUBLE, 1.7e308, "the sum is not a finite DOUBLE"),
    ],
    ids=str,
)
def test_a_sum_that_does_not_fit(kind: Type, value: Value, message: str) -> None:
    aggregate = LinearFold("sum", kind, aggregate_type("sum", kind, None))
    change = aggregate.add(aggregate.begin(aggregate.empty()), [value], [2], [0])
    with pytest.raises(EvaluationError, match=message):
        aggregate.result(change)
