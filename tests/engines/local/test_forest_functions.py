"""Computed values in the compiled forest: where they end, where they fail, and who takes over then."""

from __future__ import annotations

import pytest

import whence
from whence.analysis.limits import RecursionLimits
from whence.database.database import Database
from whence.engines.local.engine import LocalEngine
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.session.session import Session

LINK = ".decl link(x: INT, y: INT)"
COMPILED = "recursive: a compiled proof forest"


def both(rules: str, limits: RecursionLimits | None = None) -> tuple[Database, Database, LocalEngine]:
    """The reference engine, and the local one with the same program."""
    engine = LocalEngine("auto", limits or RecursionLimits())
    local, oracle = Database(Session(engine)), whence.connect(engine="reference")
    for db in (local, oracle):
        db.function("picky", picky, returns="INT")
        db.execute("CREATE TABLE n(x INT NOT NULL); CREATE TABLE d(x INT NOT NULL)")
        db.rules(f"{LINK} {rules}")
    return oracle, local, engine


def picky(x: int) -> int:
    if x == 13:
        raise ValueError("13")
    return x


def test_a_recursion_that_counts_is_compiled_and_ends() -> None:
    oracle, local, engine = both("up(x) :- n(x). up(x + 1) :- up(x), x < 40.")
    choice = engine.choice("up")
    assert choice is not None and choice.reason == COMPILED
    for db in (oracle, local):
        db.insert("n", [(0,), (20,)])
    assert local.rows("up") == oracle.rows("up") == {(x,) for x in range(41)}
    for db in (oracle, local):
        db.delete("n", [(0,)])
    assert local.rows("up") == oracle.rows("up") == {(x,) for x in range(20, 41)}


@pytest.mark.parametrize("limits", [RecursionLimits(rounds=30), RecursionLimits(rows=300)])
def test_counting_without_end_is_stopped_at_the_rule(limits: RecursionLimits) -> None:
    _, local, _ = both("up(x) :- n(x). up(y) :- up(x), y = x + d, d(d).", limits)
    local.insert("n", [(x,) for x in range(0, 1_000, 50)])
    with pytest.raises(whence.ConvergenceError, match="'up'") as caught:
        local.insert("d", [(1,), (2,)])
    assert caught.value.span is not None
    assert len(local.rows("up")) == 20
    local.insert("n", [(7,)])
    assert len(local.rows("up")) == 21


def test_the_limit_is_about_as_deep_as_the_recursion() -> None:
    """Rows that need no computing are not counted, so it can be one round less than rounds would be."""
    for rounds in (4, 6):
        _, local, _ = both("up(x) :- n(x). up(x + 1) :- up(x), x < 5.", RecursionLimits(rounds=rounds))
        if rounds < 5:
            with pytest.raises(whence.ConvergenceError):
                local.insert("n", [(0,)])
        else:
            local.insert("n", [(0,)])
            assert len(local.rows("up")) == 6


def test_a_function_that_fails_fails_the_commit() -> None:
    oracle, local, engine = both("next(x, y) :- link(x, y). next(x, picky(z)) :- next(x, y), link(y, z).")
    for db in (oracle, local):
        db.insert("link", [(1, 2), (2, 3)])
        with pytest.raises(whence.EvaluationError):
            db.insert("link", [(3, 13)])
        db.insert("link", [(3, 4)])
        db.delete("link", [(2, 3)])
    assert local.rows("next") == oracle.rows("next")
    choice = engine.choice("next")
    assert choice is not None and isinstance(choice.maintainer, ForestMaintainer)
    assert choice.maintainer.counts("next")[(1, 2)] == 1
    assert choice.maintainer.state_bytes > 0


def test_a_failure_that_does_not_count() -> None:
    """The kernels look at the function first, the reference engine at what makes it unnecessary."""
    rules = "p(x) :- n(x). p(y) :- p(x), link(x, y), d(z), z = x + 1, picky(y) + z > 0."
    oracle, local, _ = both(rules)
    for db in (oracle, local):
        db.insert("n", [(1,)])
        db.insert("link", [(1, 2), (1, 13), (2, 3)])
    assert local.rows("p") == oracle.rows("p")
    outcomes = []
    for db in (oracle, local):
        try:
            db.insert("d", [(2,)])
            outcomes.append("done")
        except whence.EvaluationError:
            outcomes.append("failed")
    assert outcomes[0] == outcomes[1]
    for db in (oracle, local):
        db.delete("link", [(1, 13)])
        db.insert("d", [(3,)])
    assert local.rows("p") == oracle.rows("p")


def test_a_sum_that_overflows() -> None:
    big = 2**31 - 1
    rules = "near(x, y) :- n(x), d(y). near(x, y) :- near(x, z), n(y), d(y - z), n(x + y)."
    oracle, local, _ = both(rules)
    for db in (oracle, local):
        db.insert("n", [(1,), (2,), (3,)])
        db.insert("d", [(1,), (2,)])
        with pytest.raises(whence.EvaluationError):
            db.insert("n", [(big,)])
        db.insert("n", [(5,)])
    assert local.rows("near") == oracle.rows("near")


def test_a_join_above_a_forest_is_compiled_and_below_it_is_not() -> None:
    _, _, engine = both(
        "below(x, y) :- link(x, z), link(z, y). r(x, y) :- below(x, y). r(x, y) :- r(x, z), below(z, y)."
        "above(x, min<y>) :- r(x, z), link(z, y)."
    )
    strategies = {name: choice.strategy for name in ("below", "r", "above") if (choice := engine.choice(name))}
    assert strategies == {"below": "counting", "r": "absorption", "above": "absorption"}
