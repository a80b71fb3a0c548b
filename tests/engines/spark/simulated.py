"""A Spark engine without Spark: bases lie in dictionaries, and what is wanted is found there at once.

Everything that happens in the driver is the real thing: pages, tries, overlays, counting, flat absorption.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from random import Random
from typing import Any

import pyarrow as pa

from tests.engines.local.recursive_driver import added, difference
from whence.analysis.analyze import Analysis
from whence.engines.reference.evaluate import evaluate
from whence.engines.spark.columnar.lookup import ColumnLookup
from whence.engines.spark.components import Effects, SparkComponent
from whence.engines.spark.decoded_segment import Points
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.metrics import SparkWork
from whence.engines.spark.pages import Base, Paging, Segments
from whence.engines.spark.payloads import Codec
from whence.engines.spark.registry import Registry
from whence.engines.spark.state import CountedRows, TieredRows
from whence.engines.spark.supported import Supported
from whence.engines.spark.types import rows_from_arrow
from whence.errors import WhenceError
from whence.model.program import Functions
from whence.model.types import Row
from whence.model.updates import Delta, Update


class ToClusterError(Exception):
    """The change goes to the cluster, which is not here."""


class DictFrame(dict[Row, Any]):
    """A base as a dictionary, with the little of a frame that keeping one needs."""

    def select(self, _: Sequence[str]) -> DictFrame:
        return self

    def unionByName(self, other: DictFrame) -> DictFrame:  # noqa: N802 - as Spark spells it
        return DictFrame(added(self, other))


class DictHome:
    """Keeps tables of counts as dictionaries."""

    scratch = None

    def __init__(self) -> None:
        self.engine: SparkEngine | None = None

    def keep_table(self, name: str, table: pa.Table) -> DictFrame:
        assert self.engine is not None
        relation = self.engine.registry[name].relation
        return DictFrame(zip(rows_from_arrow(table, relation), table.column("n").to_pylist(), strict=True))

    def points(self, _frame: object, codec: Codec[Any], _paging: Paging, _known: pa.Table | None) -> Points:
        return Points(None, codec.schema)


class DictLookup(ColumnLookup):
    """Finds all that there is in a base, which is more than was asked for."""

    def _in_base(
        self, name: str, positions: Sequence[int], keys: Sequence[pa.Array], columns: Sequence[str]
    ) -> pa.Table:
        codec = self._registry.codec(name)
        return codec.encode(_stored(self._registry[name].base)).cast(codec.schema).select(columns)


class SimulatedEngine(SparkEngine):
    """The frame of a base is a dictionary."""

    def __init__(self, paging: Paging, maintenance: str) -> None:
        nothing: Any = None
        home: Any = DictHome()
        super().__init__(nothing, home, maintenance, paging=paging)
        home.engine = self

    def _lookup_in(self, registry: Registry) -> ColumnLookup:
        return DictLookup(self.spark, registry, self._paging, self._ledger.phase)

    def _ask(self, states: Sequence[str], registry: Registry | None = None, view: str | None = None) -> bool:
        asked = False
        for name in states:
            state = (registry or self.registry)[name]
            for wanted in state.base.wanted():
                asked = True
                rows = _stored(state.base)
                if wanted.positions:
                    key, keys = itemgetter(*wanted.positions), set(wanted.keys)
                    rows = {row: known for row, known in rows.items() if key(row) in keys}
                state.base.receive(wanted, rows.items())
            if isinstance(state, Supported):
                asked = any(list(_answer(state))) or asked
        return asked

    def _on_cluster(
        self, plan: SparkComponent, inputs: Mapping[str, Delta], registry: Registry, work: SparkWork
    ) -> Effects:
        raise ToClusterError

    def compact(self, name: str) -> None:
        """Fold what has changed into the base."""
        state: Any = self.registry[name]
        rows = self.state(name)
        frames: Any = [DictFrame(rows)]
        self.registry._kept[name] = frames  # noqa: SLF001 - as a frame that home has kept
        segments: Segments[Any] = Segments(
            frames,
            (),
            len(rows),
            lambda table: table,
            add_up=isinstance(state, CountedRows),
        )
        state.replace(segments)

    def state(self, name: str) -> dict[Row, Any]:
        state = self.registry[name]
        rows = dict(_stored(state.base))
        if isinstance(state, CountedRows):
            return added(rows, state.overlay.counts)
        if isinstance(state, TieredRows):
            for tier in state.tiers:
                rows.update(self.registry.codec(name).decode_log(tier.table()))
        rows.update(state.overlay)
        return {row: known for row, known in rows.items() if known is not None}

    def seen(self, name: str) -> dict[Row, int]:
        rows = self.state(name)
        if isinstance(self.registry[name], Supported):
            return dict.fromkeys(rows, 1)
        return {row: 1 for row, count in rows.items() if count > 0} if self.relation(name).distinct else rows


def _stored(base: Base[Any]) -> dict[Row, Any]:
    frame: Any = {} if base.segments is None else base.segments.frame
    return dict(frame)


def _answer(state: Supported) -> Iterator[bool]:
    for ids in state.take_asked():
        state.receive_resting(ids, [row for row, known in _stored(state.base).items() if ids.intersection(known)])
        yield True


def follow(
    analysis: Analysis,
    functions: Functions,
    updates: Iterable[Mapping[str, Delta]],
    rng: Random,
    paging: Paging,
    maintenance: str = "auto",
) -> int:
    """Drive an engine through updates, checking it after each; returns how many of them happened.

    Raises ToClusterError where the driver alone cannot follow.
    """
    engine = SimulatedEngine(paging, maintenance)
    engine.define(analysis, functions, Update())
    base: dict[str, Mapping[Row, int]] = {}
    before = evaluate(analysis, base, functions)
    _check(engine, before)
    steps = 0
    for update in updates:
        after = {**base, **{name: added(base.get(name, {}), delta) for name, delta in update.items()}}
        try:
            expected = evaluate(analysis, after, functions)
        except WhenceError:
            # The engine has to refuse the update as well, and to stay as it is.
            try:
                engine.apply(Update(update))
            except WhenceError:
                _check(engine, before)
                continue
            raise AssertionError("the reference engine refuses this update") from None
        deltas = engine.apply(Update(update))
        for name, rows in expected.items():
            assert dict(deltas.get(name, {})) == difference(rows, before[name]), name
        base, before = after, expected
        _check(engine, before)
        steps += 1
        for name in list(engine.registry.names()):
            if rng.random() < 0.3:
                engine.compact(name)
    return steps


def _check(engine: SimulatedEngine, expected: Mapping[str, Mapping[Row, int]]) -> None:
    for name, rows in expected.items():
        assert engine.seen(name) == dict(rows), name
