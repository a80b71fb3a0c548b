"""What a commit says about its cost."""

from __future__ import annotations

import pytest

import whence

RULES = """
    .decl link(src: symbol, dst: symbol)
    .decl reachable(src: symbol, dst: symbol)
    .decl sources(dst: symbol, n: number)
    reachable(x, y) :- link(x, y).
    reachable(x, y) :- link(x, z), reachable(z, y).
    sources(y, count<*>) :- reachable(_, y).
"""


def opened(engine: str = "local") -> whence.Database:
    db = whence.connect(engine=engine)
    db.rules(RULES)
    db.execute("CREATE TABLE other(x INT)")
    return db


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_rows_and_components(engine: str) -> None:
    db = opened(engine)
    metrics = db.insert("link", [("a", "b"), ("b", "c")]).metrics
    assert (metrics["rows_in"], metrics["rows_out"], metrics["components"]) == (2, 3 + 2, 2)
    metrics = db.delete("link", [("a", "b")]).metrics
    assert (metrics["rows_in"], metrics["rows_out"], metrics["components"]) == (1, 2 + 3, 2)
    metrics = db.insert("other", [(1,)]).metrics
    assert (metrics["rows_in"], metrics["rows_out"], metrics["components"]) == (1, 0, 0)


def test_only_what_a_commit_touches_is_dead() -> None:
    db = opened()
    built = db.insert("link", [("a", "b"), ("b", "c"), ("c", "a")])
    assert built.metrics["dead"] == 0
    assert built.metrics["state_bytes"] > 0
    assert db.delete("link", [("a", "b")]).metrics["dead"] >= 6, "what has gone was dead"
    later = db.insert("other", [(1,)])
    assert later.metrics["dead"] == 0
    assert 0 < later.metrics["state_bytes"] < built.metrics["state_bytes"], "what has gone takes no room"


def test_without_a_compiled_forest_there_is_nothing_to_count() -> None:
    db = whence.connect(maintenance="recompute")
    db.rules(RULES)
    assert db.insert("link", [("a", "b")]).metrics.keys().isdisjoint({"dead", "state_bytes"})
