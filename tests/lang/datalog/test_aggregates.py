"""Aggregates in bodies: the rules they become, and that these rules mean what Soufflé's aggregates mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from whence.analysis.analyze import analyze
from whence.engines.reference.evaluate import evaluate
from whence.errors import UnsupportedError
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog
from whence.model.types import Row


@pytest.mark.parametrize(
    ("written", "rules"),
    [
        (
            "a(x, n) :- b(x), n = count : { c(x, _) }.",
            """
            a$agg1(x, count<*>) :- c(x, _).
            a(x, n) :- b(x), a$agg1(x, n).
            a(x, n) :- b(x), !a$agg1(x, _), n = BIGINT "0".
            """,
        ),
        (
            "a(x, n) :- b(x), n = sum y : c(x, y).",
            """
            a$agg1(x, sum<y>) :- c(x, y), isnotnull(y).
            a(x, n) :- b(x), a$agg1(x, n).
            a(x, n) :- b(x), !a$agg1(x, _), n = 0.
            """,
        ),
        (
            "a(x, n) :- b(x), n = min y * 2 : { c(x, y), y > 1 }.",
            """
            a$agg1(x, min<y * 2>) :- c(x, y), y > 1, isnotnull(y * 2).
            a(x, n) :- b(x), a$agg1(x, n).
            """,
        ),
        ("a(n) :- n = count : { b(_) }.", "a$agg1(count<*>) :- b(_). a(n) :- a$agg1(n)."),
        (
            "a(n) :- n = sum x : { b(x) }.",
            "a$agg1(sum<x>) :- b(x). a(n) :- a$agg1(total$1), n = coalesce(total$1, 0).",
        ),
        ("a(n) :- n = max(x) : { b(x) }.", "a$agg1(max<x>) :- b(x). a(n) :- a$agg1(n), isnotnull(n)."),
        ("a(n) :- n = mean (x) + 1 : { b(x) }.", "a$agg1(avg<x + 1>) :- b(x). a(n) :- a$agg1(n), isnotnull(n)."),
        ("a() :- 2 < count : { b(_) }.", "a$agg1(count<*>) :- b(_). a() :- a$agg1(agg$1), 2 < agg$1."),
        ("a(count : { b(_) }).", "a$agg1(count<*>) :- b(_). a(agg$1) :- a$agg1(agg$1)."),
        ("a() :- c((count : { b(_) }) + 1).", "a$agg1(count<*>) :- b(_). a() :- a$agg1(agg$1), c(agg$1 + 1)."),
        (
            "a(x, n) :- b(x), n = max y : { d(y), y < x }.",
            """
            a$outer1(x) :- b(x).
            a$agg1(x, max<y>) :- a$outer1(x), d(y), y < x, isnotnull(y).
            a(x, n) :- b(x), a$agg1(x, n).
            """,
        ),
        (
            "a(z, n) :- b(x), z = x + 1, n = max y : { d(y), y < z }.",
            """
            a$outer1(z) :- b(x), z = x + 1.
            a$agg1(z, max<y>) :- a$outer1(z), d(y), y < z, isnotnull(y).
            a(z, n) :- b(x), z = x + 1, a$agg1(z$1, n), z$1 <=> z.
            """,
        ),
        (
            "a(n) :- n = count : { b(x) ; d(x) }.",
            "a$any1(x) :- b(x). a$any1(x) :- d(x). a$agg1(count<*>) :- a$any1(x). a(n) :- a$agg1(n).",
        ),
        (
            "a(n, m) :- m = count : { b(x), x < n }, n = max x : { b(x) }.",
            """
            a$agg1(max<x>) :- b(x).
            a$outer1(n) :- a$agg1(n).
            a$agg2(n, count<*>) :- a$outer1(n), b(x), x < n.
            a(n, m) :- a$agg2(n, m), a$agg1(n), isnotnull(n).
            a(n, m) :- !a$agg2(n, _), m = BIGINT "0", a$agg1(n), isnotnull(n).
            """,
        ),
        (
            "a(n) :- n = max m : { b(x), m = min y : { c(x, y) } }.",
            """
            a$agg2(x, min<y>) :- c(x, y), isnotnull(y).
            a$agg1(max<m>) :- b(x), a$agg2(x, m).
            a(n) :- a$agg1(n), isnotnull(n).
            """,
        ),
        (
            "a(x, n) :- (b(x) ; d(x)), n = max y : { c(x, y) }.",
            """
            a$agg1(x, max<y>) :- c(x, y), isnotnull(y).
            a(x, n) :- b(x), a$agg1(x, n).
            a(x, n) :- d(x), a$agg1(x, n).
            """,
        ),
        (
            "a$agg1(1). a(n) :- n = count : { b(_) }.",
            "a$agg1(1). a$agg2(count<*>) :- b(_). a(n) :- a$agg2(n).",
        ),
    ],
)
def test_rules(written: str, rules: str) -> None:
    program = parse_datalog(written)
    assert to_datalog(program) == to_datalog(parse_datalog(rules))


def test_an_aggregate_in_the_argument_of_another_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="an aggregate in the argument of an aggregate"):
        parse_datalog("a(n) :- n = sum x + (count : { b(_) }) : { b(x) }.")


DECLARED = ".decl b(x: number) .decl c(x: number, y: number nullable)\n"
SMALL = st.integers(-2, 3)
BS = st.sets(st.tuples(SMALL), max_size=4)
CS = st.sets(st.tuples(SMALL, st.none() | SMALL), max_size=6)


def rows_of(rules: str, bs: Iterable[Row], cs: Iterable[Row]) -> set[Row]:
    analysis = analyze(parse_datalog(DECLARED + rules))
    return set(evaluate(analysis, {"b": dict.fromkeys(bs, 1), "c": dict.fromkeys(cs, 1)})["a"])


def known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


AGGREGATES: dict[str, Callable[[list[int | None]], float | None]] = {
    "count": len,
    "sum y": lambda values: sum(known(values)),
    "min y": lambda values: min(known(values), default=None),
    "max y": lambda values: max(known(values), default=None),
    "mean y": lambda values: sum(known(values)) / len(known(values)) if known(values) else None,
}


@pytest.mark.parametrize("aggregate", AGGREGATES)
@given(bs=BS, cs=CS)
@settings(max_examples=40)
def test_per_value_of_an_outer_variable(aggregate: str, bs: set[tuple[int]], cs: set[tuple[int, int | None]]) -> None:
    found = rows_of(f"a(x, n) :- b(x), n = {aggregate} : {{ c(x, y) }}.", bs, cs)
    groups = {x: AGGREGATES[aggregate]([y for other, y in cs if other == x]) for (x,) in bs}
    assert found == {(x, value) for x, value in groups.items() if value is not None}


@pytest.mark.parametrize("aggregate", AGGREGATES)
@given(bs=BS, cs=CS)
@settings(max_examples=40)
def test_over_everything(aggregate: str, bs: set[tuple[int]], cs: set[tuple[int, int | None]]) -> None:
    found = rows_of(f"a(n) :- n = {aggregate} : {{ c(_, y) }}.", bs, cs)
    value = AGGREGATES[aggregate]([y for _, y in cs])
    assert found == ({(value,)} if value is not None else set())


@pytest.mark.parametrize("aggregate", AGGREGATES)
@given(bs=BS, cs=CS)
@settings(max_examples=40)
def test_with_an_outer_variable_in_a_comparison(
    aggregate: str, bs: set[tuple[int]], cs: set[tuple[int, int | None]]
) -> None:
    found = rows_of(f"a(x, n) :- b(x), c(x, _), n = {aggregate} : {{ c(z, y), z < x }}.", bs, cs)
    outer = {x for (x,) in bs} & {x for x, _ in cs}
    groups = {x: AGGREGATES[aggregate]([y for z, y in cs if z < x]) for x in outer}
    assert found == {(x, value) for x, value in groups.items() if value is not None}


@given(bs=BS, cs=CS)
@settings(max_examples=60)
def test_two_counts_and_a_negated_group(bs: set[tuple[int]], cs: set[tuple[int, int | None]]) -> None:
    found = rows_of(
        "a(x, n, m) :- b(x), n = count : { c(x, _) }, m = count : { b(y), y < n }, !(c(x, z), b(z)).", bs, cs
    )
    expected = set()
    for (x,) in bs:
        if not any(other == x and (z,) in bs for other, z in cs):
            n = sum(other == x for other, _ in cs)
            expected.add((x, n, sum(y < n for (y,) in bs)))
    assert found == expected


@given(bs=BS, cs=CS)
@settings(max_examples=60)
def test_alternatives_count_each_row_once(bs: set[tuple[int]], cs: set[tuple[int, int | None]]) -> None:
    found = rows_of("a(x, n) :- b(x), n = count : { c(x, y) ; c(y, x) }.", bs, cs)
    expected = {(x, len({y for u, y in cs if u == x} | {u for u, y in cs if y == x})) for (x,) in bs}
    assert found == expected


@given(bs=BS, cs=CS)
@settings(max_examples=60)
def test_nested(bs: set[tuple[int]], cs: set[tuple[int, int | None]]) -> None:
    found = rows_of("a(x, n) :- b(x), n = sum m : { b(y), m = count : { c(y, x) } }.", bs, cs)
    assert found == {(x, sum((y, x) in cs for (y,) in bs)) for (x,) in bs}


def test_an_aggregate_gives_no_value_to_a_variable_that_is_defined_beside_it() -> None:
    """Found by a random program: with the aggregate the definition became a comparison, which no NULL passes."""
    db = whence.connect()
    db.rules("""
        .decl e(x: INT nullable)
        twice(y) :- e(x), y = x + x.
        counted(y, n) :- e(x), y = x + x, n = count : { e(y) }.
    """)
    db.insert("e", [(None,), (1,), (2,)])
    assert db.rows("twice") == {(None,), (2,), (4,)}
    assert db.rows("counted") == {(None, 1), (2, 1), (4, 0)}
