"""Lazy absorption: every fact has one live proof, and dies only with that one."""

from __future__ import annotations

from collections.abc import Iterator

from whence.engines.local.recursive.facts import Derivation, Fact
from whence.engines.local.recursive.matching import Matcher
from whence.engines.local.recursive.recorded import Recorded
from whence.model.rules import Rule
from whence.model.types import Row


class Absorption(Recorded):
    """The proofs form a forest, whose leaves are input rows: no cycle keeps itself alive.

    A new derivation of a fact that is there is a spare and goes no further. Spares of linear rules are kept. Those of
    non-linear rules outnumber the facts they derive, and are searched for when they are needed.
    """

    def keeps(self, matcher: Matcher) -> bool:
        return len(matcher.own) <= 1 or matcher.relation in self._following

    def resting_on(self, derivation: Derivation) -> list[Fact]:
        if not derivation.live:
            return []
        head = derivation.head
        return [head] if isinstance(head, Fact) else [fact for fact in head.versions if derivation in fact.proof]

    def derivations(self, relation: str, row: Row) -> Iterator[tuple[Rule, tuple[tuple[str, Row], ...]]]:
        """The rules by which a row follows, each with the rows of its positive atoms, those of its proof first.

        To follow proofs always ends. A proof can go through rows of a min or max that better ones have replaced since;
        so such rows have derivations, too. There are none where the component is recomputed.
        """
        fact = self._records.facts[relation].get(row)
        if fact is None or self.reason is not None:
            return
        listed: set[tuple[int, tuple[Row, ...]]] = set()
        for matcher, body in self._ways(fact):
            if (matcher.number, body) not in listed:
                listed.add((matcher.number, body))
                yield matcher.rule, tuple(zip(matcher.positive, body, strict=True))

    def proof(self, relation: str, row: Row) -> tuple[tuple[Rule, tuple[Row, ...]], ...]:
        """What a row rests on: one use of a rule with the rows of its positive atoms, or one for each min and max.

        None where the component is recomputed.
        """
        fact = self._records.facts[relation].get(row) if self.reason is None else None
        return () if fact is None else tuple([_use(derivation) for derivation in fact.proof])

    def _ways(self, fact: Fact) -> Iterator[tuple[Matcher, tuple[Row, ...]]]:
        group = fact.group
        recorded = (fact if group is None else group).derivations.values()
        for derivation in (*fact.proof, *(each for each in recorded if each.holds)):
            if derivation.live or group is None or group.has_best(derivation.ranks):
                matcher = derivation.rule
                yield matcher, tuple([each.row for each in derivation.body[: len(matcher.positive)]])
        for matcher in self._probed[fact.relation]:
            for found in matcher.backwards(fact.row if group is None else group.key, {**self._inputs, **self._own}):
                if group is None or group.has_best(self._rules.bests[fact.relation].ranks(found.values)):
                    yield matcher, found.body


def _use(derivation: Derivation) -> tuple[Rule, tuple[Row, ...]]:
    matcher = derivation.rule
    return matcher.rule, tuple([each.row for each in derivation.body[: len(matcher.positive)]])
