from __future__ import annotations

from collections.abc import Callable

import pytest

from whence.analysis.analyze import analyze
from whence.errors import TypeMismatchError, WhenceError
from whence.lang.datalog.parse import parse_datalog

Refusal = Callable[[str, type[WhenceError]], str]

DECLARED = """.decl link(src: STRING, dst: STRING, cost: INT)
.decl note(src: STRING nullable, weight: DOUBLE nullable)
"""


def schema(rules: str, relation: str) -> str:
    found = analyze(parse_datalog(DECLARED + rules)).relations[relation]
    assert found.distinct
    return ", ".join(f"{c.name} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in found.columns)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("p(x, y) :- link(x, y, _).", "x STRING NOT NULL, y STRING NOT NULL"),
        ('p("a", 1).', "_1 STRING NOT NULL, _2 INT NOT NULL"),
        ("p(c + 1, x) :- link(x, _, c).", "_1 INT NOT NULL, x STRING NOT NULL"),
        # Names are unique without regard to case.
        ("p(x, x, X) :- link(x, X, _).", "x STRING NOT NULL, x_2 STRING NOT NULL, X_3 STRING NOT NULL"),
        ("p(_2, 1, x) :- link(x, _2, _).", "_2 STRING NOT NULL, _2_2 INT NOT NULL, x STRING NOT NULL"),
        # The first rule names the columns, all rules together make the types.
        ("p(c) :- link(_, _, c). p(w) :- note(_, w).", "c DOUBLE"),
        ("p(c) :- link(_, _, c). p(c + 1) :- p(c), c < 3.", "c INT NOT NULL"),
        ("p(x) :- p(y), x = y. p(w) :- note(_, w).", "x DOUBLE"),
        ("p(x) :- note(x, _). p(null).", "x STRING"),
        # A bare NULL says nothing of a type before every other rule has been heard.
        ("p(null). p(x + x) :- p(x), x < 9. p(1).", "_1 INT"),
        ("p(x, y) :- q(y, x). q(x, y) :- p(y, x). q(x, y) :- link(x, _, y).", "x INT NOT NULL, y STRING NOT NULL"),
        # What lets no NULL pass.
        ("p(x, w) :- note(x, w), isnotnull(x), w > 1.", "x STRING NOT NULL, w DOUBLE NOT NULL"),
        ("p(x) :- note(x, _), link(x, _, _).", "x STRING NOT NULL"),
        ("p(v) :- note(_, w), v = w + 1, w < 3.", "v DOUBLE NOT NULL"),
        ("p(x) :- note(x, w), (isnotnull(x) or w > 1).", "x STRING"),
        # Aggregates: with groups nothing is empty, without groups only count knows what to say of nothing.
        ("p(x, min<c>, count<c>) :- link(x, _, c).", "x STRING NOT NULL, c INT NOT NULL, c_3 BIGINT NOT NULL"),
        ("p(sum<c>, count<*>) :- link(_, _, c).", "c BIGINT, _2 BIGINT NOT NULL"),
        ("p(x, max<w>) :- note(x, w).", "x STRING, w DOUBLE"),
        ("p(#f(x)) :- link(x, _, _).", "_1 STRING NOT NULL"),
    ],
)
def test_schemas_of_undeclared_relations(rules: str, expected: str) -> None:
    assert schema(rules, "p") == expected


def test_every_relation_of_the_analyzed_program_is_declared() -> None:
    analysis = analyze(parse_datalog(DECLARED + "p(x) :- q(x). q(x) :- link(x, _, _).\n.output p"))
    assert [relation.name for relation in analysis.program.relations] == ["link", "note", "q", "p"]
    assert dict(analysis.relations) == {relation.name: relation for relation in analysis.program.relations}
    assert len(analysis.program.directives) == 1


def test_rules_that_disagree_on_a_type(refusal: Refusal) -> None:
    said = refusal(DECLARED + "p(‹x) :- link(x, _, _).\np(«c) :- link(_, _, c).", TypeMismatchError)
    assert said.startswith("column 'x' of 'p' is INT here and STRING in another rule")
    assert "hint: convert one of them" in said


def test_a_recursion_that_nothing_starts(refusal: Refusal) -> None:
    said = refusal("«p(x) :- q(x). q(x) :- p(x).", TypeMismatchError)
    assert said.startswith("the column types of 'p' cannot be told: every rule for it depends on itself")
    assert "hint: declare 'p' with the types of its columns, or add a rule that starts it off" in said


def test_a_column_that_is_always_null(refusal: Refusal) -> None:
    said = refusal("p(1, «null).", TypeMismatchError)
    assert said.startswith("the type of column '_2' of 'p' cannot be told: it is always NULL")


def test_types_that_grow_without_end(refusal: Refusal) -> None:
    said = refusal("p(null).\n«p(array(x)) :- p(x).", TypeMismatchError)
    assert said.startswith("the types of 'p' grow with every round of its recursion")


def test_a_declared_column_takes_what_fits_it(refusal: Refusal) -> None:
    declared = DECLARED + ".decl p(x: STRING, ‹c: INT)\n"
    analyze(parse_datalog(DECLARED + ".decl p(c: DOUBLE nullable)\np(c) :- link(_, _, c). p(null)."))
    said = refusal(declared + "p(x, «x) :- link(x, _, _).", TypeMismatchError)
    assert said.startswith("column 'c' of 'p' is INT, but this is STRING")
    assert "note: column 'c' of 'p' is INT" in said
    assert "hint: as(x, INT) converts it, or change the declared type" in said
    assert "is INT, but this is DOUBLE" in refusal(declared + "p(x, «c / 2.5) :- link(x, _, c).", TypeMismatchError)
    assert "is INT, but this is BIGINT" in refusal(declared + "p(x, «sum<c>) :- link(x, _, c).", TypeMismatchError)
    said = refusal(declared + 'p("a", «"b").', TypeMismatchError)
    assert "is INT, but this is STRING" in said
    assert "hint: write a value of type INT, or change the declared type" in said


def test_a_declared_recursion_keeps_its_types(refusal: Refusal) -> None:
    analyze(parse_datalog(".decl p(x: BIGINT)\np(1). p(x + 1) :- p(x), x < 10."))
    said = refusal(".decl p(x: INT)\np(1). p(«x + y) :- p(x), q(y).\n.decl q(y: BIGINT)", TypeMismatchError)
    assert said.startswith("column 'x' of 'p' is INT, but this is BIGINT")


def test_a_column_that_is_not_null_takes_no_null(refusal: Refusal) -> None:
    declared = DECLARED + ".decl p(‹w: DOUBLE)\n"
    analyze(parse_datalog(declared.replace("‹", "") + "p(w) :- note(_, w), isnotnull(w)."))
    said = refusal(declared + "p(«w) :- note(_, w).", TypeMismatchError)
    assert said.startswith("column 'w' of 'p' is NOT NULL, but this can be NULL")
    assert "hint: keep NULL out with isnotnull(...) in the body, or declare the column nullable" in said
    assert "hint: max of no rows is NULL" in refusal(declared + "p(«max<c>) :- link(_, _, c).", TypeMismatchError)
