"""The checker says no to every step that does not hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

import whence
from tests.explain.proofs.checker import Checker, FalseStepError
from tests.explain.proofs.helpers import session
from whence.database.database import Database
from whence.engines.engine import Derivation
from whence.explain.proofs.reasons import Fact, Reason, ReasonKind

RULES = """
far(x, y) :- link(x, y, _).
far(x, y) :- link(x, z, _), far(z, y).
open(x, y) :- link(x, y, c), c < 5, !shut(y).
total(x, sum<c>) :- link(x, _, c).
best(x, min<c>) :- link(x, _, c).
link("a", "b", 1). link("a", "c", 2). link("b", "c", 3). link("c", "d", 7). shut("c").
"""
Steps = dict[Fact, Reason]


@pytest.fixture
def db() -> Database:
    db = whence.connect()
    db.rules(RULES)
    return db


def refused(db: Database, fact: Fact, steps: Steps, why: str) -> None:
    inside = session(db)
    checker = Checker(inside.definitions.analysis, {}, inside.engine.counts)
    with pytest.raises(FalseStepError, match=why):
        checker.check([fact], {each: (r.kind.value, r.count, r.derivations) for each, r in steps.items()})


def proved(db: Database, view: str, row: tuple[object, ...]) -> tuple[Fact, Steps]:
    proof = db.why(view, row)
    return proof.facts[0], dict(proof.reasons)


def test_rows_that_are_not_there(db: Database) -> None:
    fact, steps = proved(db, "far", ("a", "b"))
    refused(db, ("far", ("d", "a")), {("far", ("d", "a")): steps[fact]}, "is proved, and not there")
    link = ("link", ("a", "b", 1))
    refused(db, fact, {fact: steps[fact]}, "has no step")
    other = replace(steps[fact], derivations=(Derivation(steps[fact].derivations[0].rule, (("a", "b", 9),)),))
    refused(db, fact, {fact: other, ("link", ("a", "b", 9)): steps[link]}, "is there 0 times, not 1 times")


def test_rows_that_follow_from_something_else(db: Database) -> None:
    fact, steps = proved(db, "far", ("a", "b"))
    rule = steps[fact].derivations[0].rule
    other = ("link", ("a", "c", 2))
    wrong = Reason(ReasonKind.RULE, 1, (Derivation(rule, (other[1],)),))
    refused(db, fact, {fact: wrong, other: Reason(ReasonKind.BASE)}, "does not follow from its step")
    refused(db, fact, {**steps, fact: Reason(ReasonKind.RULE, 1, ())}, "does not follow from its step")
    refused(db, fact, {**steps, fact: Reason(ReasonKind.BASE)}, "is no base row")
    refused(db, fact, {**steps, fact: Reason(ReasonKind.OPEN)}, "has no proof")


def test_circles(db: Database) -> None:
    db.insert("link", [("b", "b", 1)])
    _, steps = proved(db, "far", ("a", "d"))
    rule = next(way.rule for reason in steps.values() for way in reason.derivations if len(way.body) == 2)
    fact = ("far", ("b", "c"))
    circle = Reason(ReasonKind.RULE, 1, (Derivation(rule, (("b", "b", 1), ("b", "c"))),))
    refused(db, fact, {fact: circle, ("link", ("b", "b", 1)): Reason(ReasonKind.BASE)}, "is proved by itself")


def test_conditions_and_absences(db: Database) -> None:
    fact, steps = proved(db, "open", ("a", "b"))
    rule = steps[fact].derivations[0].rule
    db.insert("shut", [("b",)])
    refused(db, fact, steps, "is proved, and not there")
    db.delete("shut", [("b",), ("c",)])
    wrong = Reason(ReasonKind.RULE, 1, (Derivation(rule, (("c", "d", 7),)),))
    refused(db, fact, {fact: wrong, ("link", ("c", "d", 7)): Reason(ReasonKind.BASE)}, "a condition is not true")
    db.insert("shut", [("c",)])
    blocked = Reason(ReasonKind.RULE, 1, (Derivation(rule, (("a", "c", 2),)),))
    refused(
        db, fact, {fact: blocked, ("link", ("a", "c", 2)): Reason(ReasonKind.BASE)}, "is there, and the rule negates it"
    )


def test_aggregates(db: Database) -> None:
    fact, steps = proved(db, "total", ("a", 3))
    derivations = steps[fact].derivations
    refused(db, fact, {**steps, fact: replace(steps[fact], derivations=derivations[:1])}, "the members of .* give")
    refused(
        db,
        fact,
        {**steps, fact: replace(steps[fact], derivations=(derivations[0], derivations[0]))},
        "the same derivation twice",
    )
    other = Derivation(derivations[0].rule, (("b", "c", 3),))
    link = ("link", ("b", "c", 3))
    mixed = {**steps, fact: replace(steps[fact], derivations=(other,)), link: Reason(ReasonKind.BASE)}
    refused(db, fact, mixed, "a member of another group")
    best, reasons = proved(db, "best", ("a", 1))
    worse = Derivation(reasons[best].derivations[0].rule, (("a", "c", 2),))
    link = ("link", ("a", "c", 2))
    refused(
        db,
        best,
        {best: replace(reasons[best], derivations=(worse,)), link: Reason(ReasonKind.BASE)},
        "no member with the value 1",
    )
