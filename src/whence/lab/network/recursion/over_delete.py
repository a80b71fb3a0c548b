"""DRed, for rows without provenance: delete whatever may follow from what is gone, then derive again what still does.

A row that follows from rows below the view, all of them here, stays. Derivations of other nodes are not known, so the
second phase runs all rules once more over what is left, on every node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from whence.incremental.recursive.matcher import Matcher
from whence.incremental.recursive.rules import RuleMatches
from whence.lab.network.messages import Deleted
from whence.lab.network.node import Node
from whence.lab.network.plan.placements import is_alone
from whence.lab.network.recursion.part import RecursivePart, RecursiveStage
from whence.lab.network.recursion.ship import Ship
from whence.lab.network.values import DamagedError
from whence.model.types import Row

A = TypeVar("A")


class OverDeletingPart(RecursivePart[A]):
    def __init__(self, shared: RecursiveStage, node: Node[A], ship: Ship[A]) -> None:
        super().__init__(shared, node, ship)
        self._doomed: dict[str, dict[Row, None]] = {}
        self._from_below = {
            name: [matcher for matcher in matchers if self._is_from_below(matcher)]
            for name, matchers in self.rules.deriving.items()
        }

    def enter(self, phase: int, renew: bool) -> None:
        if phase == 0:
            before = {**self.sources, **{name: self.node.before(name) for name in self.shared.stage.reads}}
            self._retract(self.rules.lost(self.change(), before))
        elif renew:
            self.ship.start_over(self.shared.stage.relations)
            self.derive_all(self.rules.all)
        else:
            self.gain(self.change())

    def receive_deleted(self, section: Deleted) -> None:
        if section.relation not in self.own:
            raise DamagedError(f"it deletes rows of {section.relation!r}, which is not being derived")
        self._doomed.setdefault(section.relation, {}).update(dict.fromkeys(section.rows))

    def abandon(self) -> None:
        super().abandon()
        self._doomed.clear()

    def work(self) -> None:
        doomed, self._doomed = self._doomed, {}
        matches: list[RuleMatches] = []
        gone: list[int] = []
        for relation, asked in doomed.items():
            counts = self.own[relation].counts
            rows = [row for row in asked if row in counts and not self._stands(relation, row)]
            for copy in self.shared.copies.get(relation, ()):
                self.ship.retract(copy, rows, last=True)
            for matcher, position in self.rules.readers[relation]:
                matches += [(matcher, found) for found in matcher.through_all(position, rows, self.sources)]
            gone += self.rows.numbers(relation, rows)
        self._retract(matches)
        self.notes.drop(gone)
        self.leave(gone)
        super().work()

    def _stands(self, relation: str, row: Row) -> bool:
        return any(
            next(matcher.backwards(row, self.sources), None) is not None
            for matcher in self._from_below.get(relation, ())
        )

    def _is_from_below(self, matcher: Matcher) -> bool:
        return self.own.keys().isdisjoint(matcher.positive) and (self.node.is_gathering or not is_alone(matcher.rule))

    def _retract(self, matches: Iterable[RuleMatches]) -> None:
        heads: dict[str, dict[Row, None]] = {}
        for matcher, found in matches:
            heads.setdefault(matcher.relation, {}).update((match.head, None) for match in found)
        for relation, rows in heads.items():
            self.ship.retract(relation, list(rows), last=False)
