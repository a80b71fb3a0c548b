"""Small programs that call every kernel with all kinds of arrays that it is made for, so that it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from whence.analysis.analyze import analyze
from whence.engines.local.compilation import COLUMNS, FOREST
from whence.engines.local.engine import ROWS_IN_COLUMNS, LocalEngine
from whence.lang.datalog.parse import parse_datalog
from whence.model.types import Row
from whence.model.updates import Update


class Step(NamedTuple):
    """What it compiles, in words, and for which of the kernels."""

    words: str
    kernels: Path
    run: Callable[[], None]


# As many as it takes until forests grow, and are packed when all of them go.
_CHAIN = 120

_LINEAR = """
    .decl link(x: number, y: number)
    reach(x, y) :- link(x, y).
    reach(x, y) :- link(x, z), reach(z, y).
    far(x, y) :- reach(x, z), reach(z, y), x != y.
"""
_NOT_LINEAR = """
    .decl link(x: number, y: number)
    reach(x, y) :- link(x, y).
    reach(x, y) :- reach(x, z), reach(z, y).
"""
_COSTS = """
    .decl link(x: number, y: number, cost: {type})
    near(x, y, min<cost>) :- link(x, y, cost).
    near(x, y, min<one + other>) :- link(x, z, one), near(z, y, other).
    nearer(x, y) :- near(x, y, one), near(y, z, other), one <= other.
    again(x, y, min<cost>) :- near(x, y, cost).
    again(x, y, min<one + other>) :- nearer(x, z), near(x, z, one), again(z, y, other).
"""
# With all that is computed over columns by kernels: joins, negation, and totals of each kind.
_MANY = """
    .decl sale(place: number, day: number, units: number, price: float)
    .decl closed(place: number)
    total(place, count<units>, sum<units>, sum<price>) :- sale(place, _, units, price), !closed(place).
    pair(place, other) :- sale(place, day, _, _), sale(other, day, _, _), place < other, day < 3.
"""


class _Rows(list[Row]):
    def differing(self, positions: Sequence[int]) -> Iterator[Row]:
        raise NotImplementedError(positions)


def _recursion(program: str, links: list[Row], maintenance: str = "auto") -> None:
    """Links come and go, one and many; a change is asked about; rows are looked up, and what depends on them."""
    engine = _engine(program, maintenance)
    _change(engine, "link", links)
    for some in (links[:1], links[-40:]):
        _change(engine, "link", some, -1)
        _change(engine, "link", some)
    engine.foresee(Update({"link": dict.fromkeys(links[:3], -1)}))
    evidence = engine.evidence()
    for component in evidence.analysis.components:
        if component.recursive:
            (view,) = component.relations
            evidence.contents(view).count(next(iter(engine.counts(view))))
            below = {name: _Rows(links[:1] if name == "link" else []) for name in component.reads}
            evidence.dependents_within(component, below)
    _change(engine, "link", links, -1)


def _many_rows() -> None:
    engine = _engine(_MANY)
    _change(engine, "closed", [(1,)])
    sales: list[Row] = [(place, place % 1000, 2, 0.5) for place in range(ROWS_IN_COLUMNS)]
    _change(engine, "sale", sales)
    engine.counts("sale").get(sales[0])
    _change(engine, "sale", sales[:1], -1)
    engine.foresee(Update({"closed": {(2,): 1}}))
    _change(engine, "sale", sales[1:], -1)


def _engine(program: str, maintenance: str = "auto") -> LocalEngine:
    engine = LocalEngine(maintenance)
    engine.define(analyze(parse_datalog(program)), {}, Update())
    return engine


def _change(engine: LocalEngine, table: str, rows: list[Row], count: int = 1) -> None:
    engine.apply(Update({table: dict.fromkeys(rows, count)}))


def _links(*cost: float) -> list[Row]:
    return [(at, at + 1, *cost) for at in range(_CHAIN)]


STEPS = (
    Step("recursion over rows", FOREST, partial(_recursion, _LINEAR, _links())),
    Step("recursion that meets itself", FOREST, partial(_recursion, _NOT_LINEAR, _links())),
    Step("delete and re-derive", FOREST, partial(_recursion, _LINEAR, _links(), "dred")),
    Step("min and max of whole numbers", FOREST, partial(_recursion, _COSTS.format(type="number"), _links(1))),
    Step("min and max of DOUBLE", FOREST, partial(_recursion, _COSTS.format(type="float"), _links(0.5))),
    Step("joins, counts and sums", COLUMNS, _many_rows),
)
