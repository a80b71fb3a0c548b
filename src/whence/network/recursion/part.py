"""One node's part of a recursive view: the rows it holds with their annotations, joined as derivations arrive."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Matcher
from whence.engines.local.recursive.rules import Rules
from whence.engines.local.recursive.steps import Source
from whence.engines.local.store import Store
from whence.incremental.plan import Pattern
from whence.model.types import Row
from whence.network.ledger import Ledger, apply
from whence.network.messages import Derived
from whence.network.node import Node
from whence.network.numbering import Numbering
from whence.network.plan.placements import is_alone
from whence.network.provenance.annotations import NEW, SAME, Tuple
from whence.network.recursion.derivations import Derivations
from whence.network.recursion.stage import RecursiveStage
from whence.network.shipping.ship import Ship
from whence.network.values import DamagedError

A = TypeVar("A")

# Rows by number, with the derivations of each that nothing has been joined with yet.
News: TypeAlias = dict[int, list[A]]


class RecursivePart(Generic[A]):
    """Every row here has an annotation, which tells those of its derivations that have arrived.

    A change enters in one phase: leaves that are gone are struck from all annotations, and a row without any derivation
    left goes too; what rows that came make derivable is offered to the ship operator.
    """

    def __init__(self, shared: RecursiveStage, node: Node[A], ship: Ship[A]) -> None:
        self.shared = shared
        self.node = node
        self.ship = ship
        journal = node.surroundings.journal
        self.own: dict[str, Store] = {name: node.held(name).store for name in shared.stage.relations}
        self.own |= {name: Store() for name in shared.own_copies}
        self.rows = Numbering()
        self.notes = node.annotations.table(journal)
        self.removed = False
        self.latest: Tuple | None = None
        # Keys that a negated atom asks for and no row has are leaves as well.
        self._absent: Ledger[tuple[Pattern, Row], int] = Ledger(journal)
        self._dead: set[int] = set()
        self._arrived: list[int] = []
        self._arrived_annotations: list[A] = []
        inputs = {name: node.held(name).store for name in shared.stage.reads}
        self.sources: Mapping[str, Source] = {**inputs, **self.own}
        copies = {name: self.own[name] for name in shared.own_copies}
        self.rules = Rules(shared.component, shared.relations, node.surroundings.functions, {**inputs, **copies})

    def begin(self) -> None:
        """What holds without any row."""
        self.derive_all(matcher for matcher in self.rules.all if is_alone(matcher.rule))
        self.ship.settle()

    def enter(self, phase: int, renew: bool) -> None:  # noqa: ARG002 - one phase, which takes nothing back
        change = self.change()
        refuted = [each for each in self.rules.refuted(change) if each in self._absent]
        ids = {self._absent[each] for each in refuted}
        for each in dict.fromkeys(refuted):
            self._absent.drop(each)
        for other in range(len(self.node.surroundings.placing)):
            if other != self.node.number:
                for tuple_id in ids:
                    self.node.outbox.struck(other, tuple_id)
        self.strike(ids | self.node.struck)
        self.gain(change)
        self.settle({})

    def change(self) -> Change:
        """What has happened to the relations below, as far as it is here."""
        held = {name: self.node.held(name) for name in self.shared.stage.reads}
        return Change(
            {name: rows for name, each in held.items() if (rows := each.appeared())},
            {name: rows for name, each in held.items() if (rows := each.vanished())},
            {},
            {},
            owing=False,
        )

    def gain(self, change: Change) -> None:
        found: dict[int, Derivations[A]] = {}
        for matcher, way in self.rules.gained(change, self.sources):
            found.setdefault(matcher.number, Derivations(matcher)).add(way)
        for derivations in found.values():
            self.derive(derivations)

    def derive_all(self, matchers: Iterable[Matcher]) -> None:
        for matcher in matchers:
            if self.node.is_gathering or not is_alone(matcher.rule):
                derivations: Derivations[A] = Derivations(matcher)
                for way in matcher.all(self.sources):
                    derivations.add(way)
                self.derive(derivations)

    def strike(self, ids: Collection[int]) -> None:
        """These leaves are gone, in what is here and in what is still to arrive."""
        self._dead.update(ids)
        self.leave(self.notes.strike(ids))
        self.ship.strike(ids)

    def receive(self, section: Derived) -> None:
        if section.relation not in self.own:
            raise DamagedError(f"it derives rows of {section.relation!r}, which is not being derived")
        self._arrived_annotations += self.node.annotations.read(section.annotations, len(section.rows))
        self._arrived += self.rows.numbers(section.relation, section.rows)

    def work(self) -> None:
        """Take in what has arrived, and join what is news with everything that is here."""
        rows, annotations = self._arrived, self._arrived_annotations
        self._arrived, self._arrived_annotations = [], []
        if self._dead:
            is_zero = self.node.annotations.is_zero
            left = self.node.annotations.without(annotations, self._dead)
            there = [at for at, each in enumerate(left) if not is_zero(each)]
            rows, annotations = [rows[at] for at in there], [left[at] for at in there]
        effects = self.notes.add(rows, annotations)
        news: News[A] = {}
        self.learn([row for row, effect in zip(rows, effects, strict=True) if effect == NEW])
        for row, annotation, effect in zip(rows, annotations, effects, strict=True):
            if effect != SAME and self.is_shown(row):
                news.setdefault(row, []).append(annotation)
        self.settle(news)

    def settle(self, news: News[A]) -> None:
        """Rows have come, or have new derivations, and rows have gone."""
        by_relation: dict[str, list[tuple[Row, list[A]]]] = {}
        for number, fresh in news.items():
            relation, row = self.rows.tuples[number]
            by_relation.setdefault(relation, []).append((row, fresh))
        for relation, entries in by_relation.items():
            copies = self.shared.copies.get(relation, ())
            if copies:
                rows = [row for row, fresh in entries for _ in fresh]
                annotations = [annotation for _, fresh in entries for annotation in fresh]
                for copy in copies:
                    self.ship.offer(copy, rows, annotations)
            for matcher, position in self.rules.readers[relation]:
                derivations: Derivations[A] = Derivations(matcher, position)
                for row, fresh in entries:
                    for way in matcher.through(position, row, self.sources):
                        derivations.add(way, fresh)
                self.derive(derivations)
        self.ship.settle()

    def flush(self) -> bool:
        return self.ship.flush()

    def finish(self) -> None:
        self._dead.clear()
        self.removed = False

    def abandon(self) -> None:
        """The change is taken back: nothing of it is waiting any more."""
        self.finish()
        self._arrived.clear()
        self._arrived_annotations.clear()

    def learn(self, rows: Sequence[int]) -> None:
        """These rows have their first derivations."""
        if rows:
            self.show(rows, 1)
            self.latest = self.rows.tuples[rows[-1]]

    def is_shown(self, row: int) -> bool:  # noqa: ARG002 - all of them are
        return True

    def leave(self, rows: Sequence[int]) -> None:
        """Rows have lost their last derivations."""
        if rows:
            self.show(rows, -1)
            self.removed = True

    def show(self, rows: Iterable[int], change: int) -> None:
        """Rows are there from now on, or are not any more, for those who join them and for those who look."""
        deltas: dict[str, dict[Row, int]] = {}
        for number in rows:
            relation, row = self.rows.tuples[number]
            deltas.setdefault(relation, {})[row] = change
        for relation, delta in deltas.items():
            apply(self.node.surroundings.journal, self.own[relation], delta)
            if relation in self.shared.copies:
                held = self.node.held(relation)
                for row in delta:
                    held.note(row, change)

    def derive(self, derivations: Derivations[A]) -> None:
        """Offer what satisfies bodies, where atoms that are given count with what is new of them only."""
        if derivations.heads:
            matcher = derivations.matcher
            bodies = derivations.bodies(self._annotations, self._absences)
            annotations = self.node.annotations.derived(matcher.relation, derivations.heads, matcher.number, bodies)
            self.ship.offer(matcher.relation, derivations.heads, annotations)

    def _annotations(self, relation: str, rows: Sequence[Row]) -> Sequence[A]:
        if relation in self.own:
            return self.notes.of(self.rows.numbers(relation, rows))
        leaf, ids = self.node.annotations.leaf, self.node.held(relation).ids
        leaves = {row: leaf(ids[row]) for row in dict.fromkeys(rows)}
        return [leaves[row] for row in rows]

    def _absences(self, pattern: Pattern, keys: Sequence[Row]) -> Sequence[A]:
        return [self._absence((pattern, key)) for key in keys]

    def _absence(self, key: tuple[Pattern, Row]) -> A:
        if key not in self._absent:
            self._absent.put(key, self.node.new_id())
        return self.node.annotations.leaf(self._absent[key])
