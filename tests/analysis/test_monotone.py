from __future__ import annotations

from collections.abc import Callable

import pytest

from whence.analysis.analyze import analyze
from whence.errors import StratificationError, WhenceError
from whence.lang.datalog.parse import parse_datalog

Refusal = Callable[[str, type[WhenceError]], str]

LINK = """.decl link(x: STRING, y: STRING, c: INT)
.decl probability(x: STRING, y: STRING, p: DOUBLE)
.decl train(x: STRING, y: STRING, day: DATE, days: INT)
.decl limit(c: INT)
.decl best(x: STRING, y: STRING, c: BIGINT)
"""
START = "best(x, y, min<c>) :- link(x, y, c).\n"


@pytest.mark.parametrize(
    "rules",
    [
        START + "best(x, y, min<c0 + c1>) :- link(x, z, c0), best(z, y, c1).",
        # Through an ordinary relation of the same component.
        """
        path(x, y, c) :- link(x, y, c).
        path(x, y, c) :- link(x, z, c0), best(z, y, c1), c = c0 + c1.
        best(x, y, min<c>) :- path(x, y, c).
        """,
        START + "best(x, y, min<c>) :- best(x, z, c1), best(z, y, c2), c = c1 + c2.",
        START + "best(x, y, min<d>) :- best(x, y, c), d = least(greatest(c, 3), 10) - 1.",
        START + "best(x, y, min<c * 2>) :- best(x, y, c).",
        START + "best(x, y, min<2 * c>) :- best(x, y, c).",
        START + "best(x, y, min<as(c / 2, BIGINT)>) :- best(x, y, c).",
        START + "best(x, y, min<0 - d>) :- best(x, y, c), d = -c.",
        START + "best(x, y, min<c * -1 * -3>) :- best(x, y, c).",
        START + "best(x, y, min<as(as(c, DOUBLE), BIGINT)>) :- best(x, y, c).",
        # Comparisons that stay true as the value falls.
        START + "best(x, y, min<c + 1>) :- best(x, y, c), c < 10, 20 >= c, c <= k, limit(k).",
        START + "best(x, y, min<c + 1>) :- best(x, y, c), isnotnull(c), not (c > 5).",
        START + 'best(x, y, min<c + 1>) :- best(x, y, c), (c < 10 or x = "a").',
        # The value does not matter, or is used where nothing depends on the component.
        START + "best(x, y, min<c>) :- best(x, z, _), link(z, y, c).",
        START + "best(x, y, min<c>) :- link(x, y, c), limit(c), !limit(c), c > 3.",
        START + "fix(x, y, c) :- best(x, y, c), limit(c), !limit(c + 1), c % 2 = 1.",
        "up(x, y, max<c>) :- link(x, y, c). up(x, y, max<c - 1>) :- up(x, y, c), c >= 7.",
        """
        when("a", min<d>) :- train("a", _, d, _).
        when(y, min<date_add(dep, n)>) :- when(x, d), train(x, y, dep, n), d <= dep.
        when(y, min<date_add(d, n)>) :- when(x, d), train(x, y, _, n), datediff(d, DATE "2026-01-01") < 30.
        """,
    ],
)
def test_monotone_recursion_is_accepted(rules: str) -> None:
    analysis = analyze(parse_datalog(LINK + rules))
    assert analysis.notices == ()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "best(x, y, min<c>) :- ‹best(x, y, c), limit(«c).",
            "'c' is joined on, but min can still make the value smaller",
        ),
        ("best(x, y, min<c>) :- limit(c), best(x, y, «c).", "column 'c' of 'best' is joined on"),
        ("best(x, y, min<4>) :- best(x, y, «4).", "column 'c' of 'best' is joined on"),
        ("best(x, y, min<c>) :- best(x, y, c), best(y, x, «c).", "'c' is joined on"),
        ("best(x, y, min<c>) :- best(x, y, c), link(x, y, «c + 1).", "'c' is joined on"),
        ("best(x, y, min<d>) :- best(x, y, c), d = c + 1, !limit(«d).", "'d' stands in a negated atom"),
        ("best(x, y, min<c>) :- best(x, y, c), «c > 3.", "this condition decides now, but min"),
        ("best(x, y, min<c>) :- best(x, y, c), limit(k), «k <= c.", "this condition decides now"),
        ("best(x, y, min<c>) :- best(x, y, c), «c = 3.", "this compares for equality, but min can still make"),
        ("best(x, y, min<c>) :- best(x, y, c), «c != 3.", "this compares for equality"),
        (
            "best(x, y, min<c>) :- best(x, y, c), «not (c < 3).",
            "this condition decides now, but min",
        ),
        ("best(x, y, min<c>) :- best(x, y, c), «isnull(c).", "this condition decides now, but min"),
        (
            "best(x, y, «min<10 - c>) :- best(x, y, c).",
            "column 'c' of 'best' can only fall while the recursion runs, but",
        ),
        ("best(x, y, «min<c * -2>) :- best(x, y, c).", "column 'c' of 'best' can only fall"),
        ("best(x, y, min<«c - c>) :- best(x, y, c).", "the result of - may move either way"),
        ("best(x, y, min<«c % 3>) :- best(x, y, c).", "the result of % may move either way"),
        ("best(x, y, min<«abs(c)>) :- best(x, y, c).", "the result of abs may move either way"),
        ("best(x, y, min<«if((x = y), c, 1)>) :- best(x, y, c).", "the result of if may move either way"),
        ("best(x, y, min<«coalesce(c, 1)>) :- best(x, y, c).", "the result of coalesce may move either way"),
        ("best(x, y, min<as(«10 / c, BIGINT)>) :- best(x, y, c).", "the result of / may move either way"),
        ("best(x, y, min<length(«as(c, STRING))>) :- best(x, y, c).", "the result of this term may move either way"),
    ],
)
def test_recursion_that_could_take_a_binding_back_is_refused(refusal: Refusal, rule: str, words: str) -> None:
    said = refusal(LINK + START + rule.replace("‹", ""), StratificationError)
    assert said.startswith(words)
    assert "note: the min is here" in said
    assert "hint: " in said


