from __future__ import annotations

from collections.abc import Callable

import pytest

from whence.analysis.analyze import analyze
from whence.analysis.order import order_body
from whence.analysis.typing import body_types
from whence.errors import TypeMismatchError, UnknownNameError, WhenceError
from whence.functions.types import Typed
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Signature
from whence.model.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP

Refusal = Callable[[str, type[WhenceError]], str]

DECLARED = """.decl person(name: STRING, age: INT)
.decl score(name: STRING nullable, points: BIGINT, rate: DOUBLE nullable)
.decl event(what: STRING, at: TIMESTAMP, day: DATE)
"""


def types(rule: str) -> dict[str, Typed]:
    program = parse_datalog(DECLARED + rule)
    return dict(body_types(order_body(program.rules[0]), {r.name: r for r in program.relations}, {}))


def test_columns_give_variables_their_types() -> None:
    assert types("p(x) :- score(x, n, r), y = n + 1, b = (n > 3).") == {
        "x": Typed(STRING, True),
        "n": Typed(BIGINT, False),
        "r": Typed(DOUBLE, True),
        "y": Typed(BIGINT, False),
        "b": Typed(BOOLEAN, False),
    }


def test_a_shared_variable_has_the_widest_type_in_every_order() -> None:
    wide = Typed(DOUBLE, True)
    assert types("p(x) :- person(_, x), y = x + 1, score(_, _, x).") == {"x": wide, "y": wide}
    assert types("p(x) :- score(_, _, x), person(_, x), y = x + 1.") == {"x": wide, "y": wide}
    assert types("p(x) :- event(_, x, _), event(_, _, x).")["x"] == Typed(TIMESTAMP, False)


def test_a_variable_can_be_null_until_a_later_step_refuses_it() -> None:
    assert types("p(x) :- score(x, _, _), isnotnull(x).")["x"] == Typed(STRING, True)


def test_computed_terms_in_atoms_get_a_variable_of_their_own() -> None:
    found = types("p(x) :- person(_, x), score(_, y, y + x), y > 1.")
    assert found["y"] == Typed(BIGINT, False)
    assert set(found.values()) == {Typed(INT, False), Typed(BIGINT, False), Typed(DOUBLE, True)}


def test_columns_of_different_types_do_not_match(refusal: Refusal) -> None:
    said = refusal(DECLARED + "p(x) :- person(‹x, _), score(_, «x, _).", TypeMismatchError)
    assert said.startswith(
        "'x' stands for two columns that never match: column 'points' of 'score' is BIGINT, and column"
    )
    assert "column 'name' of 'person' is STRING" in said
    assert "note: 'x' stands here, too" in said
    assert "hint: use two variables" in said


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('p(x) :- person(x, «"old").', "column 'age' of 'person' is INT, but this is STRING"),
        ("p(x) :- person(x, _), !score(_, «x, _).", "column 'points' of 'score' is BIGINT, but this is STRING"),
        ("p(x) :- person(x, n), person(«n + 1, _).", "column 'name' of 'person' is STRING, but this is INT"),
        ("p(x) :- person(x, n), score(_, «#f(x), _).", "column 'points' of 'score' is BIGINT, but this is STRING"),
    ],
)
def test_terms_in_atoms_have_the_columns_type(refusal: Refusal, rule: str, words: str) -> None:
    assert refusal(DECLARED + rule, TypeMismatchError).startswith(words)


def test_the_columns_declaration_is_shown(refusal: Refusal) -> None:
    text = '.decl person(name: STRING, ‹age: INT)\np(x) :- person(x, «"old").'
    assert "note: column 'age' of 'person' is INT" in refusal(text, TypeMismatchError)


def test_constants_of_a_narrower_type_match() -> None:
    analyze(parse_datalog(DECLARED + "p(x) :- score(x, 1, 2). q(x) :- score(x, 1, null)."))


def test_a_condition_is_boolean(refusal: Refusal) -> None:
    said = refusal(DECLARED + "p(x) :- person(x, n), «length(x).", TypeMismatchError)
    assert said.startswith("a condition is BOOLEAN, but this is INT")


def test_comparisons_compare_like_with_like(refusal: Refusal) -> None:
    refusal(DECLARED + "p(x) :- person(x, n), event(_, t, _), «n < t.", TypeMismatchError)


def test_sum_adds_up_numbers(refusal: Refusal) -> None:
    said = refusal(DECLARED + "p(n, «sum<x>) :- person(x, n).", TypeMismatchError)
    assert said.startswith("sum adds up numbers, not STRING")


def test_functions_are_known_by_their_signatures(refusal: Refusal) -> None:
    program = parse_datalog(DECLARED + "p(x, @distance(x, n)) :- person(x, n).")
    analysis = analyze(program, {"distance": Signature("distance", DOUBLE)})
    assert [str(column.type) for column in analysis.relations["p"].columns] == ["STRING", "DOUBLE"]
    refusal(DECLARED + "p(x, «@distance(x, n)) :- person(x, n).", UnknownNameError)
