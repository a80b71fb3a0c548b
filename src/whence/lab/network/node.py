"""A node: which rows are at home on it, what it holds of every relation, and what it tells others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from numbers import Number
from typing import Generic, TypeVar

from whence.algebra.deltas import negated
from whence.errors import TypeMismatchError, UnsupportedError
from whence.incremental.recursive.journal import UndoLog
from whence.incremental.recursive.steps import ChangedStore
from whence.lab.network.held import Held, HeldLedger
from whence.lab.network.messages import FinishedRows, Outbox
from whence.lab.network.plan.placements import LocalProgram
from whence.lab.network.provenance.annotations import Annotations
from whence.model.types import Row, Value

A = TypeVar("A")

MOST_NODES = 1 << 16


class Placing:
    """Which node a row is at home on: the one that its value in the partition column leads to.

    There are so many nodes, among which hashes spread the values, or with None a node for every value. Nodes have
    numbers. Where each value is a node, it gets the next number when it is first seen.
    """

    def __init__(self, nodes: int | None) -> None:
        if nodes is not None and nodes < 1:
            raise TypeMismatchError(f"nodes is how many nodes there are, or None for one per value, not {nodes!r}")
        self.nodes = nodes
        self._names: list[Value] = [] if nodes is None else list(range(nodes))
        self._numbers: dict[Value, int] = {}

    def __len__(self) -> int:
        return len(self._names)

    def node(self, value: Value) -> int:
        """The number of the node that rows with this value belong to."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = self._new(value)
        return number

    def _new(self, value: Value) -> int:
        if self.nodes is not None:
            return stable_hash(value) % self.nodes
        self._names.append(value)
        return len(self._names) - 1

    def name(self, number: int) -> Value:
        return self._names[number]


def stable_hash(value: Value) -> int:
    """The same in every process, and for values that are equal."""
    if value is None:
        return 0
    if isinstance(value, Number):
        # Python promises that equal numbers of whatever type hash alike, and does not salt them.
        return hash(value)
    if isinstance(value, tuple):
        return _digest(repr([stable_hash(each) for each in value]))
    return _digest(str(value))


@lru_cache(maxsize=1 << 16)
def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class NodeContext:
    """What all nodes know: the program, who is where, and how to take a change back."""

    plan: LocalProgram
    placing: Placing
    journal: UndoLog

    def home(self, relation: str, row: Row) -> int:
        return self.home_of(relation)(row)

    def home_of(self, relation: str) -> Callable[[Row], int]:
        """What tells the node of a row in a relation, or in a copy of one."""
        column, node = self.plan.placements.column(relation), self.placing.node
        return (lambda _: node(None)) if column is None else (lambda row: node(row[column]))

    @property
    def gathering(self) -> int | None:
        """The node where what has no other place comes together, if there is such a thing in the program."""
        return self.placing.node(None) if self.plan.gathers else None


class Node(Generic[A]):
    def __init__(self, number: int, context: NodeContext, annotations: Annotations[A]) -> None:
        if number >= MOST_NODES:
            raise UnsupportedError(
                f"a network has at most {MOST_NODES:,} nodes", hint="say how many, and values share them"
            )
        self.number = number
        self.context = context
        self.annotations = annotations
        self.outbox: Outbox[A] = Outbox(annotations, context.home_of)
        self.struck: set[int] = set()
        self._held: dict[str, Held] = {}
        # The copies of rows from elsewhere, by id.
        self._copies: HeldLedger[int, tuple[tuple[str, Row], ...]] = HeldLedger(context.journal)
        self._serial = 0

    @property
    def is_gathering(self) -> bool:
        return self.number == self.context.gathering

    @property
    def all_held(self) -> Mapping[str, Held]:
        return self._held

    def held(self, relation: str) -> Held:
        """What there is of a relation here, under the name it has here."""
        found = self._held.get(relation)
        if found is None:
            found = self._held[relation] = Held(self.context.journal)
        return found

    def new_id(self) -> int:
        """A number that no other tuple has, here or on another node, now or ever."""
        self._serial += 1
        return self._serial * MOST_NODES + self.number

    def before(self, relation: str) -> ChangedStore:
        """A relation as it was before the change."""
        held = self.held(relation)
        return ChangedStore(held.store, negated(held.changed))

    def take_rows(self, section: FinishedRows) -> None:
        """Copies of rows that are at home elsewhere, or a change of their counts."""
        held = self.held(section.relation)
        for tuple_id, row, change in section.entries:
            if row not in held.ids:
                held.ids.put(row, tuple_id)
                self._copies.put(tuple_id, (*self._copies.get(tuple_id, ()), (section.relation, row)))
            held.change(row, change)

    def strike(self, tuple_id: int) -> None:
        """A tuple is gone, wherever it was."""
        self.struck.add(tuple_id)
        if tuple_id in self._copies:
            for relation, row in self._copies[tuple_id]:
                held = self.held(relation)
                held.change(row, -held.store.counts[row])
                held.ids.drop(row)
            self._copies.drop(tuple_id)

    def settle(self) -> None:
        """The change is over, or was taken back."""
        self.outbox.clear()
        self.annotations.settle()
        self.struck.clear()
        for held in self._held.values():
            held.changed.clear()


class Exchange:
    """A finished relation goes where rules read it: new rows as copies, and of those that are gone the ids.

    `everywhere`: derivations carry ids along, so that every node must hear which are gone.
    """

    def __init__(self, context: NodeContext, everywhere: bool) -> None:
        plan = context.plan
        read = {name for stage in plan.stages for name in stage.reads}
        self._copies = {
            relation: {copy: context.home_of(copy) for copy in copies if copy in read}
            for relation, copies in plan.placements.copies.items()
        }
        self._leaves = plan.leaves
        self._broadcast = plan.leaves if everywhere else frozenset()

    def announce(self, node: Node[A], relation: str, nodes: Collection[int]) -> None:
        """Tell who must know what has changed in a relation at home here."""
        held = node.held(relation)
        copies = self._copies.get(relation, {})
        if not held.changed or not (copies or relation in self._leaves):
            return
        for row, change in held.changed.items():
            targets = {copy: home(row) for copy, home in copies.items()}
            if row in held.store.counts:
                if row not in held.ids:
                    held.ids.put(row, node.new_id())
                for copy, target in targets.items():
                    node.outbox.row(target, copy, held.ids[row], row, change)
                continue
            tuple_id = held.ids[row]
            held.ids.drop(row)
            told = {*targets.values(), *(nodes if relation in self._broadcast else ())}
            for target in sorted(told - {node.number}):
                node.outbox.struck(target, tuple_id)
            node.strike(tuple_id)
