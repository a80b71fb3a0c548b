"""Lazy absorption: every fact has one live derivation, and dies only with that one."""

from __future__ import annotations

from whence.engines.local.recursive.facts import Derivation
from whence.engines.local.recursive.matching import Matcher
from whence.engines.local.recursive.recorded import Recorded


class Absorption(Recorded):
    """The live derivations form a proof forest, whose leaves are input rows: no cycle keeps itself alive.

    A new derivation of a live fact is a spare and goes no further. Spares of linear rules are kept. Those of
    non-linear rules outnumber the facts they derive, and are searched for when they are needed.
    """

    def keeps(self, matcher: Matcher) -> bool:
        return len(matcher.own) <= 1

    def rests_on(self, derivation: Derivation) -> bool:
        return derivation.live > 0
