"""Strategies that keep derivations on record: what a delete breaks is found without a look at rules or rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from whence.engines.local.recursive.facts import Derivation, Fact, Head
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Matcher
from whence.engines.local.recursive.walks import Walks
from whence.model.types import Row


class Recorded(Walks):
    """Death follows the recorded derivations from body to head. What a head rests on is always on record."""

    @abstractmethod
    def rests_on(self, derivation: Derivation) -> bool:
        """Whether the head dies when this derivation of it breaks."""

    def broken(self, change: Change) -> list[Head]:
        lost = list(self._refuted(change))
        for derivation in lost:
            self._records.forget(derivation)
        for name, rows in change.vanished.items():
            for row in rows:
                lost += self._records.drop_input(name, row)
        return [derivation.head for derivation in lost if self.rests_on(derivation)]

    def above(self, fact: Fact) -> list[Head]:
        return [derivation.head for derivation in fact.users if self.rests_on(derivation)]

    def body(self, matcher: Matcher, rows: Sequence[Row]) -> tuple[Fact, ...]:
        own, records = self._records.facts, self._records
        return tuple(
            [
                own[name][row] if name in own else records.input(name, row)
                for name, row in zip(matcher.positive, rows, strict=True)
            ]
        )

    def adopt(self, derivation: Derivation) -> None:
        self._records.count_live(derivation, 1)
        if derivation.live == 1 and not self._kept[derivation.rule.number]:
            self._records.record(derivation)

    def release(self, derivation: Derivation) -> None:
        self._records.count_live(derivation, -1)
        if not derivation.live and not self._kept[derivation.rule.number]:
            self._records.forget(derivation)

    def _refuted(self, change: Change) -> Iterator[Derivation]:
        """The recorded derivations that need the absence of a row that has appeared."""
        for matcher, found in self._rules.refuted(change, self._before):
            head = self._records.heads(matcher.relation).get(found.head)
            key = (matcher.number, *self.body(matcher, found.body))
            if head is not None and key in head.derivations:
                yield head.derivations[key]
