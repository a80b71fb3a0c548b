"""Confidence: how sure the best derivation of a row is."""

from __future__ import annotations

from whence.semirings.semiring import Laws
from whence.semirings.tabled import Tabled


class Viterbi(Tabled[float]):
    """([0, 1], max, ×): a derivation is as sure as all that it uses together, and the surest one counts.

    Absorptive, because nothing is more than certain: a detour is never surer than the way it contains.
    """

    name = "confidences"
    laws = Laws(idempotent=True, absorptive=True, negatives=False)

    def __init__(self) -> None:
        super().__init__(0.0, 1.0)

    def plus(self, left: float, right: float) -> float:
        return max(left, right)

    def times(self, left: float, right: float) -> float:
        return left * right


VITERBI = Viterbi()
