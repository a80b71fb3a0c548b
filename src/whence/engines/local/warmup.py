"""Compiling every kernel beforehand, by small programs that call it, so that nobody waits for one later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from whence.analysis.analyze import analyze
from whence.columns.arrow import ArrowRows
from whence.columns.kernel_cache import are_compiled, cache_folder, note_compiled
from whence.engines.local.compilation import COLUMNS, FOREST, alone, use_at_once
from whence.engines.local.engine import ROWS_IN_COLUMNS, LocalEngine
from whence.incremental.keyed import KnowsWholeRows
from whence.lang.datalog.parse import parse_datalog
from whence.model.types import Row
from whence.model.updates import Update, totals

# What numba had not written to its end when it was killed, so long ago that it is not about to.
_SECONDS_UNTIL_FORGOTTEN = 3600

# Takes a line about what happens.
Tell: TypeAlias = Callable[[str], object]


def warm_up(tell: Tell, *, is_patient: bool = True) -> None:
    """Compile what is not compiled yet, and say so step by step.

    Where another process does that already, wait for it, or leave it to that one.
    """
    if all(map(are_compiled, (FOREST, COLUMNS))):
        tell("all kernels are compiled already")
        return
    begun = time.monotonic()
    with alone(is_patient=False) as is_alone:
        if is_alone:
            _compile(tell)
    if not is_alone and is_patient:
        tell("another process compiles the kernels: waiting for it")
        with alone(is_patient=True):
            _compile(tell)
    if is_alone or is_patient:
        tell(f"all kernels are compiled, after {time.monotonic() - begun:.0f} s")


def _compile(tell: Tell) -> None:
    missing = [kernels for kernels in (FOREST, COLUMNS) if not are_compiled(kernels)]
    if not missing:
        return
    for kernels in missing:
        _forget_drafts(kernels)
        use_at_once(kernels)
    # What compiles takes a while to load, and meanwhile there is nothing to see.
    tell("compiling the kernels, once after an installation")
    steps = [step for step in _STEPS if step.kernels in missing]
    for number, step in enumerate(steps, 1):
        tell(f"{number} of {len(steps)}: {step.words}")
        step.run()
        if step.kernels not in {later.kernels for later in steps[number:]}:
            note_compiled(step.kernels)


def _forget_drafts(kernels: Path) -> None:
    folder = cache_folder(kernels)
    for draft in [] if folder is None else [*folder.glob("*.nb?.tmp.*"), *folder.glob("kernels.*.draft")]:
        with suppress(OSError):
            if draft.stat().st_mtime < time.time() - _SECONDS_UNTIL_FORGOTTEN:
                draft.unlink()


# The programs. They call every kernel with all kinds of arrays that it is made for.


class Step(NamedTuple):
    """What it compiles, in words, and for which of the kernels."""

    words: str
    kernels: Path
    run: Callable[[], None]


# As many as it takes until forests grow, are packed when half of them go, and grown again when all do.
_CHAIN = 120

_LINEAR = """
    .decl link(x: number, y: number)
    .decl closed(x: number)
    reach(x, y) :- link(x, y), !closed(y).
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
    .decl closed(x: number)
    near(x, y, min<cost>) :- link(x, y, cost), !closed(y).
    near(x, y, min<one + other>) :- link(x, z, one), near(z, y, other).
    nearer(x, y) :- near(x, y, one), near(y, z, other), one <= other.
    again(x, y, min<cost>) :- near(x, y, cost).
    again(x, y, min<one + other>) :- nearer(x, z), near(x, z, one), again(z, y, other).
"""
# With all that is computed over columns by kernels: joins, negation, and totals of each kind.
_MANY = """
    .decl sale(place: number, day: number, units: number, price: float, tax: decimal(10, 2), name: symbol)
    .decl closed(place: number)
    total(place, count<units>, sum<units>, sum<price>, avg<tax>) :-
        sale(place, _, units, price, tax, _), !closed(place).
    spread(day, min<units>, max<price>) :- sale(_, day, units, price, _, _).
    pair(place, other) :- sale(place, day, _, _, _, _), sale(other, day, _, _, _, _), place < other, day < 3.
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
    _change(engine, "link", links[::2], -1)
    _change(engine, "link", links[::2])
    _change(engine, "link", links, -1)


def _many_rows() -> None:
    engine = _engine(_MANY)
    _change(engine, "closed", [(1,)])
    sales: list[Row] = [(at, at % 1000, 2, 0.5, Decimal("0.05"), str(at)) for at in range(ROWS_IN_COLUMNS)]
    _change(engine, "sale", sales)
    stored, relation = engine.counts("sale"), engine.evidence().analysis.relations["sale"]
    stored.get(sales[0])
    assert len(list(stored)) == ROWS_IN_COLUMNS
    assert isinstance(stored, KnowsWholeRows)
    columns = zip(relation.columns, zip(*sales[:2], strict=True), strict=True)
    stored.has_all(ArrowRows(relation, [pa.array(values, column.type.arrow()) for column, values in columns]))
    _change(engine, "sale", sales[:1], -1)
    engine.foresee(Update({"closed": {(2,): 1}}))
    _change(engine, "sale", sales[1:], -1)


def _engine(program: str, maintenance: str = "auto") -> LocalEngine:
    engine = LocalEngine(maintenance)
    engine.define(analyze(parse_datalog(program)), {}, Update())
    return engine


def _change(engine: LocalEngine, table: str, rows: list[Row], count: int = 1) -> None:
    """With what a commit tells of it."""
    for delta in engine.apply(Update({table: dict.fromkeys(rows, count)})).values():
        totals(delta)


def _links(*cost: float) -> list[Row]:
    return [(at, at + 1, *cost) for at in range(_CHAIN)]


_STEPS = (
    Step("recursion over rows", FOREST, partial(_recursion, _LINEAR, _links())),
    Step("recursion that meets itself", FOREST, partial(_recursion, _NOT_LINEAR, _links())),
    Step("delete and re-derive", FOREST, partial(_recursion, _LINEAR, _links(), "dred")),
    Step("min and max of whole numbers", FOREST, partial(_recursion, _COSTS.format(type="number"), _links(1))),
    Step("min and max of DOUBLE", FOREST, partial(_recursion, _COSTS.format(type="float"), _links(0.5))),
    Step("joins, counts and sums", COLUMNS, _many_rows),
)
