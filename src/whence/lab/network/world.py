"""All nodes of a program, and how a change goes through them.

Stages take turns: one begins when the network is quiet after the one before. This process sees that it is quiet; on
machines of their own nodes would have to find out, with messages that are not counted here. Within a stage nodes work
on what arrives when it arrives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whence.algebra.variable_order import DepthFirstOrder
from whence.analysis.analyze import Analysis
from whence.analysis.limits import RecursionLimits
from whence.incremental.recursive.journal import UndoLog
from whence.lab.network.counted import CountedPart, CountedStage
from whence.lab.network.messages import CountChanges, Deleted, DerivedRows, FinishedRows, Section, Struck
from whence.lab.network.node import Exchange, Node, NodeContext, Placing
from whence.lab.network.options import Options
from whence.lab.network.plan.localize import Localizer
from whence.lab.network.plan.placements import LocalProgram, StageKind
from whence.lab.network.recursion.over_delete import OverDeletingPart
from whence.lab.network.recursion.part import RecursivePart, RecursiveStage
from whence.lab.network.values import DamagedError
from whence.lab.network.wire import Wire
from whence.model.program import Functions
from whence.model.types import Row, Value
from whence.model.updates import Delta, Update

# Leaves that have come since the diagrams were arranged are below the others. Arranging them touches every diagram, and
# is put off until there are this many for each that has a place.
NEW_LEAVES_SHARE = 0.1


class NetworkWorld:
    def __init__(
        self,
        analysis: Analysis,
        functions: Functions,
        limits: RecursionLimits,
        options: Options,
        placing: Placing,
        wire: Wire,
    ) -> None:
        plan = Localizer(analysis, functions, options.partition, options.best, options.selects).program()
        self._visible = tuple(analysis.relations)
        self._options = options
        self._wire = wire
        self._journal = UndoLog()
        self._context = NodeContext(plan, placing, self._journal)
        self._exchange = Exchange(self._context, everywhere=options.provenance != "none")
        self._leaf_order = LeafOrder(plan) if options.order == "depth-first" else None
        self._stages = [
            RecursiveStage(stage, plan, functions, limits)
            if stage.kind is StageKind.RECURSIVE
            else CountedStage(stage, plan, functions, limits)
            for stage in plan.stages
        ]
        self._nodes: dict[int, Node[Any]] = {}
        self._parts: dict[tuple[int, int], CountedPart | RecursivePart[Any]] = {}
        self._fresh = True
        if self._context.gathering is not None:
            self._node(self._context.gathering)

    @property
    def nodes(self) -> Mapping[int, Node[Any]]:
        return self._nodes

    def recursive_parts(self, node: int) -> list[RecursivePart[Any]]:
        """What a node does for recursive views."""
        return [part for (_, at), part in self._parts.items() if at == node and isinstance(part, RecursivePart)]

    def change(self, update: Update) -> Mapping[str, Delta]:
        """What follows from a change of base tables, in every relation. It happens on all nodes, or on none."""
        self._wire.start()
        try:
            for name, delta in update.deltas.items():
                for row, change in delta.items():
                    self._node(self._context.home(name, row)).held(name).change(row, change)
            self._announce(self._context.plan.base)
            for number in range(len(self._stages)):
                self._run(number)
        except BaseException:
            self._journal.undo()
            for part in self._parts.values():
                part.abandon()
            self._settle()
            raise
        deltas = {name: delta for name in self._visible if (delta := self._changed(name))}
        self._journal.settle()
        self._settle()
        self._fresh = False
        return deltas

    def counts(self, relation: str) -> dict[Row, int]:
        held = [node.held(relation) for node in self._nodes.values()]
        return {row: count for each in held for row, count in each.store.counts.items()}

    def _changed(self, relation: str) -> dict[Row, int]:
        held = [node.held(relation) for node in self._nodes.values()]
        return {row: change for each in held for row, change in each.changed.items()}

    def _settle(self) -> None:
        for node in self._nodes.values():
            node.settle()

    def _announce(self, relations: Sequence[str]) -> None:
        """What has changed in these relations goes where it is read."""
        for node in list(self._nodes.values()):
            for relation in relations:
                self._exchange.announce(node, relation, self._nodes.keys())
        self._exchange_all(None)
        if self._leaf_order is not None:
            self._leaf_order.follow(self._nodes.values())

    def _run(self, number: int) -> None:
        stage = self._stages[number].stage
        if not self._fresh and not any(
            node.held(name).changed for node in self._nodes.values() for name in stage.reads
        ):
            return
        self._reset_limit(number)
        gathering = self._context.gathering
        phases = self._options.phases if stage.kind is StageKind.RECURSIVE else 1
        for phase in range(phases):
            renew = any(part.removed for (at, _), part in self._parts.items() if at == number)
            for node in list(self._nodes):
                self._part(number, node).enter(phase, renew)
            if self._fresh and phase == 0 and gathering is not None:
                self._part(number, gathering).begin()
            self._exchange_all(number)
        for (at, _), part in self._parts.items():
            if at == number:
                part.finish()
        self._announce(stage.relations)

    def _exchange_all(self, number: int | None) -> None:
        """Round after round, until nothing is under way and no node has anything to say."""
        rounds = 0
        while True:
            local = self._post()
            if not local and not self._wire.is_busy:
                if number is None or not self._flush(number):
                    return
                continue
            arrived = [*local, *self._wire.tick()]
            for sender, receiver, sections in arrived:
                self._deliver(number, sender, receiver, sections)
            if number is not None:
                for receiver in dict.fromkeys(receiver for _, receiver, _ in arrived):
                    self._part(number, receiver).work()
                rounds += 1
                self._check_limit(number, rounds)

    def _flush(self, number: int) -> bool:
        flushed = [part.flush() for (at, _), part in self._parts.items() if at == number]
        return any(flushed)

    def _post(self) -> list[tuple[int, int, Sequence[Section]]]:
        """Everything that nodes have to say goes out, except for what they say to themselves."""
        local: list[tuple[int, int, Sequence[Section]]] = []
        for node in list(self._nodes.values()):
            for receiver, sections in node.outbox.take().items():
                if receiver == node.number:
                    local.append((receiver, receiver, sections))
                else:
                    self._wire.post(node.number, receiver, sections)
        return local

    def _deliver(self, number: int | None, sender: int, receiver: int, sections: Sequence[Section]) -> None:
        node = self._node(receiver)
        try:
            for section in sections:
                self._hear(number, node, section)
        except DamagedError as reason:
            raise self._wire.unreadable(sender, receiver, reason) from None

    def _hear(self, number: int | None, node: Node[Any], section: Section) -> None:
        part = None if number is None else self._part(number, node.number)
        match section, part:
            case FinishedRows(), None:
                node.take_rows(section)
            case Struck(ids=ids), None:
                for tuple_id in ids:
                    node.strike(tuple_id)
            case Struck(ids=ids), RecursivePart():
                part.strike(ids)
            case DerivedRows(), RecursivePart():
                part.receive(section)
            case Deleted(), OverDeletingPart():
                part.receive_deleted(section)
            case CountChanges(), CountedPart():
                part.receive(section)
            case _:
                raise DamagedError(f"it tells of {type(section).__name__.lower()}, and nobody asked for that")

    def _reset_limit(self, number: int) -> None:
        """A stage begins to follow a change, with the rows that it has."""
        stage = self._stages[number]
        if isinstance(stage, RecursiveStage):
            stores = [store for part in self._recursive_parts_of(number) for store in part.own.values()]
            stage.limit.begin(sum(len(store.counts) for store in stores))

    def _check_limit(self, number: int, rounds: int) -> None:
        """Stop a recursion that makes new values without end."""
        stage = self._stages[number]
        if not isinstance(stage, RecursiveStage) or stage.limit.depth == float("inf"):
            return
        parts = self._recursive_parts_of(number)
        rules = {rule.head.relation: rule for rule in stage.stage.rules}
        for name in stage.stage.relations:
            stage.limit.check_size(sum(len(part.own[name].counts) for part in parts), rules[name])
        latest = [part.latest for part in parts if part.latest is not None]
        for part in parts:
            part.latest = None
        if latest and rounds > stage.limit.depth * stage.hops * self._wire.slowest:
            relation, row = latest[0]
            raise stage.limit.too_deep(row, rules.get(relation, stage.stage.rules[0]))

    def _recursive_parts_of(self, stage: int) -> list[RecursivePart[Any]]:
        return [part for (at, _), part in self._parts.items() if at == stage and isinstance(part, RecursivePart)]

    def _node(self, number: int) -> Node[Any]:
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes[number] = Node(number, self._context, self._options.annotations())
        return node

    def _part(self, stage: int, node: int) -> CountedPart | RecursivePart[Any]:
        part = self._parts.get((stage, node))
        if part is None:
            shared = self._stages[stage]
            there = self._node(node)
            part = (
                CountedPart(shared, there)
                if isinstance(shared, CountedStage)
                else self._options.part(shared, there, self._journal)
            )
            self._parts[stage, node] = part
        return part


class LeafOrder:
    """The order of leaves in diagrams, as a depth-first traversal of the network of their rows meets them.

    A leaf with two columns or more is a link from its home column to the next other one. The order is one for all
    nodes, so that its keeper must hear of every leaf: that is not counted, as little as the end of a stage.
    """

    def __init__(self, plan: LocalProgram) -> None:
        self._ends = {name: _ends(plan, name) for name in sorted(plan.leaves)}
        self._order: DepthFirstOrder[Value] = DepthFirstOrder()
        self._known: dict[int, tuple[str, Row]] = {}
        self._arranged = 0

    def follow(self, nodes: Iterable[Node[Any]]) -> None:
        """Leaves have come and gone: put them in order on all nodes, if it is worth it."""
        nodes = list(nodes)
        now = {
            tuple_id: (name, row)
            for name in self._ends
            for node in nodes
            for row in node.held(name).changed
            if (tuple_id := node.held(name).ids.get(row)) is not None
        }
        for tuple_id in sorted(now.keys() - self._known.keys()):
            self._insert(tuple_id, *now[tuple_id])
        for tuple_id in sorted({each for node in nodes for each in node.struck} & self._known.keys()):
            self._order.delete(tuple_id)
            del self._known[tuple_id]
        if len(self._known) - self._arranged > NEW_LEAVES_SHARE * self._arranged:
            order = self._order.order()
            for node in nodes:
                node.annotations.arrange(order)
            self._arranged = len(order)

    def _insert(self, tuple_id: int, relation: str, row: Row) -> None:
        source, target = self._ends[relation]
        self._known[tuple_id] = (relation, row)
        self._order.insert(tuple_id, row[source], row[target])


def _ends(plan: LocalProgram, relation: str) -> tuple[int, int]:
    """The columns that a row leads from and to; a row of one column leads nowhere else."""
    home = plan.placements.homes[relation] or 0
    others = [at for at in range(plan.relations[relation].arity) if at != home]
    return home, others[0] if others else home
