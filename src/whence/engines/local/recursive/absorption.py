"""Lazy absorption: every fact has one live proof, and dies only with that one."""

from __future__ import annotations

from whence.engines.local.recursive.facts import Derivation, Fact
from whence.engines.local.recursive.matching import Matcher
from whence.engines.local.recursive.recorded import Recorded


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
