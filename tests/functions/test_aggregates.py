"""Aggregates: their types, and their values over bags."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.errors import ArityError, EvaluationError, TypeMismatchError, UnknownNameError
from whence.functions.aggregates import count_rows, fold
from whence.functions.types import Typed, aggregate_type, infer
from whence.model.terms import Aggregate, Variable
from whence.model.types import BIGINT, DATE, DOUBLE, INT, NULL, STRING, ArrayType, DecimalType, Type, Value

D52 = DecimalType(5, 2)


@pytest.mark.parametrize(
    ("function", "argument", "result"),
    [
        ("count", None, "BIGINT"),
        ("count", STRING, "BIGINT"),
        ("sum", INT, "BIGINT"),
        ("sum", BIGINT, "BIGINT"),
        ("sum", DOUBLE, "DOUBLE"),
        ("sum", D52, "DECIMAL(15,2)"),
        ("sum", DecimalType(38, 5), "DECIMAL(38,5)"),
        ("sum", NULL, "DOUBLE"),
        ("avg", INT, "DOUBLE"),
        ("avg", D52, "DECIMAL(9,6)"),
        ("avg", DecimalType(38, 36), "DECIMAL(38,38)"),
        ("min", STRING, "STRING"),
        ("max", ArrayType(DATE), "ARRAY<DATE>"),
    ],
)
def test_types(function: str, argument: Type | None, result: str) -> None:
    assert aggregate_type(function, argument, None).name == result


def test_type_errors() -> None:
    with pytest.raises(TypeMismatchError, match="sum adds up numbers, not STRING"):
        aggregate_type("sum", STRING, None)
    with pytest.raises(TypeMismatchError, match="avg adds up numbers, not DATE"):
        aggregate_type("avg", DATE, None)
    with pytest.raises(ArityError, match="min needs an argument"):
        aggregate_type("min", None, None)
    with pytest.raises(UnknownNameError, match="there is no aggregate summ"):
        aggregate_type("summ", INT, None)


def test_terms() -> None:
    types = {"x": Typed(INT, False)}
    assert infer(Aggregate("count", None), types, {}) == Typed(BIGINT, False)
    assert infer(Aggregate("sum", Variable("x")), types, {}) == Typed(BIGINT, True)


@pytest.mark.parametrize(
    ("function", "distinct", "bag", "kind", "result"),
    [
        ("count", False, [(1, 2), (None, 5), (2, 1)], BIGINT, 3),
        ("count", True, [(1, 2), (None, 5), (2, 1), (1, 1)], BIGINT, 2),
        ("count", False, [], BIGINT, 0),
        ("sum", False, [(1, 2), (None, 5), (2, 1)], BIGINT, 4),
        ("sum", True, [(1, 2), (2, 1)], BIGINT, 3),
        ("sum", False, [(None, 1)], BIGINT, None),
        ("sum", False, [(1, 1), (1, -1)], BIGINT, None),
        ("sum", False, [(5, -1), (2, 1)], BIGINT, -3),
        ("sum", False, [(Decimal("1.10"), 3)], DecimalType(15, 2), Decimal("3.30")),
        ("sum", False, [(1e100, 1), (1.0, 1), (-1e100, 1)], DOUBLE, 1.0),
        ("avg", False, [(1, 1), (2, 3)], DOUBLE, 1.75),
        ("avg", True, [(1, 1), (2, 3)], DOUBLE, 1.5),
        ("avg", False, [(1.5, 1), (2.5, 1)], DOUBLE, 2.0),
        ("avg", False, [(Decimal("1.00"), 1), (Decimal("2.00"), 2)], DecimalType(9, 6), Decimal("1.666667")),
        ("avg", False, [], DOUBLE, None),
        ("min", False, [("b", 1), ("a", 1), (None, 1)], STRING, "a"),
        ("max", False, [("b", 1), ("c", 1), ("c", -1)], STRING, "b"),
        ("min", False, [], INT, None),
        ("min", False, [((1, 2), 1), ((1, None), 1)], ArrayType(INT), (1, None)),
        ("max", True, [(1, 1), (2, 1)], INT, 2),
    ],
)
def test_fold(function: str, distinct: bool, bag: list[tuple[Value, int]], kind: Type, result: Value) -> None:
    folded = fold(function, distinct, bag, kind)
    assert folded == result
    assert type(folded) is type(result)
    assert fold(function, distinct, reversed(bag), kind) == result


def test_count_rows() -> None:
    assert count_rows([2, 3, -1]) == 4
    assert count_rows([]) == 0


def test_sums_that_do_not_fit() -> None:
    with pytest.raises(EvaluationError, match="the sum 9223372036854775808 does not fit BIGINT"):
        fold("sum", False, [(2**62, 2)], BIGINT)
    with pytest.raises(EvaluationError, match=r"does not fit DECIMAL\(3,2\)"):
        fold("sum", False, [(Decimal("9.99"), 2)], DecimalType(3, 2))
    with pytest.raises(EvaluationError, match="the sum is not a finite DOUBLE"):
        fold("sum", False, [(1.7e308, 2)], DOUBLE)
    with pytest.raises(EvaluationError, match="the sum is not a finite DOUBLE"):
        fold("sum", False, [(1.7e308, 1), (1.6e308, 1)], DOUBLE)


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.integers(1, 1000)), min_size=1, max_size=8))
def test_sums_of_doubles_depend_on_nothing_but_the_bag(bag: list[tuple[float, int]]) -> None:
    total = fold("sum", False, bag, DOUBLE)
    assert fold("sum", False, sorted(bag), DOUBLE) == total
    split = [part for x, n in bag for part in ((x, n - n // 3), (x, n // 3))]
    assert fold("sum", False, split, DOUBLE) == total
    assert total == float(sum(Fraction(x) * n for x, n in bag))
