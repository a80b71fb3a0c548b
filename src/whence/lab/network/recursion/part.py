"""One node's part of a recursive view: the rows it holds with their annotations, joined as derivations arrive."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.analysis.typed_rules import typed_rule
from whence.incremental.plan import Pattern
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.recursive.rules import Rules
from whence.incremental.recursive.steps import InputChange, RelationSource
from whence.incremental.store import Store
from whence.lab.network.held import HeldLedger, Numbering, Tuple, apply
from whence.lab.network.messages import DerivedRows
from whence.lab.network.node import Node
from whence.lab.network.plan.placements import Column, LocalProgram, Stage, is_alone
from whence.lab.network.provenance.annotations import NEW, SAME
from whence.lab.network.recursion.ship import Ship
from whence.lab.network.values import DamagedError
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.types import Row

A = TypeVar("A")

# Rows by number, with the derivations of each that nothing has been joined with yet.
News: TypeAlias = dict[int, list[A]]


class RecursiveStage:
    """What all nodes share of a recursive view.

    `copies` has the placed names, with their columns, under which the rules read a relation of the view itself.
    """

    def __init__(self, stage: Stage, plan: LocalProgram, functions: Functions, limits: RecursionLimits) -> None:
        self.stage = stage
        self.relations: Mapping[str, Relation] = plan.relations
        self.functions = functions
        signatures = {name: function.signature for name, function in functions.items()}
        self.component = Component(
            stage.relations,
            stage.rules,
            recursive=True,
            linear=False,
            monotone=True,
            aggregated=frozenset(),
            typed=tuple(typed_rule(rule, plan.relations, signatures) for rule in stage.rules),
        )
        selected = frozenset(each.relation for each in stage.selections)
        self.limit = ConvergenceLimit(replace(self.component, aggregated=selected), limits)
        read = {literal.relation for rule in stage.rules for literal in rule.body if hasattr(literal, "relation")}
        self.copies: dict[str, dict[str, Column]] = {
            name: {copy: at for copy, at in plan.placements.copies.get(name, {}).items() if copy in read}
            for name in stage.relations
        }

    @property
    def hops(self) -> int:
        """How many messages it can take, one after the other, to use one rule once."""
        between = len(self.stage.relations) - len({name.partition("$join")[0] for name in self.stage.relations})
        return 2 * (1 + between)

    @property
    def own_copies(self) -> list[str]:
        return [copy for copies in self.copies.values() for copy in copies]


class RecursivePart(Generic[A]):
    """Every row here has an annotation, which tells those of its derivations that have arrived.

    A change enters in one phase: leaves that are gone are struck from all annotations, and a row without any derivation
    left goes too; what rows that came make derivable is offered to the ship operator.
    """

    def __init__(self, shared: RecursiveStage, node: Node[A], ship: Ship[A]) -> None:
        self.shared = shared
        self.node = node
        self.ship = ship
        journal = node.context.journal
        self.own: dict[str, Store] = {name: node.held(name).store for name in shared.stage.relations}
        self.own |= {name: Store() for name in shared.own_copies}
        self.rows = Numbering()
        self.notes = node.annotations.table(journal)
        self.removed = False
        self.latest: Tuple | None = None
        # Keys that a negated atom asks for and no row has are leaves as well.
        self._absent: HeldLedger[tuple[Pattern, Row], int] = HeldLedger(journal)
        self._dead: set[int] = set()
        self._arrived: list[int] = []
        self._arrived_annotations: list[A] = []
        inputs = {name: node.held(name).store for name in shared.stage.reads}
        self.sources: Mapping[str, RelationSource] = {**inputs, **self.own}
        copies = {name: self.own[name] for name in shared.own_copies}
        sizes = {name: partial(len, self.own[name].counts) for name in shared.stage.relations}
        self.rules = Rules(shared.component, shared.relations, shared.functions, {**inputs, **copies}, sizes)
        self.rules.count_matches(shared.limit)

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
        for other in range(len(self.node.context.placing)):
            if other != self.node.number:
                for tuple_id in ids:
                    self.node.outbox.struck(other, tuple_id)
        self.strike(ids | self.node.struck)
        self.gain(change)
        self.settle({})

    def change(self) -> InputChange:
        """What has happened to the relations below, as far as it is here."""
        held = {name: self.node.held(name) for name in self.shared.stage.reads}
        return InputChange(
            {name: rows for name, each in held.items() if (rows := each.appeared())},
            {name: rows for name, each in held.items() if (rows := each.vanished())},
            {},
            {},
            owing=False,
        )

    def gain(self, change: InputChange) -> None:
        found: dict[int, tuple[Matcher, list[BodyMatch]]] = {}
        for matcher, matches in self.rules.gained(change, self.sources):
            found.setdefault(matcher.number, (matcher, []))[1].extend(matches)
        for matcher, matches in found.values():
            self.derive(matcher, matches)

    def derive_all(self, matchers: Iterable[Matcher]) -> None:
        for matcher in matchers:
            if self.node.is_gathering or not is_alone(matcher.rule):
                self.derive(matcher, list(matcher.all(self.sources)))

    def strike(self, ids: Collection[int]) -> None:
        """These leaves are gone, in what is here and in what is still to arrive."""
        self._dead.update(ids)
        self.leave(self.notes.strike(ids))
        self.ship.strike(ids)

    def receive(self, section: DerivedRows) -> None:
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
        new = [row for row, effect in zip(rows, effects, strict=True) if effect == NEW]
        self.shared.limit.grew(len(new))
        self.learn(new)
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
                matches: list[BodyMatch] = []
                given: list[A] = []
                for row, fresh in entries:
                    for match in matcher.through(position, row, self.sources):
                        matches += [match] * len(fresh)
                        given += fresh
                self.derive(matcher, matches, position, given)
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
            apply(self.node.context.journal, self.own[relation], delta)
            if relation in self.shared.copies:
                held = self.node.held(relation)
                for row in delta:
                    held.note(row, change)

    def derive(
        self, matcher: Matcher, matches: Sequence[BodyMatch], position: int | None = None, given: Sequence[A] = ()
    ) -> None:
        """Offer what satisfies the body of a rule; the atom at `position` counts with what is given, its news, only."""
        if not matches:
            return
        heads = [match.head for match in matches]
        atoms = zip(matcher.positive, zip(*[match.body for match in matches], strict=True), strict=True)
        bodies = [
            given if at == position else self._annotations(relation, rows) for at, (relation, rows) in enumerate(atoms)
        ]
        absences = zip(matcher.absences, zip(*[match.absent for match in matches], strict=True), strict=True)
        bodies += [[self._absence((pattern, key)) for key in keys] for pattern, keys in absences]
        annotations = self.node.annotations.derived(matcher.relation, heads, matcher.number, bodies)
        self.ship.offer(matcher.relation, heads, annotations)

    def _annotations(self, relation: str, rows: Sequence[Row]) -> Sequence[A]:
        if relation in self.own:
            return self.notes.of(self.rows.numbers(relation, rows))
        leaf, ids = self.node.annotations.leaf, self.node.held(relation).ids
        leaves = {row: leaf(ids[row]) for row in dict.fromkeys(rows)}
        return [leaves[row] for row in rows]

    def _absence(self, key: tuple[Pattern, Row]) -> A:
        if key not in self._absent:
            self._absent.put(key, self.node.new_id())
        return self.node.annotations.leaf(self._absent[key])
