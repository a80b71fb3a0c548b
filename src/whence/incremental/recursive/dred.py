"""Delete and re-derive: nothing is kept but the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.analysis.components import Component
from whence.incremental.recursive.bests import saturates
from whence.incremental.recursive.fact_strategy import FactStrategy
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.recursive.records import Fact, Group, Head, StoredDerivation
from whence.incremental.recursive.steps import InputChange
from whence.model.schema import Relation


class DRed(FactStrategy):
    """Everything that could be derived from a deleted row is deleted too, and what can still be derived comes back."""

    def prepare(self, component: Component, relations: Mapping[str, Relation]) -> None:
        super().prepare(component, relations)
        # Otherwise only a value as good as the best one is a reason for the best one.
        self._any_value_counts = saturates(component, relations)

    def keeps(self, matcher: Matcher) -> bool:  # noqa: ARG002
        return False

    def broken(self, change: InputChange) -> Iterator[Fact]:
        for matcher, matches in self._rules.lost(change, self._before):
            for found in matches:
                yield from self._resting_on(matcher, found)

    def above(self, fact: Fact) -> Iterator[Fact]:
        for matcher, position in self._rules.readers[fact.relation]:
            for found in matcher.through(position, fact.row, self._before):
                yield from self._resting_on(matcher, found)

    def followers(self, fact: Fact) -> Iterator[Head]:
        for matcher, position in self._rules.readers[fact.relation]:
            if matcher.relation in self._following:
                for found in matcher.through(position, fact.row, self._after):
                    head = self._records.heads(matcher.relation).get(found.head)
                    if head is not None:
                        yield head

    def body(self, matcher: Matcher, found: BodyMatch) -> tuple[Fact, ...]:
        facts, names, rows = self._records.facts, matcher.positive, found.body
        return tuple([facts[names[position]][rows[position]] for position in matcher.own])

    def adopt(self, fact: Fact, proof: tuple[StoredDerivation, ...]) -> None:
        self._records.prove(fact, proof)

    def release(self, fact: Fact) -> None:
        pass

    def hide(self, fact: Fact) -> None:
        self._records.mark_dead(fact)

    def discard(self, fact: Fact) -> None:
        self._records.remove(fact)

    def _resting_on(self, matcher: Matcher, found: BodyMatch) -> Iterator[Fact]:
        """The fact, if there is one, that this match may be a reason for."""
        head = self._records.heads(matcher.relation).get(found.head)
        if isinstance(head, Fact):
            yield head
        elif head is not None and head.fact is not None and self._counts(head, matcher, found):
            yield head.fact

    def _counts(self, group: Group, matcher: Matcher, found: BodyMatch) -> bool:
        return self._any_value_counts or group.has_best(self._rules.bests[matcher.relation].ranks(found.values))
