"""Rows with a min and rows without one that follow from each other."""

from __future__ import annotations

import pytest

import whence
from tests.engines.local.recursive_driver import analysis_of
from whence.engines.local.engine import LocalEngine
from whence.lab.strategies import STRATEGIES
from whence.model.program import Function, Signature
from whence.model.types import INT
from whence.model.updates import Update

PROGRAM = """
.decl link(x: number, y: number)
.decl edge(x: number, y: number)
p(twist(x), z) :- b(x, y, _), b(y, z, _).
b(x, y, min<2>) :- edge(y, z), link(z, x).
b(x, x, min<1>) :- p(x, _).
"""
FUNCTIONS = {"twist": Function(Signature("twist", INT), lambda x: (x * 3 + 1) % 5)}


@pytest.mark.parametrize("maintenance", ["auto", "absorption", "dred", "relative", "recompute"])
def test_a_cost_that_improved_by_itself_goes_with_what_it_came_from(maintenance: str) -> None:
    engine = LocalEngine(maintenance, strategies=STRATEGIES)
    engine.define(analysis_of(PROGRAM, FUNCTIONS), FUNCTIONS, Update({"link": {(1, 0): 1}}))
    engine.apply(Update({"edge": {(0, 1): 1}}))
    assert engine.counts("b")[0, 0, 1] == 1
    engine.apply(Update({"edge": {(0, 1): -1}}))
    assert not dict(engine.counts("p")) and not dict(engine.counts("b"))


def test_a_column_that_is_computed_from_a_cost() -> None:
    """As the papers write it: paths with their costs, and the best of them."""
    rules = """
        .decl link(x: number, y: number, c: number)
        best(x, y, min<c>) :- path(x, y, c).
        path(x, y, c) :- link(x, y, c).
        path(x, y, c) :- link(x, z, a), best(z, y, b), c = a + b.
    """
    databases = [whence.connect(), whence.connect(engine="reference")]
    for db in databases:
        db.rules(rules)
        db.insert("link", [(1, 2, 3), (2, 3, 4), (3, 1, 1), (1, 3, 20)])
    assert databases[0].rows("best") == databases[1].rows("best")
    for db in databases:
        db.delete("link", [(2, 3, 4)])
    assert (
        databases[0].rows("best")
        == databases[1].rows("best")
        == {(1, 2, 3), (1, 3, 20), (3, 1, 1), (3, 2, 4)}
        | {
            (1, 1, 21),
            (3, 3, 21),
        }
    )
