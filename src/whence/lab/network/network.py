"""The network as an engine: what a session needs of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from whence.algebra.deltas import added, delta_between
from whence.analysis.analyze import Analysis
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.database.database import Database
from whence.engines.engine import Capabilities
from whence.incremental.evaluate import Borrowed, evaluate
from whence.lab.network.node import Placing
from whence.lab.network.options import Options
from whence.lab.network.plan.placements import Best
from whence.lab.network.values import ValueWriter
from whence.lab.network.wire import Links, Traffic, Wire
from whence.lab.network.world import NetworkWorld
from whence.model.program import Functions, Program
from whence.model.types import Row, Type, Value
from whence.model.updates import Delta, Update
from whence.session.lifetimes import NOW
from whence.session.session import Session


class NetworkEngine:
    """`traffic` is that of the last change."""

    def __init__(self, options: Options, links: Links | None = None, limits: RecursionLimits = DEFAULT_LIMITS) -> None:
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
        changed = {name: added(kept.get(name, {}), update.deltas.get(name, {})) for name in {**kept, **update.deltas}}
        world = self._world(analysis, functions)
        world.change(Update(changed))
        self.world, self._analysis, self.traffic = world, analysis, self._wire.traffic()
        after = {name: world.counts(name) for name in analysis.relations}
        deltas = {name: delta_between(before[name], rows) if name in same else rows for name, rows in after.items()}
        return {name: delta for name, delta in deltas.items() if delta}

    def apply(self, update: Update) -> Mapping[str, Delta]:
        deltas = self.world.change(update)
        self.traffic = self._wire.traffic()
        return deltas

    def counts(self, relation: str) -> Mapping[Row, int]:
        return self.world.counts(relation)

    def evaluate(self, analysis: Analysis, functions: Functions, relation: str) -> Mapping[Row, int]:
        """Outside of the network: no message tells of it."""
        return evaluate(analysis, functions, self._limits, lambda name: Borrowed(self.counts(name)), relation)

    @property
    def capabilities(self) -> Capabilities:
        """None: every message counts, and there is none for what does not happen."""
        return Capabilities()

    def metrics(self) -> Mapping[str, int | float]:
        total = self.traffic.total
        return {
            "messages": total.messages,
            "tuples_shipped": total.tuples,
            "bytes_shipped": total.bytes,
            "rounds": self.traffic.rounds,
        }

    def _world(self, analysis: Analysis, functions: Functions) -> NetworkWorld:
        self.placing = Placing(self._options.nodes)
        self._wire = Wire(self._links, self.placing)
        return NetworkWorld(analysis, functions, self._limits, self._options, self.placing, self._wire)


_SQL = re.compile(r"(\s|--[^\n]*\n|/\*.*?\*/)*(create|insert|delete|update|drop)\s", re.IGNORECASE | re.DOTALL)


class Network:
    """A program over logical nodes, each of which holds a part of every relation.

    `program` is SQL or Datalog. `nodes` is how many nodes there are, among which rows are spread by the hash of their
    partition column; with None each of its values is a node. The partition column is the declared one, or the first;
    `partition` names another one for some relations.

    `provenance` is what rows of recursive views know of their derivations: "none" (deletes over-delete and derive
    again), "relative" (all derivations), "absorption" (which tuples they cannot do without; in the `form` of
    "diagrams", whose leaves are in `order` of "arrival" or "depth-first", or of "supports"). `ship` is how derivations
    are shipped: "direct" (all of them), "eager" (the first at once and further ones merged, `window` rows at a time),
    "lazy" (further ones only if the first is gone).

    `best` selects, for a relation of a recursive view, the rows that matter, such as the shortest of all paths: see
    Best. Recursive views with one min or max in a head are selected from by themselves.

    Every change returns its Traffic. `links` can delay messages.
    """

    def __init__(
        self,
        program: str,
        nodes: int | None = None,
        *,
        provenance: str = "absorption",
        ship: str = "lazy",
        form: str = "diagrams",
        order: str = "arrival",
        window: int = 100,
        partition: Mapping[str, str] | None = None,
        best: Mapping[str, Best] | None = None,
        functions: Mapping[str, tuple[Callable[..., object], str | Type]] | None = None,
        links: Links | None = None,
    ) -> None:
        options = Options(nodes, provenance, ship, form, order, window, partition or {}, best or {})
        self._engine = NetworkEngine(options, links, DEFAULT_LIMITS)
        session = Session(self._engine)
        self._database = Database(session)
        for name, (function, returns) in (functions or {}).items():
            self._database.function(name, function, returns=returns)
        if _SQL.match(program):
            self._database.execute(program, name="<program>")
        else:
            self._database.rules(program, name="<program>")
        for name in (*options.partition, *options.best):
            session.definitions.relation(name)

    def insert(self, relation: str, rows: object) -> Traffic:
        self._database.insert(relation, rows)
        return self._engine.traffic

    def delete(self, relation: str, rows: object) -> Traffic:
        self._database.delete(relation, rows)
        return self._engine.traffic

    def advance(self, moment: object = NOW) -> Traffic:
        """Time moves, and rows whose time to live has passed leave."""
        self._database.advance(moment)
        return self._engine.traffic

    def rows(self, relation: str) -> set[Row]:
        return self._database.rows(relation)

    def state_bytes(self) -> dict[Value, int]:
        """Per node, all that it holds, as long as it would be in a message: rows, annotations, what is yet to ship."""
        placing = self._engine.placing
        return {placing.name(number): state_size(self._engine.world, number) for number in range(len(placing))}

    def provenance_bytes(self) -> float:
        """Of a row in a recursive view, how long its annotation is at home, on average. What the annotations of a node
        share counts once.
        """
        rows, size = 0, 0
        world = self._engine.world
        for part in (part for number in world.nodes for part in world.recursive_parts(number)):
            home = [row for row in part.notes.rows() if part.rows.tuples[row][0] in part.shared.copies]
            rows += len(home)
            size += len(part.node.annotations.write(part.notes.of(home)))
        return size / rows if rows else 0.0


def state_size(world: NetworkWorld, number: int) -> int:
    writer = ValueWriter()
    node = world.nodes.get(number)
    if node is None:
        return 0
    for held in node.all_held.values():
        writer.rows(held.store.counts)
    for part in world.recursive_parts(number):
        for copy in part.shared.own_copies:
            writer.rows(part.own[copy].counts)
        writer.block(node.annotations.write(part.notes.of(part.notes.rows())))
        part.ship.write(writer)
    return len(writer.data)
