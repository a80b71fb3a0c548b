"""A node: what it holds of every relation, what it is told, and what it has to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from whence.engines.engine import Functions
from whence.engines.local.recursive.inputs import Changed
from whence.engines.local.recursive.journal import Journal
from whence.engines.reference.fixpoint import Limits
from whence.errors import UnsupportedError
from whence.model.types import Row
from whence.network.held import Held
from whence.network.ledger import Ledger
from whence.network.messages import Rows
from whence.network.outbox import Outbox
from whence.network.placing import Placing
from whence.network.plan.placements import LocalProgram
from whence.network.provenance.annotations import Annotations

A = TypeVar("A")

MOST_NODES = 1 << 16


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all nodes know: the program, who is where, and how to take a change back."""

    plan: LocalProgram
    placing: Placing
    functions: Functions
    limits: Limits
    journal: Journal

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
    def __init__(self, number: int, surroundings: Surroundings, annotations: Annotations[A]) -> None:
        if number >= MOST_NODES:
            raise UnsupportedError(
                f"a network has at most {MOST_NODES:,} nodes", hint="say how many, and values share them"
            )
        self.number = number
        self.surroundings = surroundings
        self.annotations = annotations
        self.outbox: Outbox[A] = Outbox(annotations, surroundings.home_of)
        self.struck: set[int] = set()
        self._held: dict[str, Held] = {}
        # The copies of rows from elsewhere, by id.
        self._copies: Ledger[int, tuple[tuple[str, Row], ...]] = Ledger(surroundings.journal)
        self._serial = 0

    @property
    def is_gathering(self) -> bool:
        return self.number == self.surroundings.gathering

    @property
    def all_held(self) -> Mapping[str, Held]:
        return self._held

    def held(self, relation: str) -> Held:
        """What there is of a relation here, under the name it has here."""
        found = self._held.get(relation)
        if found is None:
            found = self._held[relation] = Held(self.surroundings.journal)
        return found

    def new_id(self) -> int:
        """A number that no other tuple has, here or on another node, now or ever."""
        self._serial += 1
        return self._serial * MOST_NODES + self.number

    def before(self, relation: str) -> Changed:
        """A relation as it was before the change."""
        held = self.held(relation)
        return Changed(held.store, {row: -change for row, change in held.changed.items()})

    def take_rows(self, section: Rows) -> None:
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
