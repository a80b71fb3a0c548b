"""Functions of strings, and patterns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whence.errors import EvaluationError, ParseError, TypeMismatchError
from whence.model.terms import Call, Constant
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, ArrayType, Type, Value


def argument(given: Value) -> tuple[Value, Type]:
    return given, STRING if isinstance(given, str) else INT


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("lower", ("ÄB",), "äb"),
        ("upper", ("äb",), "ÄB"),
        ("length", ("a😀b",), 3),
        ("substring", ("hello", 2), "ello"),
        ("substring", ("hello", 2, 3), "ell"),
        ("substring", ("hello", 0, 2), "he"),
        ("substring", ("hello", -3), "llo"),
        ("substring", ("hello", -3, 2), "ll"),
        ("substring", ("abc", -5, 3), "a"),
        ("substring", ("abc", -5, 2), ""),
        ("substring", ("abc", 9, 2), ""),
        ("substring", ("abc", 2, -1), ""),
        ("left", ("abc", 2), "ab"),
        ("left", ("abc", -1), ""),
        ("right", ("abc", 2), "bc"),
        ("right", ("abc", 0), ""),
        ("right", ("abc", 9), "abc"),
        ("trim", ("  a\t ",), "a\t"),
        ("ltrim", ("  a ",), "a "),
        ("rtrim", ("  a ",), "  a"),
        ("trim", ("yx", "xyaxy"), "a"),
        ("trim", ("", "abc"), "abc"),
        ("ltrim", ("x", "xxax"), "ax"),
        ("rtrim", ("a", "abba"), "abb"),
        ("locate", ("", "abc", 9), 1),
        ("locate", ("", "abc", 0), 0),
        ("locate", ("c", "abc", 4), 0),
        ("parse_url", ("mailto:me@host?a=b#c", "PATH"), None),
        ("parse_url", ("mailto:me@host?a=b#c", "FILE"), None),
        ("parse_url", ("mailto:me@host?a=b#c", "QUERY"), None),
        ("parse_url", ("mailto:me@host?a=b#c", "QUERY", "a"), None),
        ("parse_url", ("mailto:me@host?a=b#c", "REF"), "c"),
        ("replace", ("banana", "an", "x"), "bxxa"),
        ("replace", ("banana", "an"), "ba"),
        ("replace", ("abc", "", "x"), "abc"),
        ("lpad", ("7", 3, "0"), "007"),
        ("lpad", ("hello", 3), "hel"),
        ("lpad", ("x", 4, "ab"), "abax"),
        ("lpad", ("x", 4, ""), "x"),
        ("rpad", ("x", 4, "ab"), "xaba"),
        ("rpad", ("x", -1), ""),
        ("repeat", ("ab", 3), "ababab"),
        ("repeat", ("ab", -3), ""),
        ("reverse", ("abc",), "cba"),
        ("instr", ("banana", "an"), 2),
        ("instr", ("banana", "x"), 0),
        ("instr", ("banana", ""), 1),
        ("startswith", ("abc", "ab"), True),
        ("endswith", ("abc", "ab"), False),
        ("contains", ("abc", "b"), True),
        ("concat", ("a", "b", "c"), "abc"),
        ("concat", (), ""),
    ],
)
def test_values(value: Callable[..., Value], function: str, arguments: tuple[Value, ...], result: Value) -> None:
    assert value(function, *map(argument, arguments)) == result


def test_concat_writes_other_types(value: Callable[..., Value], type_of: Callable[..., str]) -> None:
    assert value("concat", ("a", STRING), (1, INT), (1e10, DOUBLE), (True, BOOLEAN)) == "a11.0E10true"
    assert value("concat", ("a", STRING), (None, INT)) is None
    assert value("concat", ((1,), ArrayType(INT)), ((2, None), ArrayType(BIGINT))) == (1, 2, None)
    assert type_of("concat", ArrayType(INT), ArrayType(BIGINT)) == "ARRAY<BIGINT>"
    with pytest.raises(TypeMismatchError, match=r"concat\(\) joins arrays of one element type"):
        type_of("concat", ArrayType(INT), STRING)


def test_results_too_long_for_memory_are_refused(value: Callable[..., Value]) -> None:
    for function in ("repeat", "lpad", "rpad"):
        with pytest.raises(EvaluationError, match="is too long"):
            value(function, ("ab", STRING), (2**31 - 1, INT))


@pytest.mark.parametrize("function", ["left", "right", "substring", "repeat", "lpad", "rpad"])
def test_a_count_beyond_int_is_refused(value: Callable[..., Value], function: str) -> None:
    assert value(function, ("ab", STRING), (1, BIGINT)) == value(function, ("ab", STRING), (1, INT))
    with pytest.raises(EvaluationError, match="cannot cast 2147483648 to INT"):
        value(function, ("ab", STRING), (2**31, BIGINT))


def test_concat_evaluates_every_part_of_a_text(value: Callable[..., Value]) -> None:
    failing = Call("repeat", (Constant("a", STRING), Constant(2**31 - 1, INT)))
    with pytest.raises(EvaluationError, match="is too long"):
        value("concat", (None, STRING), failing)
    assert value("startswith", (None, STRING), failing) is None
    assert value("trim", failing, (None, STRING)) is None


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("hello", "h%", True),
        ("hello", "h_llo", True),
        ("hello", "h_lo", False),
        ("hello", "ell", False),
        ("a\nb", "a%b", True),
        ("100%", "100\\%", True),
        ("1000", "100\\%", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("a\\b", "a\\\\b", True),
        ("", "%", True),
        ("", "", True),
    ],
)
def test_like(value: Callable[..., Value], text: str, pattern: str, matches: bool) -> None:
    assert value("like", (text, STRING), (pattern, STRING)) is matches


def test_like_with_another_escape(value: Callable[..., Value]) -> None:
    for text, matches in (("100%", True), ("1000", False)):
        assert value("like", (text, STRING), ("100!%", STRING), ("!", STRING)) is matches
    assert value("like", ("a\\%", STRING), ("a\\%", STRING), ("!", STRING)) is True


def test_rlike_searches(value: Callable[..., Value]) -> None:
    assert value("rlike", ("hello", STRING), ("l+o$", STRING)) is True
    assert value("rlike", ("hello", STRING), ("^l", STRING)) is False


def test_bad_patterns(value: Callable[..., Value], type_of: Callable[..., str]) -> None:
    with pytest.raises(EvaluationError, match=r"'\(' is not a regular expression"):
        value("rlike", ("a", STRING), ("(", STRING))
    with pytest.raises(ParseError, match=r"'\(' is not a regular expression"):
        type_of("rlike", STRING, Constant("(", STRING))
    with pytest.raises(ParseError, match="is not a regular expression"):
        type_of("rlike", STRING, Constant("(" * 5000 + ")" * 5000, STRING))
    with pytest.raises(EvaluationError, match=r"the escape . stands before neither % nor _"):
        value("like", ("a", STRING), ("a\\b", STRING))
    with pytest.raises(ParseError, match=r"the escape . stands before neither % nor _"):
        type_of("like", STRING, Constant("a\\", STRING))
    with pytest.raises(ParseError, match="the escape of LIKE must be one character, not 'ab'"):
        type_of("like", STRING, Constant("a", STRING), Constant("ab", STRING))


@pytest.mark.parametrize(
    ("function", "types", "message"),
    [
        ("lower", (INT,), "lower() must be a STRING, not INT"),
        ("substring", (STRING, STRING), "argument 2 of substring() must be an INT or BIGINT, not STRING"),
        ("like", (INT, STRING), "argument 1 of 'like' must be a STRING, not INT"),
        ("length", (DATE,), "length() must be a STRING, not DATE"),
        ("reverse", (INT,), "reverse() must be a STRING or an ARRAY, not INT"),
    ],
)
def test_wrong_types(type_of: Callable[..., str], function: str, types: tuple[Type, ...], message: str) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        type_of(function, *types)
    assert caught.value.message == message