NULLABLE = """
.decl leg(x: STRING, y: STRING, c: INT nullable)
.decl low(x: STRING, y: STRING, c: INT nullable)
.decl high(x: STRING, y: STRING, c: INT nullable)
low(x, y, min<c>) :- leg(x, y, c).
high(x, y, max<c>) :- leg(x, y, c).
"""


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "high(x, y, max<least(«c, 9)>) :- high(y, x, c).",
            "least passes over NULL, and this can be NULL first and have a value later, with which least may get worse",
        ),
        (
            "low(x, y, min<d>) :- low(y, x, c), d = greatest(3, «c + 1).",
            "greatest passes over NULL, and this can be NULL first",
        ),
        ("low(x, y, min<-least(1, «-c)>) :- low(y, x, c).", "least passes over NULL, and this can be NULL first"),
        (
            "low(x, y, min<as(ln(«c), INT)>) :- low(y, x, c), isnotnull(c).",
            "ln is NULL as soon as its argument has come down to 0, and min can still make the value smaller",
        ),
    ],
)
def test_what_gets_worse_when_there_is_a_value(refusal: Refusal, rule: str, words: str) -> None:
    said = refusal(LINK + NULLABLE + rule, StratificationError)
    assert said.startswith(words)
    assert "here" in said.partition("note: the m")[2]


def test_the_hint_keeps_null_out(refusal: Refusal) -> None:
    said = refusal(LINK + NULLABLE + "low(x, y, min<greatest(«c, 3)>) :- low(y, x, c).", StratificationError)
    assert said.endswith("hint: keep NULL out of it with a condition: isnotnull(c), or in SQL c IS NOT NULL")


