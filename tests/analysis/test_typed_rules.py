"""Rules are ordered once, and their terms typed a few times at most."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest

import whence
from whence.analysis import order
from whence.analysis.analyze import analyze
from whence.engines.local.engine import LocalEngine
from whence.functions import types
from whence.lang.datalog.parse import parse_datalog
from whence.model.terms import Call
from whence.model.types import BIGINT
from whence.model.updates import Update

# Once while the schemas are found, and once with the final ones; then nobody has to ask again.
INFERRED = 2


class Calls:
    """Counts the calls of functions, wherever these were imported to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ordered: Counter[int] = Counter()
        self.inferred: Counter[int] = Counter()
        # So that nothing else takes their places in memory.
        self.seen: list[Any] = []
        self._count(monkeypatch, order.order_body, self.ordered)
        self._count(monkeypatch, types.annotate, self.inferred)

    def _count(self, monkeypatch: pytest.MonkeyPatch, function: Any, calls: Counter[int]) -> None:
        def counted(first: Any, *rest: Any) -> Any:
            self.seen.append(first)
            calls[id(first)] += 1
            return function(first, *rest)

        name = function.__name__
        for module in [each for known, each in sys.modules.items() if known.startswith("whence.")]:
            if getattr(module, name, None) is function:
                monkeypatch.setattr(module, name, counted)


def test_a_view_is_ordered_and_typed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(a INT, b STRING, c INT)")
    db.execute("CREATE MATERIALIZED VIEW first AS SELECT a, b, sum(c) AS s FROM t GROUP BY a, b")
    calls = Calls(monkeypatch)
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT a, b, sum(c + 1) AS s FROM t WHERE c + 2 > a GROUP BY a, b")
    db.insert("t", [(1, "x", 2)])
    db.delete("t", [(1, "x", 2)])
    assert set(calls.ordered.values()) == {1}
    assert max(calls.inferred.values()) <= INFERRED


def test_planning_and_running_take_what_analysis_found(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse_datalog("""
        .decl link(src: INT, dst: INT, cost: INT)
        path(x, y, min<c>) :- link(x, y, c).
        path(x, y, min<c + d>) :- link(x, z, c), path(z, y, d), c + d < 1000.
        far(x, count<y>) :- path(x, y, c), c > 10 + 10.
    """)
    analysis = analyze(program)
    calls = Calls(monkeypatch)
    for maintenance in ("auto", "dred"):
        engine = LocalEngine(maintenance)
        engine.define(analysis, {}, Update())
        engine.apply(Update({"link": {(1, 2, 3): 1, (2, 1, 4): 1}}))
        assert engine.counts("path")[1, 1, 7] == 1
    assert not calls.ordered


def test_types_of_own_terms_are_inferred_once() -> None:
    rule = analyze(parse_datalog(".decl t(a: INT, b: BIGINT)\nv(a + b) :- t(a, b), a < b.")).components[-1].typed[0]
    (term,) = rule.rule.head.terms
    assert rule.type_of(term) == BIGINT
    assert rule.annotated(term) is rule.annotated(term)
    assert isinstance(term, Call)
    other = Call(term.function, term.arguments)
    assert rule.annotated(other) is not rule.annotated(other)
