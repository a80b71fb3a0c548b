"""Functions of arrays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions.types import Typed
from whence.model.terms import Constant
from whence.model.types import BIGINT, DOUBLE, INT, NULL, STRING, ArrayType, Value

INTS = ArrayType(INT)
LETTERS = (("a", "b", None), ArrayType(STRING))


def test_array(value: Callable[..., Value], type_of: Callable[..., str]) -> None:
    assert value("array", (1, INT), (None, INT), (2.5, DOUBLE)) == (1.0, None, 2.5)
    assert type_of("array", INT, DOUBLE) == "ARRAY<DOUBLE>"
    assert value("array") == ()
    assert type_of("array") == "ARRAY<NULL>"
    with pytest.raises(TypeMismatchError, match="and STRING does not go with BIGINT"):
        type_of("array", INT, BIGINT, STRING)


def test_element_at(value: Callable[..., Value], typed: Callable[..., Typed]) -> None:
    assert value("element_at", LETTERS, (1, INT)) == "a"
    assert value("element_at", LETTERS, (-2, INT)) == "b"
    assert value("element_at", LETTERS, (3, BIGINT)) is None
    assert typed("element_at", INTS, INT, nullable=False) == Typed(INT, True)


@pytest.mark.parametrize("position", [0, 4, -4])
def test_there_is_no_such_element(value: Callable[..., Value], position: int) -> None:
    with pytest.raises(EvaluationError) as caught:
        value("element_at", LETTERS, (position, INT))
    assert caught.value.message == f"there is no element {position} in ['a', 'b', NULL]"


def test_array_contains(value: Callable[..., Value], type_of: Callable[..., str]) -> None:
    assert value("array_contains", LETTERS, ("a", STRING)) is True
    assert value("array_contains", LETTERS, ("x", STRING)) is None
    assert value("array_contains", ((1, 2), INTS), (3, INT)) is False
    assert value("array_contains", ((1, 2), INTS), (2.0, DOUBLE)) is True
    assert value("array_contains", ((1, 2), INTS), (None, INT)) is None
    with pytest.raises(TypeMismatchError, match=r"array_contains\(\) looks for a STRING in an ARRAY<INT>"):
        type_of("array_contains", INTS, STRING)


def test_size_and_reverse(value: Callable[..., Value]) -> None:
    assert value("size", LETTERS) == 3
    assert value("size", (None, INTS)) is None
    assert value("reverse", ((1, 2, 3), INTS)) == (3, 2, 1)


def test_null_is_an_array_too(type_of: Callable[..., str]) -> None:
    null = Constant(None, NULL)
    assert type_of("size", null) == "INT"
    assert type_of("element_at", null, INT) == "NULL"
    with pytest.raises(TypeMismatchError, match=r"size\(\) must be an ARRAY or a MAP, not STRING"):
        type_of("size", STRING)
