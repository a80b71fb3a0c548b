"""Window functions under random inserts, updates and deletes, against the reference engine, after every step."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from whence.analysis.analyze import analyze
from whence.engines.engine import Engine
from whence.engines.local.engine import LocalEngine
from whence.engines.reference.engine import ReferenceEngine
from whence.incremental.windows import ordered_rows
from whence.lang.datalog.parse import parse_datalog
from whence.model.types import DecimalType, Row
from whence.model.updates import Update

TABLE = ".decl t(g: STRING nullable, x: INT nullable, d: DECIMAL(10, 2), y: DOUBLE nullable, s: STRING, m: DATE) bag\n"
FUNCTIONS = (
    "row_number() rank() dense_rank() percent_rank() cume_dist() ntile(3) ntile(1) lag(x) lag(s,2,s) lead(y,1) "
    "lead(x,-1,7) lag(d,0)"
).split()
FOLDS = (
    "count() count(x) sum(x) sum(d) sum(y) avg(x) avg(d) avg(y) min(x) max(s) min(m) max(y) first_value(x) "
    "first_value(x,true) last_value(y) last_value(y,true) nth_value(x,2) nth_value(x,2,true)"
).split()
ORDERS = ("", "x", "x desc", "x nulls last", "y desc nulls first, s", "m desc", "d", "s desc, x")


def frame(pick: random.Random, order: str) -> str:
    low, high = sorted([pick.choice(["*", *range(-3, 3)]) for _ in range(2)], key=lambda b: -9 if b == "*" else b)
    if pick.random() < 0.3:
        low, high = high, "*"
        if low == "*":
            low = "*"
    if pick.random() < 0.2:
        return "; range * to 0"
    if pick.random() < 0.4:
        if order.split(" ", maxsplit=1)[0] in ("x", "d", "m") and "," not in order:
            if order[0] == "d":
                kind = DecimalType(10, 2)
                low, high = (b if b in ("*", 0) else kind.datalog_constant(Decimal(b) / 2) for b in (low, high))
        else:
            low, high = ("*" if low == "*" else 0), ("*" if high == "*" else 0)
        return f"; range {low} to {high}"
    return f"; rows {low} to {high}"


def rule(pick: random.Random, name: str) -> str:
    order = pick.choice(ORDERS)
    partition = pick.choice(["", "g", "g, s"])
    head, within = [], ""
    if pick.random() < 0.4:
        first = pick.randrange(1, 4)
        within = f"; within {first} to {pick.choice(['*', first, first + 2])}"
        head.append(
            f"over {{{partition}; {order}{within}}} {pick.choice(['row_number', 'rank', 'dense_rank', 'within'])}()"
        )
    for _ in range(pick.randrange(0 if head else 1, 4)):
        if pick.random() < 0.5:
            head.append(f"over {{{partition}; {order}}} {pick.choice(FUNCTIONS)}")
        else:
            head.append(f"over {{{partition}; {order}{frame(pick, order)}}} {pick.choice(FOLDS)}")
    return f"{name}(g, x, d, y, s, m, {', '.join(head)}) :- t(g, x, d, y, s, m).\n"


def row(pick: random.Random) -> Row:
    return (
        pick.choice([None, "a", "b"]),
        pick.choice([None, *range(6)]),
        Decimal(pick.randrange(8)) / 4 + Decimal("0.00"),
        pick.choice([None, 0.5, -1.25, 3.0]),
        pick.choice("pq"),
        date(2026, 1, 1) + timedelta(days=pick.randrange(4)),
    )


def delta(pick: random.Random, rows: dict[Row, int]) -> dict[Row, int]:
    change: dict[Row, int] = {}
    for _ in range(pick.choice([1, 1, 2, 5, 30])):
        if rows and pick.random() < 0.45:
            gone = pick.choice(list(rows))
            if rows[gone] + change.get(gone, 0) > 0:
                change[gone] = change.get(gone, 0) - 1
        else:
            came = row(pick)
            change[came] = change.get(came, 0) + pick.choice([1, 1, 2])
    return {each: count for each, count in change.items() if count}


@pytest.mark.parametrize("block_rows", [2, 5, 1024])
@pytest.mark.parametrize("seed", range(10))
def test_windows_follow_changes(seed: int, block_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_rows, "BLOCK_ROWS", block_rows)
    pick = random.Random(seed)
    text = TABLE + "".join(rule(pick, f"v{number}") for number in range(6))
    analysis = analyze(parse_datalog(text))
    local, reference = LocalEngine(), ReferenceEngine()
    engines: list[Engine] = [local, reference]
    rows: dict[Row, int] = {}
    first = delta(pick, rows)
    deltas = [engine.define(analysis, {}, Update({"t": first})) for engine in engines]
    add(rows, first)
    for _ in range(12):
        for name in analysis.relations:
            assert dict(local.counts(name)) == dict(reference.counts(name)), f"{text}{name}: {rows}"
        assert {n: dict(d) for n, d in deltas[0].items() if d} == {n: dict(d) for n, d in deltas[1].items() if d}
        change = delta(pick, rows)
        foreseen = local.foresee(Update({"t": change}))
        deltas = [engine.apply(Update({"t": change})) for engine in engines]
        assert {n: dict(d) for n, d in foreseen.items()} == {n: dict(d) for n, d in deltas[0].items()}
        add(rows, change)


def add(rows: dict[Row, int], change: dict[Row, int]) -> None:
    for each, count in change.items():
        rows[each] = rows.get(each, 0) + count
        if not rows[each]:
            del rows[each]


def test_ranges_of_timestamps() -> None:
    text = ".decl t(at: TIMESTAMP, x: INT) bag\nv(at, x, over {; at desc; range -60000000 to 0} sum(x)) :- t(at, x).\n"
    analysis = analyze(parse_datalog(text))
    noon = datetime(2026, 1, 1, 12)
    rows: dict[Row, int] = {(noon + timedelta(seconds=20 * i), i): 1 for i in range(9)}
    found = []
    engines: list[Engine] = [LocalEngine(), ReferenceEngine()]
    for engine in engines:
        engine.define(analysis, {}, Update({"t": rows}))
        engine.apply(Update({"t": {(noon, 0): -1, (noon + timedelta(seconds=50), 50): 1}}))
        found.append(dict(engine.counts("v")))
    assert found[0] == found[1]
    assert found[0][noon + timedelta(seconds=160), 8, 8] == 1
