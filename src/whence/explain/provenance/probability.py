"""When a row is there, as a decision diagram over base rows, and what it tells.

How likely the row is there, when base rows are there with given probabilities, independently of each other. And how
much each base row contributes: base rows come together in some order, and the one with which the row appears has
brought it about. The Shapley value of a base row is the share of all orders in which it is that one; all values add up
to 1. The Banzhaf value is the share of all sets of other base rows to which it makes that difference.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from whence.algebra.derivations import evaluate
from whence.algebra.diagrams import Bdd, Diagram
from whence.algebra.variable_order import leaf_order, level_order
from whence.deadline import end_of_search
from whence.errors import UnsupportedError
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.text import fact_text
from whence.explain.provenance.cone import AbsentRow, Cone, Node, derived

# Whether the row is there when some base rows are gone.
Trial = Callable[[Collection[Fact]], bool]

# How many diagram nodes exactness is worth, and how many an order of the variables gets to show that it is good.
_MOST_NODES = 1 << 17
_FEW_NODES = 1 << 14
# With so few uncertain rows, all their worlds are looked at.
_FEW = 10
_SAMPLES = 20_000
# The interval around a sampled value holds the true one with this confidence.
CONFIDENCE = 0.99


def _row_diagram(cone: Cone, root: Fact, chances: Mapping[Fact, float]) -> tuple[Bdd, Diagram, Mapping[Node, int]]:
    """The diagram of a row, and the numbers of base rows in it. Those whose chance is 1 or 0 are there, or not.

    Raises UnsupportedError where it would be too large in every order that is tried.
    """
    orders = [order(cone.derivations, [root]) for order in (level_order, leaf_order)]
    failed: UnsupportedError | None = None
    for most_nodes in (_FEW_NODES, _MOST_NODES):
        for order in orders:
            try:
                return _diagram_in(cone, root, chances, order, most_nodes)
            except UnsupportedError as error:
                failed = error
    assert failed is not None
    raise failed


def _diagram_in(
    cone: Cone, root: Fact, chances: Mapping[Fact, float], order: Sequence[Node], most_nodes: int
) -> tuple[Bdd, Diagram, Mapping[Node, int]]:
    derivations: dict[Node, list[tuple[Node, ...]]] = cone.derivations
    numbers = {leaf: number for number, leaf in enumerate(order)}
    bdd = Bdd(numbers.values(), most_nodes=most_nodes)

    def annotation(leaf: Node) -> Diagram:
        if isinstance(leaf, AbsentRow):
            return bdd.one
        chance = chances.get(leaf, 1.0)  # type: ignore[arg-type]
        if chance in (0.0, 1.0):
            return bdd.one if chance else bdd.zero
        return bdd.variable(numbers[leaf])

    return bdd, evaluate(derivations, bdd, annotation, [root])[root], numbers


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
    bdd, found, numbers = _row_diagram(cone, root, chances)
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


def shapley(cone: Cone, root: Fact) -> dict[Fact, float]:
    points, weights = np.polynomial.legendre.leggauss(len(cone.base) // 2 + 1)
    return _values(cone, root, (points + 1.0) / 2.0, weights / 2.0)


def banzhaf(cone: Cone, root: Fact) -> dict[Fact, float]:
    return _values(cone, root, np.array([0.5]), np.array([1.0]))


def _values(
    cone: Cone,
    root: Fact,
    chances: np.ndarray[tuple[int], np.dtype[np.float64]],
    weights: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> dict[Fact, float]:
    """Of all base rows behind the row, the largest first.

    Both kinds come from how the chance of the row grows with that of one base row while all have the chance t (Owen,
    1972): the Banzhaf value is that at t = 1/2, and the Shapley value its mean over all t from 0 to 1. It is a
    polynomial in t with a degree below the number of base rows, so that a sum over half as many points (Gauss and
    Legendre) is that mean itself.
    """
    if not cone.is_exact:
        why = cone.reason or "it has too many derivations"
        raise UnsupportedError(f"what each base row contributes to {fact_text(*root)} is not known: {why}")
    bdd, found, numbers = _row_diagram(cone, root, dict.fromkeys(cone.base, 0.5))
    grown = bdd.derivatives(found, chances)
    values = {fact: float(grown[numbers[fact]] @ weights) if numbers.get(fact) in grown else 0.0 for fact in cone.base}
    return dict(sorted(values.items(), key=lambda each: (-round(each[1], 12), repr(each[0]))))
