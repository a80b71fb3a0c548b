"""A recursion without end is stopped by the work it takes, too, and every engine says so in the same words."""

from __future__ import annotations

import pytest

import whence
from whence.analysis.analyze import analyze
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.engines.engine import Engine
from whence.engines.local.engine import LocalEngine
from whence.engines.reference.engine import ReferenceEngine
from whence.errors import ConvergenceError
from whence.lab.network.network import NetworkEngine
from whence.lab.network.options import Options
from whence.lab.strategies import STRATEGIES
from whence.lang.datalog.parse import parse_datalog
from whence.model.updates import Update

LIMITS = RecursionLimits(matches=20_000)
FACTS = "p(1). p(2). p(x + y + z) :- p(x), p(y), p(z)."
TABLE = "k(1) :- 1 = 1. k(2) :- 1 = 1. p(x) :- k(x). p(x + y + z) :- p(x), p(y), p(z)."
# Nothing new comes of most matches.
FILTERED = "p(1). p(2). p(x + y) :- p(x), p(y), p(z), z = x * y + 7. p(x + 1) :- p(x)."
NETWORKS = {
    "network": Options(form="supports"),
    "network with edges": Options(provenance="relative"),
    "network without provenance": Options(provenance="none", ship="direct"),
}
ENGINES = [*NETWORKS, "reference", "auto", "absorption", "dred", "eager", "recompute"]


@pytest.mark.parametrize("text", [FACTS, TABLE, FILTERED])
@pytest.mark.parametrize("name", ENGINES)
def test_work_is_limited(name: str, text: str) -> None:
    engine: Engine
    if name in NETWORKS:
        engine = NetworkEngine(NETWORKS[name], limits=LIMITS)
    else:
        engine = ReferenceEngine(LIMITS) if name == "reference" else LocalEngine(name, LIMITS, STRATEGIES)
    with pytest.raises(ConvergenceError) as caught:
        engine.define(analyze(parse_datalog(text)), {}, Update())
    assert caught.value.message.startswith("'p' does not come to an end: its rules were matched with rows more than ")
    assert caught.value.span is not None
    assert caught.value.hint is not None
    assert "whence.connect(max_rounds=...) allows more" in caught.value.hint


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_more_rounds_for_a_recursion_that_ends(engine: str) -> None:
    program = "n(1). n(x + 1) :- n(x), x < 30."
    with pytest.raises(ConvergenceError) as caught:
        whence.connect(engine=engine, max_rounds=20).rules(program)
    assert caught.value.message == ("'n' does not come to an end: after 20 rounds it still gets new rows, such as (21)")
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("if it does end, whence.connect(max_rounds=...) allows more rounds")
    db = whence.connect(engine=engine, max_rounds=40)
    db.rules(program)
    assert len(db.rows("n")) == 30


def test_more_rounds_are_more_rows_and_more_work() -> None:
    assert RecursionLimits.for_rounds(1_000) == RecursionLimits.for_rounds(1_000) == DEFAULT_LIMITS
    assert RecursionLimits.for_rounds(10) == RecursionLimits(rounds=10)
    assert RecursionLimits.for_rounds(3_000) == RecursionLimits(3_000, 15_000_000, 15_000_000)
