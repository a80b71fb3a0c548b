"""Delete and re-derive: nothing is kept but the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.facts import Derivation, Fact, Group, Head
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.moving import saturates
from whence.engines.local.recursive.walks import Walks
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.model.schema import Relation


class DRed(Walks):
    """Everything that could be derived from a deleted row is deleted too, and what can still be derived comes back."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: Limits,
    ) -> None:
        super().__init__(component, relations, functions, stores, limits)
        # Otherwise only a value as good as the best one is a reason for the best one.
        self._any_value_counts = saturates(component, relations)

    def keeps(self, matcher: Matcher) -> bool:  # noqa: ARG002
        return False

    def broken(self, change: Change) -> Iterator[Fact]:
        for matcher, found in self._rules.lost(change, self._before):
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

    def body(self, matcher: Matcher, found: Found) -> tuple[Fact, ...]:
        facts, names, rows = self._records.facts, matcher.positive, found.body
        return tuple([facts[names[position]][rows[position]] for position in matcher.own])

    def adopt(self, fact: Fact, proof: Iterable[Derivation]) -> None:
        self._records.prove(fact, tuple(proof))

    def release(self, fact: Fact) -> None:
        pass

    def retire(self, fact: Fact) -> None:
        self._records.kill(fact)

    def bury(self, fact: Fact) -> None:
        self._records.remove(fact)

    def _resting_on(self, matcher: Matcher, found: Found) -> Iterator[Fact]:
        """The fact, if there is one, that this way to satisfy a body may be a reason for."""
        head = self._records.heads(matcher.relation).get(found.head)
        if isinstance(head, Fact):
            yield head
        elif head is not None and head.fact is not None and self._counts(head, matcher, found):
            yield head.fact

    def _counts(self, group: Group, matcher: Matcher, found: Found) -> bool:
        return self._any_value_counts or group.has_best(self._rules.bests[matcher.relation].ranks(found.values))
