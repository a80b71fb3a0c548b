"""Rows with a min and rows without one that follow from each other."""

from __future__ import annotations

import pytest

from tests.engines.local.recursive_driver import analysis_of
from whence.engines.engine import Function
from whence.engines.local.engine import LocalEngine
from whence.model.program import Signature
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
    engine = LocalEngine(maintenance)
    engine.define(analysis_of(PROGRAM, FUNCTIONS), FUNCTIONS, Update({"link": {(1, 0): 1}}))
    engine.apply(Update({"edge": {(0, 1): 1}}))
    assert engine.counts("b")[0, 0, 1] == 1
    engine.apply(Update({"edge": {(0, 1): -1}}))
    assert not dict(engine.counts("p")) and not dict(engine.counts("b"))