@pytest.mark.parametrize(
    "rule",
    [
        "low(x, y, min<greatest(c, 3)>) :- low(y, x, c), isnotnull(c).",
        "low(x, y, min<greatest(c, 3)>) :- low(y, x, c), c < 100.",
        "high(x, y, max<least(c, 9)>) :- isnotnull(c), high(y, x, c).",
        # A NULL counts as the worst value, and these pass it over for a better one.
        "low(x, y, min<least(c, 3)>) :- low(y, x, c).",
        "high(x, y, max<greatest(c, 9)>) :- high(y, x, c).",
        # What is NULL here stays NULL.
        "high(x, y, max<least(c, k)>) :- high(y, x, c), isnotnull(c), leg(x, y, k).",
        "high(x, y, max<as(ln(c), INT)>) :- high(y, x, c).",
    ],
)
def test_null_that_does_no_harm(rule: str) -> None:
    assert analyze(parse_datalog(LINK + NULLABLE + rule)).notices == ()


def test_the_note_shows_the_aggregate(refusal: Refusal) -> None:
    text = LINK + "best(x, y, ‹min<c>) :- link(x, y, c).\nbest(x, y, min<c>) :- best(x, y, c), limit(«c)."
    said = refusal(text, StratificationError)
    assert "hint: join on columns that are not aggregated" in said


def test_an_aggregated_relation_does_not_group_by_an_improving_value(refusal: Refusal) -> None:
    text = """
near(x, min<c>) :- link(x, _, c).
near(x, min<n>) :- level(x, n, _).
level(x, «c, ‹max<c>) :- near(x, c).
"""
    said = refusal(LINK + text.replace("‹", ""), StratificationError)
    assert said.startswith("'level' groups by a value that depends on itself, but min can still make the value smaller")


def test_min_and_max_of_the_same_value(refusal: Refusal) -> None:
    text = LINK + "low(x, min<c>) :- high(x, c).\nhigh(x, max<c>) :- link(x, _, c).\nhigh(x, «max<c>) :- low(x, c)."
    assert refusal(
        text.replace("low(x, min<c>) :- high(x, c).", "low(x, min<c>) :- link(x, _, c), high(x, _)."),
        StratificationError,
    ).startswith("column 'c' of 'high' can only rise while the recursion runs, but this value falls")


def test_a_plain_column_that_would_move_both_ways(refusal: Refusal) -> None:
    text = """
low(x, min<c>) :- link(x, _, c).
low(x, min<c>) :- link(x, _, c), both(x, _).
high(x, max<c>) :- link(x, _, c), both(x, _).
both(x, c) :- low(x, c).
both(x, «c) :- high(x, c).
"""
    said = refusal(LINK + text, StratificationError)
    assert said.startswith("column 'c' of 'both' can only fall while the recursion runs, but this value rises")


def test_products_of_two_values_are_taken_on_trust() -> None:
    rules = """
route(x, y, max<p>) :- probability(x, y, p).
route(x, y, max<p * q>) :- probability(x, z, p), route(z, y, q).
route(x, y, max<p * q>) :- route(x, z, p), route(z, y, q).
"""
    notices = analyze(parse_datalog(LINK + rules)).notices
    assert [notice.partition(":")[0] for notice in notices] == [
        "'route' multiplies or divides by a value that is no constant inside its recursion (<rules>",
    ] * 2
    assert "(<rules>:8:17)" in notices[0]
    assert notices[0].endswith("whence takes it that this value is never negative")


def test_a_moving_value_may_pass_through_many_relations() -> None:
    hops = 2_000
    chain = "\n".join(f"p{i}(x, y, c) :- p{i + 1}(x, y, c)." for i in range(hops))
    rules = START + f"best(x, y, min<c>) :- p0(x, y, c).\n{chain}\np{hops}(x, y, c + 1) :- best(x, y, c)."
    parts = analyze(parse_datalog(LINK + rules)).components
    assert max(len(part.relations) for part in parts) == hops + 2
