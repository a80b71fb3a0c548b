from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from whence.analysis.analyze import analyze
from whence.errors import StratificationError, WhenceError
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Program
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Column, Relation
from whence.model.terms import Variable
from whence.model.types import INT

Refusal = Callable[[str, type[WhenceError]], str]

MOVE = ".decl move(x: STRING, y: STRING)\n"


def test_a_relation_that_negates_itself(refusal: Refusal) -> None:
    said = refusal(MOVE + "‹win(x) :- move(x, y), «!win(y).", StratificationError)
    assert said.startswith("'win' depends on its own negation: win -> win")
    assert "note: this rule defines 'win'" in said
    assert "hint: negate a relation that does not depend on 'win'" in said


def test_negation_across_a_cycle_shows_both_places(refusal: Refusal) -> None:
    text = """
win(x) :- move(x, y), «!lose(y).
lose(x) :- draw(x).
draw(x) :- move(x, y), ‹win(y).
"""
    said = refusal(MOVE + text, StratificationError)
    assert said.startswith("'win' depends on the negation of 'lose', which depends on it: win -> lose -> draw -> win")
    assert "note: 'draw' depends on 'win' here" in said


@pytest.mark.parametrize("function", ["count", "sum", "avg"])
def test_aggregates_that_cannot_improve_step_by_step(refusal: Refusal, function: str) -> None:
    text = """.decl owns(a: STRING, b: STRING, share: INT)
.decl controls(a: STRING, b: STRING)
total(x, y, «%s<n>) :- owns(x, z, n), ‹controls(z, y).
controls(x, y) :- total(x, y, n), n > 50.
"""
    said = refusal(text % function, StratificationError)
    assert said.startswith(f"'total' is recursive, and its {function} would have to count rows that depend on it: ")
    assert "total -> controls -> total" in said
    assert f"note: {function} ranges over 'controls' here" in said
    assert "note: 'controls' depends on 'total' here" in said
    assert "hint: only min and max can improve step by step" in said


def test_count_beside_min_in_one_head(refusal: Refusal) -> None:
    text = MOVE + "d(x, min<n>, «count<n>) :- move(x, y), d(y, n, _)."
    assert "its count would have to count rows" in refusal(text, StratificationError)


def test_a_differential_rule_in_a_recursion(refusal: Refusal) -> None:
    text = """
r(x, y) :- move(x, y).
r(x, y) :- move(x, z), ‹r(z, y).
«-r(x, x) :- move(x, _).
"""
    said = refusal(MOVE + text, StratificationError)
    assert said.startswith("'r' is recursive (r -> r), so no rule can take rows away from it")
    assert "hint: take the rows away in a relation of its own, which reads 'r'" in said


def test_a_bag_in_a_recursion(refusal: Refusal) -> None:
    said = refusal(
        MOVE + ".decl «r(x: STRING, y: STRING) bag\nr(x, y) :- move(x, y).\nr(x, y) :- move(x, z), ‹r(z, y).",
        StratificationError,
    )
    assert said.startswith("'r' is recursive, so it cannot be a bag: its rows would count without end")
    assert "hint: declare it as a set; a relation of its own that reads it can be a bag" in said


def test_negation_counting_and_subtracting_above_a_recursion_are_fine() -> None:
    text = """
r(x, y) :- move(x, y).
r(x, y) :- move(x, z), r(z, y).
stuck(x, y) :- move(x, _), move(_, y), !r(x, y).
reach(x, count<y>) :- r(x, y).
loops(x) :- r(x, x).
-loops(x) :- move(x, x).
"""
    parts = analyze(parse_datalog(MOVE + text)).components
    assert [part.relations for part in parts if part.recursive] == [("r",)]


def test_a_long_cycle_is_shown_by_its_ends() -> None:
    x = (Variable("x"),)
    names = [f"v{i}" for i in range(30_000)]
    rules = [Rule(Atom(a, x), (Atom(b, x),)) for a, b in pairwise(names)]
    rules.append(Rule(Atom(names[-1], x), (Atom("base", x), Negation(Atom("v0", x)))))
    with pytest.raises(StratificationError) as caught:
        analyze(Program((Relation("base", (Column("n", INT),)),), tuple(rules)))
    assert "v29999 -> v0 -> v1 -> v2 -> ... -> v29996 -> v29997 -> v29998 -> v29999" in str(caught.value)


def test_subqueries_go_by_the_name_of_their_view() -> None:
    x = (Variable("x"),)
    base = Relation("base", (Column("n", INT),))
    rules = (
        Rule(Atom("v", x), (Atom("base", x), Negation(Atom("v$matched", x)))),
        Rule(Atom("v$matched", x), (Atom("v", x),)),
    )
    with pytest.raises(StratificationError) as caught:
        analyze(Program((base,), rules))
    assert str(caught.value) == (
        "'v' is recursive, and this asks for rows that it does not have, which is only known when the recursion is "
        "over\n"
        "hint: negate, or join with LEFT, RIGHT or FULL, outside the recursion: in a view that reads 'v'"
    )
