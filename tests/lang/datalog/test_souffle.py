"""Operators and functions that have to mean what they mean in Soufflé."""

from __future__ import annotations

import pytest

import whence
from whence.model.types import Value

ENGINES = ["local", "reference"]


def value(term: str, engine: str = "local") -> Value:
    db = whence.connect(engine=engine)
    db.rules(f".decl n(x: number)\nn(7). v({term}) :- n(x).")
    ((found,),) = db.rows("v")
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("x / 2", 3),
        ("-x / 2", -3),
        ("x / -2", -3),
        ("x / 2 * 2", 6),
        ("x / 2.0", 3.5),
        ("-x % 3", -1),
        ("x % -3", 1),
        ("max(x, 8, 1)", 8),
        ('substr("abc", x - 6, 1)', "b"),
        ('substr("abc", -1, 2)', ""),
        ('substr("abc", x - 8, 2)', ""),
        ('substr("abc", x, 2)', ""),
        ('strlen("añb")', 3),
        ('to_number("-12")', -12),
        ("to_string(x)", "7"),
        ('cat("a", "b", "c")', "abc"),
    ],
)
def test_values(engine: str, term: str, expected: Value) -> None:
    found = value(term, engine)
    assert found == expected
    assert type(found) is type(expected)


def test_whole_quotients_compare_with_whole_numbers() -> None:
    db = whence.connect()
    db.rules("n(7). n(8). half(x) :- n(x), x / 2 = 3.")
    assert db.rows("half") == {(7,)}


@pytest.mark.parametrize("engine", ENGINES)
def test_division_fails_as_elsewhere(engine: str) -> None:
    with pytest.raises(whence.EvaluationError, match="division by zero: 7 / 0"):
        value("x / 0", engine)
    with pytest.raises(whence.EvaluationError, match="-9223372036854775808 / -1 does not fit BIGINT"):
        value("(-9223372036854775807 - 1) / (x - 8)", engine)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("[[:digit:]]+", "123", True),
        ("[^[:digit:]]+", "12", False),
        ("[[:alpha:]_][[:alnum:]_]*", "a_1", True),
        ("[[:punct:]]", "[", True),
        ("[[]", "[", True),
        ("[a&&b]", "&", True),
        (r"\\[[:digit:]]", "[d]", True),
        ("fo{2,}", "fooo", True),
        (r"\\d", "٣", False),
        ("a", "ba", False),
        ("a", r"a\n", False),
    ],
)
def test_patterns(pattern: str, text: str, matches: bool) -> None:
    db = whence.connect()
    db.rules(f'p(1) :- match("{pattern}", "{text}").')
    assert bool(db.rows("p")) is matches


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("fo{x}", "'fo{x}' is not a regular expression: a { that starts no repetition"),
        ("fo{,2}", "a { that starts no repetition"),
        ("[[:nothing:]]", "a set of characters holds another one"),
        ("[[=a=]]", "a set of characters holds another one"),
        ("(", "'(' is not a regular expression"),
    ],
)
def test_patterns_that_are_none(pattern: str, message: str) -> None:
    with pytest.raises(whence.ParseError) as caught:
        whence.connect().rules(f'p(1) :- match("{pattern}", "a").')
    assert message in caught.value.message
