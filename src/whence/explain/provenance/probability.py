"""How likely a row is there, when base rows are there with given probabilities, independently of each other."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from whence.deadline import end_of_search
from whence.errors import UnsupportedError
from whence.explain.proofs.reasons import Fact
from whence.explain.provenance.cone import Cone, derived
from whence.explain.provenance.row_diagram import row_diagram

# Whether the row is there when some base rows are gone.
Trial = Callable[[Collection[Fact]], bool]

# With so few uncertain rows, all their worlds are looked at.
_FEW = 10
_SAMPLES = 20_000
# The interval around a sampled value holds the true one with this confidence.
CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Probability:
    """`value`, and the bounds that hold for certain if it is exact, and else with a confidence of 99 %."""

    value: float
    low: float
    high: float
    exact: bool

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.6g}" if self.exact else f"{self.value:.4g}, between {self.low:.4g} and {self.high:.4g}"


def probability(
    cone: Cone, root: Fact, chances: Mapping[Fact, float], trial: Trial, seconds: float, *, seed: int = 0
) -> Probability:
    """`chances` has all uncertain base rows that the row could depend on; others are certain.

    Exact from a diagram where the cone tells what fewer base rows give. Else worlds are tried: all of them if they are
    few, and else as many as time allows.
    """
    never = {fact for fact, chance in chances.items() if chance == 0.0}
    uncertain = {fact: chance for fact, chance in chances.items() if 0.0 < chance < 1.0}
    if cone.is_exact:
        try:
            return _exact(_by_diagram(cone, root, chances))
        except UnsupportedError:
            return _sampled(uncertain, lambda gone: root in derived(cone, gone), never, seconds, seed)
    if len(uncertain) <= _FEW:
        return _exact(_by_worlds(uncertain, trial, never))
    return _sampled(uncertain, trial, never, seconds, seed)


def _exact(value: float) -> Probability:
    value = min(1.0, max(0.0, value))
    return Probability(value, value, value, exact=True)


def _by_diagram(cone: Cone, root: Fact, chances: Mapping[Fact, float]) -> float:
    bdd, found, numbers = row_diagram(cone, root, chances)
    return bdd.probability(found, {numbers[fact]: chance for fact, chance in chances.items() if fact in numbers})


def _by_worlds(uncertain: Mapping[Fact, float], trial: Trial, never: Collection[Fact]) -> float:
    rows = list(uncertain)
    total: list[float] = []
    for world in product((True, False), repeat=len(rows)):
        weight = math.prod(
            uncertain[row] if there else 1.0 - uncertain[row] for row, there in zip(rows, world, strict=True)
        )
        if trial({*never, *(row for row, there in zip(rows, world, strict=True) if not there)}):
            total.append(weight)
    return math.fsum(total)


def _sampled(
    uncertain: Mapping[Fact, float], trial: Trial, never: Collection[Fact], seconds: float, seed: int
) -> Probability:
    """The share of random worlds with the row, and Hoeffding's bound on how far it can be from the truth."""
    end = end_of_search(seconds)
    hits = tries = 0
    for gone in _worlds(list(uncertain), list(uncertain.values()), random.Random(seed)):  # noqa: S311 - no secret
        tries += 1
        hits += trial({*never, *gone})
        if tries == _SAMPLES or time.monotonic() > end:
            break
    value = hits / tries
    error = math.sqrt(math.log(2.0 / (1.0 - CONFIDENCE)) / (2.0 * tries))
    return Probability(value, max(0.0, value - error), min(1.0, value + error), exact=False)


def _worlds(rows: Sequence[Fact], chances: Sequence[float], source: random.Random) -> Iterator[list[Fact]]:
    """The rows that are missing in one random world after the other."""
    while True:
        yield [row for row, chance in zip(rows, chances, strict=True) if source.random() >= chance]
