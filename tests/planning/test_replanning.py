"""Views that are defined over empty tables, and get other plans when rows come."""

from __future__ import annotations

from typing import Any

import whence
from whence.database.database import Database
from whence.engines.local.engine import LocalEngine
from whence.engines.local.forest import layout
from whence.incremental.plan import Probe
from whence.incremental.recursive.absorption import Absorption
from whence.session.session import Session

MANY, KEYS = 40, 20


def maintainer(db: Any, view: str) -> Any:
    return db._session.engine.choice(view).maintainer  # noqa: SLF001 - plans do not show at the surface


def joined(db: Any, view: str, trigger: int) -> list[str]:
    """The relations that a counting view goes on to from a change of a literal, in order."""
    prepared = maintainer(db, view)._rules[0]._prepared[trigger]  # noqa: SLF001
    return [step.relation for step in prepared.pipeline.terms.plan.steps[1:] if isinstance(step, Probe)]


def test_a_star_join_over_empty_tables_gets_the_right_order() -> None:
    db = whence.connect()
    db.rules("""
        .decl fact(id: INT, a: INT, b: INT)
        .decl many(b: INT, x: INT)
        .decl few(a: INT, y: INT)
        star(id, x, y) :- fact(id, a, b), many(b, x), few(a, y).
    """)
    db.insert("fact", [(0, 0, 0)])
    assert joined(db, "star", 0) == ["many", "few"]
    db.insert("many", [(b, x) for b in range(KEYS) for x in range(MANY)])
    db.insert("few", [(a, a) for a in range(KEYS)])
    db.insert("fact", [(1, 1, 1)])
    assert joined(db, "star", 0) == ["few", "many"]
    assert db.rows("star") == {(id_, x, id_) for id_ in range(2) for x in range(MANY)}
    # As few rows as there were at the beginning are joined as then.
    db.delete("many", [(b, x) for b in range(KEYS) for x in range(MANY) if x])
    db.insert("fact", [(2, 2, 2)])
    assert joined(db, "star", 0) == ["many", "few"]
    assert db.rows("star") == {(id_, 0, id_) for id_ in range(3)}


def test_one_commit_that_brings_everything_is_planned_for_what_it_brings() -> None:
    db = whence.connect()
    db.rules("""
        .decl fact(id: INT, a: INT, b: INT)
        .decl many(b: INT, x: INT)
        .decl few(a: INT, y: INT)
        star(id, x, y) :- fact(id, a, b), many(b, x), few(a, y).
    """)
    with db.batch() as batch:
        batch.insert("many", [(b, x) for b in range(KEYS) for x in range(MANY)])
        batch.insert("few", [(a, a) for a in range(KEYS)])
        batch.insert("fact", [(1, 1, 1)])
    assert joined(db, "star", 0) == ["few", "many"]
    assert db.rows("star") == {(1, x, 1) for x in range(MANY)}


def test_a_compiled_recursion_over_empty_tables_gets_the_right_order() -> None:
    db = whence.connect()
    db.rules("""
        .decl start(x: INT, y: INT)
        .decl many(z: INT, u: INT)
        .decl few(z: INT, y: INT)
        p(x, y) :- start(x, y).
        p(x, y) :- p(x, z), many(z, u), few(z, y), u > 0.
    """)

    def order() -> list[int]:
        rules = maintainer(db, "p")._compiled.rules  # noqa: SLF001
        (plan,) = [each for each in rules.plans if (each[layout.PLAN_RULE], each[layout.PLAN_ATOM]) == (1, 0)]
        first, count = plan[layout.PLAN_STEP], plan[layout.PLAN_STEPS]
        return [int(step[layout.STEP_ATOM]) for step in rules.steps[first : first + count]]

    assert order() == [1, 2]
    db.insert("many", [(z, u) for z in range(KEYS) for u in range(MANY)])
    db.insert("few", [(z, z + 1) for z in range(KEYS)])
    assert order() == [2, 1]
    db.insert("start", [(0, 0)])
    assert db.rows("p") == {(0, y) for y in range(KEYS + 1)}
    db.delete("few", [(5, 6)])
    assert db.rows("p") == {(0, y) for y in range(6)}
    assert db.why("p", (0, 5)) is not None


def test_recursion_in_python_is_planned_again_as_well() -> None:
    db = Database(Session(LocalEngine("general", strategies={"general": Absorption})))
    db.rules("""
        .decl start(x: INT, y: INT)
        .decl many(z: INT, u: INT)
        .decl few(z: INT, y: INT)
        p(x, y) :- start(x, y).
        p(x, y) :- p(x, z), many(z, u), few(z, y), u > 0.
    """)
    db.insert("start", [(0, 0)])
    (matcher,) = [each for each in maintainer(db, "p")._rules.all if each.own]  # noqa: SLF001
    before = dict(matcher._searches)  # noqa: SLF001
    db.insert("many", [(z, u) for z in range(KEYS) for u in range(MANY)])
    db.insert("few", [(z, z + 1) for z in range(KEYS)])
    assert before[0] is not matcher._searches[0]  # noqa: SLF001
    assert db.rows("p") == {(0, y) for y in range(KEYS + 1)}
