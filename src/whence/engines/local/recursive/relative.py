"""Relative provenance: every derivation on record, as an edge from the facts of its body to its head."""

from __future__ import annotations

from whence.engines.local.recursive.facts import Derivation, Fact
from whence.engines.local.recursive.matching import Matcher
from whence.engines.local.recursive.recorded import Recorded


class Relative(Recorded):
    """Edges say what follows from what, and not which way a fact was proved first. So whatever can be reached from a
    broken edge is in doubt, until it is found to be reachable from the base.
    """

    def keeps(self, matcher: Matcher) -> bool:  # noqa: ARG002
        return True

    def resting_on(self, derivation: Derivation) -> list[Fact]:
        head = derivation.head
        if isinstance(head, Fact):
            return [head]
        is_best = head.has_best(derivation.ranks)
        return [fact for fact in head.versions if derivation in fact.proof or (is_best and fact is head.fact)]
