"""Whatever is typed, the answer is a program or an error that says where."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import InternalError, ParseError, WhenceError
from whence.lang.datalog.literals import DEPTH_LIMIT, EXPANSION_LIMIT, NESTING_LIMIT
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Program

WORDS = """. , ; : :- :: := ( ) [ ] { } < > <= >= = == != <=> <: ! | + - * / % ^ @ # $ ? _ ` " \\ ' // /* */ ~ & a b x
    link( count sum min mean and or not as( true null nil distinct bag key( ttl( nullable DATE "1" "2020-01-01" 1 0x1
    1.5 1e3 0b .decl .type .input .output .comp eqrel choice-domain number ARRAY< DECIMAL( :{ $A autoinc() substr( é
    \n \t \ud800 \x00 \ufeff""".split(" ")


def answer(text: str) -> None:
    """Reads the text; an error has to be the reader's, and has to have a place."""
    problem: WhenceError | None = None
    try:
        parse_datalog(text)
    except WhenceError as error:
        problem = error
    if problem is not None:
        assert not isinstance(problem, InternalError)
        assert problem.span is not None
        assert 0 <= problem.span.start <= len(text)
        str(problem).encode("utf-8")


@given(st.lists(st.sampled_from(WORDS)).map(" ".join) | st.lists(st.sampled_from(WORDS)).map("".join))
@settings(max_examples=500)
def test_words_in_any_order(text: str) -> None:
    answer(text)


@given(st.text(st.characters(), max_size=50))
def test_any_text(text: str) -> None:
    answer(text)


PROGRAM = """.decl link(src: symbol, dst: symbol, cost: DECIMAL(10, 2) nullable) key(src) ttl("1 day") // links
.input link(filename="links.csv")
reachable(x, min<c + 1>), other(x) :- link(x, y, c), !(link(y, x, _), c < 3), (x = "a" ; y = "\\u0041").
-busy(x, n) :- link(x, _, _), n = sum c : { link(x, _, c) }, like(x, "a%"), z = as(n, INT), @f(z, #g(x), [1, 2]).
"""


@given(st.integers(0, len(PROGRAM)), st.integers(0, 5), st.sampled_from(["", *WORDS]))
@settings(max_examples=500)
def test_a_program_with_a_slip(place: int, length: int, word: str) -> None:
    answer(PROGRAM[:place] + word + PROGRAM[place + length :])


@pytest.mark.parametrize(
    "text",
    [
        "a(" + "(" * 10_000 + "1" + ")" * 10_000 + ").",
        "a(" + "f(" * 10_000 + "1" + ")" * 10_000 + ").",
        "a(" + "[" * 10_000 + "]" * 10_000 + ").",
        "a(" + "#f(" * 10_000 + ")" * 10_000 + ").",
        "a() :- " + "(" * 10_000 + "b()" + ")" * 10_000 + ".",
        "a() :- " + "!(c(), " * 10_000 + "b()" + ")" * 10_000 + ".",
        "a() :- " + "(c() ; " * 10_000 + "b()" + ")" * 10_000 + ".",
        "a() :- (" + "not " * 10_000 + "b).",
        "a(" + "as(" * 10_000 + "1" + ", INT)" * 10_000 + ").",
        "a(" + "-" * 10_000 + "x) :- b(x).",
        "a(" + " + ".join("x" * 10_000) + ") :- b(x).",
        "a(" + " ^ ".join("x" * 10_000) + ") :- b(x).",
        "a() :- (" + " or ".join("x" * 10_000) + ").",
        "a() :- !(" + ", ".join(["1 < 2"] * 10_000) + ").",
        "a() :- " + "1 = count : { " * 10_000 + "b()" + " }" * 10_000 + ".",
        ".decl a(x: " + "ARRAY<" * 10_000 + "INT" + ">" * 10_000 + ")",
        "a([]::" + "ARRAY<" * 10_000 + "INT" + ">" * 10_000 + ").",
        "".join(f".type t{i} = t{i + 1}\n" for i in range(10_000)) + ".type t10000 = number",
    ],
    ids=range(18),
)
def test_deep_nesting(text: str) -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        parse_datalog(text)


def test_nesting_within_the_limits() -> None:
    inner = NESTING_LIMIT - 1
    assert len(parse_datalog("a(" + "(" * inner + "1" + ")" * inner + ").").rules) == 1
    assert len(parse_datalog("a(" + " + ".join("x" * DEPTH_LIMIT) + ") :- b(x).").rules) == 1
    assert len(parse_datalog("a() :- " + "; ".join(["b()"] * EXPANSION_LIMIT) + ".").rules) == EXPANSION_LIMIT


def test_unclosed_nesting() -> None:
    with pytest.raises(ParseError, match="expected"):
        parse_datalog("a(" + "(" * 10_000)


def test_too_many_rules_from_one() -> None:
    with pytest.raises(ParseError, match="more than 1000 rules"):
        parse_datalog("a() :- " + ", ".join(["(b() ; c())"] * 20) + ".")
    counts = ", ".join(f"n{i} = count : {{ c(x, {i}) }}" for i in range(20))
    with pytest.raises(ParseError, match="more than 1000 rules"):
        parse_datalog(f"a(x) :- b(x), {counts}.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a("\0").', "a NUL character"),
        ('a("\ud800").', r"half of a surrogate pair \(U\+D800\)"),
        ('a("\\ud800").', "half of a surrogate pair"),
    ],
)
def test_no_characters(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message) as raised:
        parse_datalog(text)
    str(raised.value).encode("utf-8")


@pytest.mark.parametrize("text", ["", " \n", "// nothing", "/* nothing */", "\ufeff"])
def test_no_statements(text: str) -> None:
    assert parse_datalog(text) == Program()
