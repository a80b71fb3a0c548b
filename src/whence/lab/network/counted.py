"""A stage that is counted: every node follows its own rows, and counts are added up where rows are at home."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from whence.algebra.deltas import add_to, all_negated
from whence.analysis.analyze import Analysis, analyze
from whence.analysis.limits import RecursionLimits
from whence.engines.local.engine import LocalEngine
from whence.lab.network.held import HeldLedger
from whence.lab.network.messages import CountChanges
from whence.lab.network.node import A, Node
from whence.lab.network.plan.placements import LocalProgram, Stage, StageKind, is_alone
from whence.lab.network.values import DamagedError
from whence.model.program import Functions, Program
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, Update


class CountedStage:
    """What all nodes share: the rules that each of them runs, as a program of its own."""

    def __init__(self, stage: Stage, plan: LocalProgram, functions: Functions, limits: RecursionLimits) -> None:
        self.stage = stage
        self.limits = limits
        self.functions = functions
        self._relations = plan.relations

    @cached_property
    def of_gathering(self) -> Analysis:
        return self._analysis(self.stage.rules)

    @cached_property
    def of_others(self) -> Analysis | None:
        rules = tuple(rule for rule in self.stage.rules if not is_alone(rule))
        return self._analysis(rules) if rules and self.stage.kind is StageKind.COUNTED else None

    def _analysis(self, rules: tuple[Rule, ...]) -> Analysis:
        relations = [self._relations[name] for name in self.stage.reads]
        heads = [self._head(self._relations[name]) for name in self.stage.relations]
        signatures = {name: function.signature for name, function in self.functions.items()}
        return analyze(Program((*relations, *heads), rules), signatures)

    def _head(self, relation: Relation) -> Relation:
        if self.stage.kind is StageKind.GATHERED:
            return relation
        # Which columns are never NULL was told from the whole rule, and cannot be told from its parts.
        columns = tuple(replace(column, nullable=True) for column in relation.columns)
        # Of a set that several nodes contribute to, each says how often it found a row.
        return replace(relation, columns=columns, distinct=False, key=())


class CountedPart:
    """One node's part."""

    removed = False

    def __init__(self, shared: CountedStage, node: Node[A]) -> None:
        self._shared = shared
        self._node = node
        self._engine: LocalEngine | None = None
        self._sums = {name: Sums(node, name) for name in shared.stage.relations}

    def enter(self, phase: int, renew: bool) -> None:  # noqa: ARG002 - one phase, which changes nothing back
        """Follow what has changed in the relations below, and tell the homes of the rows what it comes to."""
        inputs = {name: held.changed for name in self._shared.stage.reads if (held := self._node.held(name)).changed}
        deltas = self._follow(Update({name: dict(delta) for name, delta in inputs.items()}))
        for name in self._shared.stage.relations:
            for row, change in deltas.get(name, {}).items():
                self._node.outbox.count(self._node.context.home(name, row), name, row, change)

    def begin(self) -> None:
        """What holds without any row is there since the rules are."""

    def receive(self, section: CountChanges) -> None:
        if section.relation not in self._sums:
            raise DamagedError(f"it counts rows of {section.relation!r}, which is not being counted")
        self._sums[section.relation].add(section.entries)

    def work(self) -> None:
        """Everything happens on arrival."""

    def flush(self) -> bool:
        return False

    def finish(self) -> None:
        for sums in self._sums.values():
            sums.finish()

    def abandon(self) -> None:
        """The change is taken back."""
        for sums in self._sums.values():
            sums.abandon()

    def _follow(self, update: Update) -> Mapping[str, Delta]:
        if self._engine is not None:
            if not update.deltas:
                return {}
            deltas = self._engine.apply(update)
            self._node.context.journal.note(self._engine.apply, Update(all_negated(update.deltas)))
            return deltas
        analysis = self._shared.of_gathering if self._node.is_gathering else self._shared.of_others
        if analysis is None or (not update.deltas and not self._node.is_gathering):
            return {}
        engine = LocalEngine(limits=self._shared.limits)
        deltas = engine.define(analysis, self._shared.functions, update)
        self._engine = engine
        self._node.context.journal.note(self._forget)
        return deltas

    def _forget(self) -> None:
        self._engine = None


class Sums:
    """A relation at home: what all nodes found of it, added up."""

    def __init__(self, node: Node[A], relation: str) -> None:
        self._held = node.held(relation)
        self._is_set = node.context.plan.relations[relation].distinct
        self._totals: HeldLedger[Row, int] = HeldLedger(node.context.journal)
        self._changed: dict[Row, int] = {}

    def add(self, changes: Iterable[tuple[Row, int]]) -> None:
        add_to(self._changed, changes)

    def finish(self) -> None:
        """All counts are in."""
        for row, change in self._changed.items():
            if not self._is_set:
                self._held.change(row, change)
                continue
            before = self._totals.get(row, 0)
            self._totals.put(row, before + change)
            if (before > 0) != (before + change > 0):
                self._held.change(row, 1 if change > 0 else -1)
        self.abandon()

    def abandon(self) -> None:
        self._changed.clear()
