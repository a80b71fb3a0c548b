"""Delete and re-derive: nothing is kept but the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whence.engines.local.recursive.facts import Derivation, Fact, Group, Head
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.walks import Walks
from whence.model.types import Row


class DRed(Walks):
    """Everything that could be derived from a deleted row is deleted too, and what can still be derived comes back."""

    def keeps(self, matcher: Matcher) -> bool:  # noqa: ARG002
        return False

    def broken(self, change: Change) -> Iterator[Head]:
        for matcher, found in self._rules.lost(change, self._before):
            yield from self._resting_on(matcher, found)

    def above(self, fact: Fact) -> Iterator[Head]:
        for matcher, position in self._rules.readers[fact.relation]:
            for found in matcher.through(position, fact.row, self._before):
                yield from self._resting_on(matcher, found)

    def body(self, matcher: Matcher, rows: Sequence[Row]) -> tuple[Fact, ...]:
        return tuple([self._records.facts[matcher.positive[position]][rows[position]] for position in matcher.own])

    def adopt(self, derivation: Derivation) -> None:
        pass

    def release(self, derivation: Derivation) -> None:
        pass

    def _resting_on(self, matcher: Matcher, found: Found) -> Iterator[Head]:
        """The head, if there is one that this way to satisfy a body may be a reason for."""
        head = self._records.heads(matcher.relation).get(found.head)
        if isinstance(head, Group):
            if head.has_best(self._rules.bests[matcher.relation].ranks(found.values)):
                yield head
        elif head is not None:
            yield head
