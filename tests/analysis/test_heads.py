from __future__ import annotations

from collections.abc import Callable

import pytest

from whence.analysis.analyze import analyze
from whence.errors import TypeMismatchError, UnsafeRuleError, UnsupportedError, WhenceError
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Program
from whence.model.rules import Atom, Comparison, Condition, Negation, Rule
from whence.model.schema import Column, Relation
from whence.model.span import SourceText, Span
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, Wildcard
from whence.model.types import INT

Refusal = Callable[[str, type[WhenceError]], str]

SPAN = Span(SourceText("<rules>", "12345"), 2, 3)
X = Variable("x")
MIN = Aggregate("min", X, span=SPAN)
ANY = Wildcard(span=SPAN)
A = Relation("a", (Column("n", INT),))


def program(head: Term, *body: Atom | Negation | Comparison | Condition) -> Program:
    return Program((A,), (Rule(Atom("p", (head,)), (Atom("a", (X,)), *body)),))


@pytest.mark.parametrize(
    "wrong",
    [
        program(Call("+", (MIN, X))),
        program(Aggregate("max", MIN)),
        program(X, Atom("a", (MIN,))),
        program(X, Negation(Atom("a", (MIN,)))),
        program(X, Comparison("<", X, MIN)),
        program(X, Condition(Call("isnull", (MIN,)))),
    ],
)
def test_an_aggregate_is_a_whole_column_of_a_head(wrong: Program) -> None:
    with pytest.raises(UnsupportedError, match="min stands inside") as caught:
        analyze(wrong)
    assert caught.value.span == SPAN
    assert "a column of its own in a rule's head" in str(caught.value.hint)


@pytest.mark.parametrize(
    "wrong",
    [
        program(ANY),
        program(Aggregate("min", ANY)),
        program(X, Atom("a", (Call("+", (ANY, X)),))),
        program(X, Comparison("<", X, ANY)),
        program(X, Condition(Call("isnull", (ANY,)))),
    ],
)
def test_a_wildcard_is_a_whole_column_of_a_body_atom(wrong: Program) -> None:
    with pytest.raises(UnsafeRuleError, match="_ stands where a value is needed") as caught:
        analyze(wrong)
    assert caught.value.span == SPAN


def test_wildcards_stand_in_positive_and_negated_atoms() -> None:
    analyze(program(X, Atom("a", (ANY,)), Negation(Atom("a", (ANY,)))))
    analyze(program(Constant(1, INT), Atom("a", (ANY,))))


LINK = ".decl link(src: STRING, dst: STRING, cost: INT)\n"


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("best(x, «max<c>) :- link(x, _, c).", "max here, min in its first rule"),
        ("best(x, «c) :- link(x, _, c).", "no aggregate here, min in its first rule"),
        ('best("x", «1).', "no aggregate here, min in its first rule"),
        ("best(«count<x>, min<c>) :- link(x, _, c).", "count here, no aggregate in its first rule"),
    ],
)
def test_the_rules_of_an_aggregated_relation_agree(refusal: Refusal, second: str, words: str) -> None:
    said = refusal(LINK + "best(x, min<c>) :- link(x, _, c).\n" + second, TypeMismatchError)
    assert said.startswith("the rules of 'best' aggregate differently: " + words)
    assert "note: its first rule is here" in said


def test_distinct_is_part_of_the_agreement(refusal: Refusal) -> None:
    text = LINK + "n(x, ‹count<y>) :- link(x, y, _).\nn(x, «count<distinct y>) :- link(x, y, _)."
    assert "count of distinct values here, count in its first rule" in refusal(text, TypeMismatchError)


def test_rules_that_aggregate_alike_go_together() -> None:
    analyze(parse_datalog(LINK + "b(x, min<c>) :- link(x, _, c).\nb(y, min<c + 1>) :- link(_, y, c)."))
