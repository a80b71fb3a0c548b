"""DRed, for rows without provenance: delete whatever may follow from what is gone, then derive again what still does.

A row that follows from rows below the view, all of them here, stays. Derivations of other nodes are not known, so the
second phase runs all rules once more over what is left, on every node.
"""

from __future__ import annotations

from typing import TypeVar

from whence.engines.local.recursive.matching import Matcher
from whence.model.types import Row
from whence.network.messages import Deleted
from whence.network.node import Node
from whence.network.plan.placements import is_alone, value_at
from whence.network.recursion.part import Key, RecursivePart
from whence.network.recursion.stage import RecursiveStage
from whence.network.shipping.ship import Ship, Target
from whence.network.values import DamagedError

A = TypeVar("A")


class OverDeletingPart(RecursivePart[A]):
    def __init__(self, shared: RecursiveStage, node: Node[A], ship: Ship[A]) -> None:
        super().__init__(shared, node, ship)
        self._doomed: list[Key] = []

    def enter(self, phase: int, renew: bool) -> None:
        if phase == 0:
            before = {**self.sources, **{name: self.node.before(name) for name in self.shared.stage.reads}}
            targets = [self._target(matcher, found.head) for matcher, found in self.rules.lost(self.change(), before)]
            self._retract(targets)
        elif renew:
            self.ship.start_over(self.shared.stage.relations)
            self.derive_all(self.rules.all)
        else:
            self.gain(self.change())

    def receive_deleted(self, section: Deleted) -> None:
        if section.relation not in self.own:
            raise DamagedError(f"it deletes rows of {section.relation!r}, which is not being derived")
        self._doomed += [(section.relation, row) for row in section.rows]

    def abandon(self) -> None:
        super().abandon()
        self._doomed.clear()

    def work(self) -> None:
        targets: list[Target] = []
        for relation, row in self._doomed:
            if row in self.own[relation].counts and not self._stands(relation, row):
                for copy, column in self.shared.copies.get(relation, {}).items():
                    self.ship.retract(
                        (self.node.surroundings.placing.node(value_at(row, column)), copy, row), last=True
                    )
                for matcher, position in self.rules.readers[relation]:
                    found = list(matcher.through(position, row, self.sources))
                    targets += [self._target(matcher, each.head) for each in found]
                self.leave((relation, row))
        self._doomed.clear()
        self._retract(targets)
        super().work()

    def _stands(self, relation: str, row: Row) -> bool:
        return any(
            next(matcher.backwards(row, self.sources), None) is not None
            for matcher in self.rules.deriving.get(relation, ())
            if self._is_from_below(matcher)
        )

    def _is_from_below(self, matcher: Matcher) -> bool:
        return self.own.keys().isdisjoint(matcher.positive) and (self.node.is_gathering or not is_alone(matcher.rule))

    def _target(self, matcher: Matcher, row: Row) -> Target:
        return self.node.surroundings.home(matcher.relation, row), matcher.relation, row

    def _retract(self, targets: list[Target]) -> None:
        for target in dict.fromkeys(targets):
            self.ship.retract(target, last=False)
