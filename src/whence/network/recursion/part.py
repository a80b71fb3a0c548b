"""One node's part of a recursive view: the rows it holds with their annotations, joined as derivations arrive."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Generic, TypeAlias, TypeVar

from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.rules import Rules
from whence.engines.local.recursive.steps import Source
from whence.engines.local.store import Store
from whence.incremental.plan import Pattern
from whence.model.types import Row
from whence.network.holders import Holders
from whence.network.ledger import Ledger, apply
from whence.network.messages import Derived
from whence.network.node import Node
from whence.network.plan.placements import is_alone, value_at
from whence.network.recursion.stage import RecursiveStage
from whence.network.shipping.ship import Ship
from whence.network.values import DamagedError

A = TypeVar("A")

# A row under the name of its relation here.
Key: TypeAlias = tuple[str, Row]


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
        self.notes: Ledger[Key, A] = Ledger(journal)
        self.removed = False
        self.latest: Key | None = None
        self._holders: Holders[Key] = Holders(journal)
        # Keys that a negated atom asks for and no row has are leaves as well.
        self._absent: Ledger[tuple[Pattern, Row], int] = Ledger(journal)
        self._dead: set[int] = set()
        self._arrived: list[tuple[Key, A]] = []
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
        for matcher, found in list(self.rules.gained(change, self.sources)):
            self._derive(matcher, found)

    def derive_all(self, matchers: Iterable[Matcher]) -> None:
        for matcher in matchers:
            if self.node.is_gathering or not is_alone(matcher.rule):
                for found in list(matcher.all(self.sources)):
                    self._derive(matcher, found)

    def strike(self, ids: Collection[int]) -> None:
        """These leaves are gone, in what is here and in what is still to arrive."""
        self._dead.update(ids)
        keys = [key for key in self._holders.take(ids) if key in self.notes]
        algebra = self.node.annotations
        for key, left in zip(keys, algebra.without([self.notes[key] for key in keys], ids), strict=True):
            if algebra.is_zero(left):
                self.leave(key)
            else:
                self.notes.put(key, left)
        self.ship.strike(ids)

    def receive(self, section: Derived) -> None:
        if section.relation not in self.own:
            raise DamagedError(f"it derives rows of {section.relation!r}, which is not being derived")
        annotations = self.node.annotations.read(section.annotations, len(section.rows))
        self._arrived += [((section.relation, row), each) for row, each in zip(section.rows, annotations, strict=True)]

    def work(self) -> None:
        """Take in what has arrived, and join what is news with everything that is here."""
        news: dict[Key, list[A]] = {}
        annotations = [annotation for _, annotation in self._arrived]
        if self._dead:
            annotations = self.node.annotations.without(annotations, self._dead)
        for (key, _), annotation in zip(self._arrived, annotations, strict=True):
            if not self.node.annotations.is_zero(annotation):
                self._take(key, annotation, news)
        self._arrived.clear()
        self.settle(news)

    def settle(self, news: dict[Key, list[A]]) -> None:
        """Rows have come, or have new derivations, and rows have gone."""
        for (relation, row), fresh in news.items():
            for copy, column in self.shared.copies.get(relation, {}).items():
                target = (self.node.surroundings.placing.node(value_at(row, column)), copy, row)
                for annotation in fresh:
                    self.ship.offer(target, annotation)
            for matcher, position in self.rules.readers[relation]:
                for found in list(matcher.through(position, row, self.sources)):
                    for annotation in fresh:
                        self._derive(matcher, found, {position: annotation})
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

    def _take(self, key: Key, annotation: A, news: dict[Key, list[A]]) -> None:
        algebra = self.node.annotations
        known = self.notes.get(key)
        total = annotation if known is None else algebra.plus(known, annotation)
        if total == known:
            return
        self.notes.put(key, total)
        self._holders.add(key, algebra.leaves(total, known))
        self.learn(key, annotation, known is None, news)

    def learn(self, key: Key, annotation: A, is_new: bool, news: dict[Key, list[A]]) -> None:
        """There are new derivations of a row."""
        if is_new:
            self.show(key, 1)
            self.latest = key
        news.setdefault(key, []).append(annotation)

    def leave(self, key: Key) -> None:
        """A row has lost its last derivation."""
        self.notes.drop(key)
        self.show(key, -1)
        self.removed = True

    def show(self, key: Key, change: int) -> None:
        """A row is there from now on, or is not any more, for those who join it and for those who look."""
        relation, row = key
        apply(self.node.surroundings.journal, self.own[relation], {row: change})
        if relation in self.shared.copies:
            self.node.held(relation).note(row, change)

    def _derive(self, matcher: Matcher, found: Found, given: Mapping[int, A] | None = None) -> None:
        """A way to satisfy a body, where atoms that are `given` count with what is new of them only."""
        body = [
            given[at] if given is not None and at in given else self._annotation(name, row)
            for at, (name, row) in enumerate(zip(matcher.positive, found.body, strict=True))
        ]
        body += [self._absence(key) for key in zip(matcher.absences, found.absent, strict=True)]
        head = (matcher.relation, found.head)
        annotation = self.node.annotations.derived(head, matcher.number, body)
        self.ship.offer((self.node.surroundings.home(*head), *head), annotation)

    def _annotation(self, relation: str, row: Row) -> A:
        if relation in self.own:
            return self.notes[relation, row]
        return self.node.annotations.leaf(self.node.held(relation).ids[row])

    def _absence(self, key: tuple[Pattern, Row]) -> A:
        if key not in self._absent:
            self._absent.put(key, self.node.new_id())
        return self.node.annotations.leaf(self._absent[key])
