"""UNION ALL recursion under random inserts and deletes, against the reference engine, after every step."""

from __future__ import annotations

import random

import pytest

from whence.analysis.analyze import analyze
from whence.engines.engine import Engine
from whence.engines.local.engine import LocalEngine
from whence.engines.reference.engine import ReferenceEngine
from whence.errors import ConvergenceError
from whence.lang.datalog.parse import parse_datalog
from whence.model.types import Row
from whence.model.updates import Update

ANALYSIS = analyze(
    parse_datalog("""
        .decl e(x: INT nullable, y: INT nullable) bag
        .decl s(x: INT nullable) bag
        .decl r(l: INT, x: INT nullable) bag
        r(0, x) :- s(x).
        r(l + 1, y) :- r(l, x), e(x, y), !s(y).
        c(x, count<*>) :- r(_, x).
    """)
)


def drawn(pick: random.Random, name: str, rows: dict[Row, int]) -> dict[Row, int]:
    change: dict[Row, int] = {}
    for _ in range(pick.randrange(4)):
        if rows and pick.random() < 0.5:
            row = pick.choice(list(rows))
            if rows[row] + change.get(row, 0) > 0:
                change[row] = change.get(row, 0) - 1
        else:
            low = pick.randrange(6)
            row = (low, low + pick.randrange(1, 4)) if name == "e" else (low,)
            change[row] = change.get(row, 0) + 1
    return {row: count for row, count in change.items() if count}


@pytest.mark.parametrize("seed", range(30))
def test_counts_follow_changes(seed: int) -> None:
    pick = random.Random(seed)
    local, reference = LocalEngine(), ReferenceEngine()
    engines: list[Engine] = [local, reference]
    for engine in engines:
        engine.define(ANALYSIS, {}, Update({}))
    rows: dict[str, dict[Row, int]] = {"e": {}, "s": {}}
    for _ in range(15):
        change = {name: drawn(pick, name, there) for name, there in rows.items()}
        foreseen = local.foresee(Update(change))
        ours, theirs = (engine.apply(Update(change)) for engine in engines)
        assert {n: dict(d) for n, d in ours.items() if d} == {n: dict(d) for n, d in theirs.items() if d}
        assert {n: dict(d) for n, d in ours.items() if d} == {n: dict(d) for n, d in foreseen.items() if d}
        for name, delta in change.items():
            for row, count in delta.items():
                rows[name][row] = rows[name].get(row, 0) + count
                if not rows[name][row]:
                    del rows[name][row]
        for name in ("r", "c"):
            assert dict(local.counts(name)) == dict(reference.counts(name))


def test_too_many_levels_change_nothing() -> None:
    engines: list[Engine] = [LocalEngine(), ReferenceEngine()]
    for engine in engines:
        engine.define(ANALYSIS, {}, Update({"s": {(0,): 1}, "e": {(i, i + 1): 1 for i in range(99)}}))
        before = dict(engine.counts("r"))
        assert len(before) == 100
        with pytest.raises(ConvergenceError, match="more than 100 levels"):
            engine.apply(Update({"e": {(99, 100): 1}}))
        assert dict(engine.counts("r")) == before
        engine.apply(Update({"e": {(50, 51): -1}}))
        assert len(engine.counts("r")) == 51
