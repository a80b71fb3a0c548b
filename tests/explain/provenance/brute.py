"""By trying: what a row rests on, told by evaluating the whole program without some base rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations, product
from math import prod

from whence.analysis.analyze import Analysis
from whence.analysis.limits import RecursionLimits
from whence.engines.reference.evaluate import evaluate
from whence.errors import WhenceError
from whence.model.program import Functions
from whence.model.types import Row

Fact = tuple[str, Row]


class World:
    """A program and its base rows, of which some can be left out."""

    def __init__(self, analysis: Analysis, base: Mapping[str, Mapping[Row, int]], functions: Functions) -> None:
        self._analysis = analysis
        self._base = base
        self._functions = functions
        self.facts = [(name, row) for name, rows in base.items() for row in rows]
        self._contents = cache(self._evaluated)

    def holds(self, fact: Fact, present: Iterable[Fact]) -> bool:
        contents = self._contents(frozenset(present))
        return contents is not None and contents.get(fact[0], {}).get(fact[1], 0) > 0

    def subsets(self) -> Iterator[frozenset[Fact]]:
        """Smallest first."""
        for size in range(len(self.facts) + 1):
            yield from map(frozenset, combinations(self.facts, size))

    def minimal_supports(self, fact: Fact) -> set[frozenset[Fact]]:
        found: list[frozenset[Fact]] = []
        for subset in self.subsets():
            if not any(smaller <= subset for smaller in found) and self.holds(fact, subset):
                found.append(subset)
        return set(found)

    def critical(self, fact: Fact) -> set[Fact]:
        everything = frozenset(self.facts)
        return {each for each in self.facts if not self.holds(fact, everything - {each})}

    def smallest_cut(self, fact: Fact) -> int | None:
        """How many rows it has."""
        everything = frozenset(self.facts)
        return next((len(cut) for cut in self.subsets() if not self.holds(fact, everything - cut)), None)

    def probability(self, fact: Fact, chances: Mapping[Fact, float]) -> float:
        total = 0.0
        uncertain = [each for each in self.facts if chances.get(each, 1.0) < 1.0]
        for world in product((True, False), repeat=len(uncertain)):
            gone = {each for each, there in zip(uncertain, world, strict=True) if not there}
            weight = prod(chances[each] if each not in gone else 1.0 - chances[each] for each in uncertain)
            if weight and self.holds(fact, set(self.facts) - gone):
                total += weight
        return total

    def _evaluated(self, present: Collection[Fact]) -> Mapping[str, Mapping[Row, int]] | None:
        """None where the program fails without some rows."""
        base = {
            name: {row: count for row, count in rows.items() if (name, row) in present}
            for name, rows in self._base.items()
        }
        try:
            return evaluate(self._analysis, base, self._functions, RecursionLimits(rounds=60, rows=400))
        except WhenceError:
            return None
