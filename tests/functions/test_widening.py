"""Which types widen to which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.functions.types import common_type, fits
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, NULL, STRING, TIMESTAMP, ArrayType, DecimalType, Type

SCALARS = [STRING, INT, BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP, NULL]
decimals = st.integers(1, 38).flatmap(lambda p: st.builds(DecimalType, st.just(p), st.integers(0, p)))
types = st.recursive(st.sampled_from(SCALARS) | decimals, lambda inner: st.builds(ArrayType, inner), max_leaves=2)


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (INT, BIGINT, BIGINT),
        (INT, DOUBLE, DOUBLE),
        (BIGINT, DOUBLE, DOUBLE),
        (DecimalType(5, 2), DOUBLE, DOUBLE),
        (INT, DecimalType(5, 2), DecimalType(12, 2)),
        (BIGINT, DecimalType(5, 2), DecimalType(22, 2)),
        (DecimalType(5, 2), DecimalType(4, 3), DecimalType(6, 3)),
        (DecimalType(38, 0), DecimalType(38, 30), DecimalType(38, 0)),
        (DecimalType(38, 10), DecimalType(38, 20), DecimalType(38, 10)),
        (DATE, TIMESTAMP, TIMESTAMP),
        (NULL, STRING, STRING),
        (NULL, NULL, NULL),
        (ArrayType(INT), ArrayType(BIGINT), ArrayType(BIGINT)),
        (ArrayType(NULL), ArrayType(STRING), ArrayType(STRING)),
        (INT, STRING, None),
        (BOOLEAN, INT, None),
        (DATE, STRING, None),
        (ArrayType(INT), INT, None),
        (ArrayType(INT), ArrayType(STRING), None),
    ],
)
def test_common_type(left: Type, right: Type, common: Type | None) -> None:
    assert common_type((left, right)) == common
    assert common_type((right, left)) == common


def test_common_type_of_many() -> None:
    assert common_type(()) == NULL
    assert common_type((INT, NULL, BIGINT, DOUBLE)) == DOUBLE
    assert common_type((STRING, INT, STRING)) is None


@given(types, types)
def test_common_type_is_symmetric_and_idempotent(left: Type, right: Type) -> None:
    assert common_type((left, right)) == common_type((right, left))
    assert common_type((left, left)) == left


@given(types, types)
def test_what_fits_is_its_own_common_type(source: Type, target: Type) -> None:
    if fits(source, target):
        assert common_type((source, target)) == target


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (INT, BIGINT, True),
        (BIGINT, INT, False),
        (INT, DOUBLE, True),
        (DOUBLE, INT, False),
        (INT, DecimalType(12, 2), True),
        (INT, DecimalType(11, 2), False),
        (BIGINT, DecimalType(20, 0), True),
        (DecimalType(5, 2), DecimalType(6, 3), True),
        (DecimalType(5, 2), DecimalType(5, 3), False),
        (DecimalType(38, 10), DecimalType(38, 0), False),
        (DecimalType(5, 2), DOUBLE, True),
        (DOUBLE, DecimalType(38, 10), False),
        (DATE, TIMESTAMP, True),
        (TIMESTAMP, DATE, False),
        (NULL, ArrayType(INT), True),
        (STRING, NULL, False),
        (ArrayType(INT), ArrayType(DOUBLE), True),
        (ArrayType(DOUBLE), ArrayType(INT), False),
        (INT, STRING, False),
    ],
)
def test_fits(source: Type, target: Type, expected: bool) -> None:
    assert fits(source, target) is expected
