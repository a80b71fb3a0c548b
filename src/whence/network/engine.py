"""The network as an engine: what a session needs of it."""

from __future__ import annotations

from collections.abc import Mapping

from whence.analysis.analyze import Analysis
from whence.engines.engine import Functions
from whence.engines.reference.fixpoint import DEFAULT_LIMITS, Limits
from whence.errors import UnsupportedError
from whence.model.program import Program
from whence.model.types import Row, Value
from whence.model.updates import Delta, Update
from whence.network.links import Links
from whence.network.options import Options
from whence.network.placing import Placing
from whence.network.traffic import Traffic
from whence.network.wire import Wire
from whence.network.world import World


class NetworkEngine:
    """`traffic` is that of the last change."""

    def __init__(self, options: Options, links: Links | None = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self._options = options
        self._links = links or Links()
        self._limits = limits
        self._analysis = Analysis(Program(), {}, ())
        self.world = self._world(self._analysis, {})
        self.traffic = Traffic()

    def define(self, analysis: Analysis, functions: Functions, update: Update) -> Mapping[str, Delta]:
        """Nodes forget what they had, and get the rows of base tables again."""
        before = {name: self.world.counts(name) for name in self._analysis.relations}
        columns = {name: relation.columns for name, relation in self._analysis.relations.items()}
        same = {name for name, relation in analysis.relations.items() if columns.get(name) == relation.columns}
        views = {name for component in analysis.components if component.rules for name in component.relations}
        views |= {name for component in self._analysis.components if component.rules for name in component.relations}
        kept = {name: before[name] for name in same - views}
        changed = {name: _sum(kept.get(name, {}), update.deltas.get(name, {})) for name in {**kept, **update.deltas}}
        world = self._world(analysis, functions)
        world.change(Update(changed))
        self.world, self._analysis, self.traffic = world, analysis, self._wire.traffic()
        after = {name: world.counts(name) for name in analysis.relations}
        deltas = {name: _sum(rows, _minus(before[name])) if name in same else rows for name, rows in after.items()}
        return {name: delta for name, delta in deltas.items() if delta}

    def apply(self, update: Update) -> Mapping[str, Delta]:
        deltas = self.world.change(update)
        self.traffic = self._wire.traffic()
        return deltas

    def foresee(self, update: Update) -> Mapping[str, Delta]:  # noqa: ARG002 - it is refused
        raise UnsupportedError("a network counts every message, and has none for what does not happen")

    def counts(self, relation: str) -> Mapping[Row, int]:
        return self.world.counts(relation)

    def metrics(self) -> Mapping[str, int | float]:
        total = self.traffic.total
        return {
            "messages": total.messages,
            "tuples_shipped": total.tuples,
            "bytes_shipped": total.bytes,
            "rounds": self.traffic.rounds,
        }

    def nodes(self) -> list[tuple[int, Value]]:
        """All nodes by number, with their names."""
        return [(number, self._wire.name(number)) for number in range(self._wire.nodes)]

    def _world(self, analysis: Analysis, functions: Functions) -> World:
        placing = Placing(self._options.nodes)
        self._wire = Wire(self._links, placing)
        return World(analysis, functions, self._limits, self._options, placing, self._wire)


def _sum(left: Delta, right: Delta) -> dict[Row, int]:
    total = dict(left)
    for row, change in right.items():
        count = total.pop(row, 0) + change
        if count:
            total[row] = count
    return total


def _minus(delta: Delta) -> Delta:
    return {row: -change for row, change in delta.items()}
