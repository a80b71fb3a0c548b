"""A view without aggregates: per row, the number of ways to derive it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from whence.engines.local.counting.bundles import Batch
from whence.engines.local.counting.opening import Opening
from whence.engines.local.counting.view import Take
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta


class Tally:
    """In a bag the number of derivations is the row's count. A set has the rows for which it is positive."""

    def __init__(self, relation: Relation, rules: Sequence[Rule]) -> None:
        self._relation = relation
        self._rules = rules
        # Never 0, and below it only where differential rules take away more than the others give.
        self._derivations: dict[Row, int] = {}
        self._sums: Counter[Row] = Counter()
        self._pending: dict[Row, int] = {}

    def taker(self, rule: int, opening: Opening) -> Take:
        head, sign = self._rules[rule].head.terms, self._rules[rule].sign
        rows = opening.row(head, [column.type for column in self._relation.columns])
        weights = opening.weights(sign)

        def take(batch: Batch) -> None:
            sums = self._sums
            for opened in opening.open(batch):
                if weights is None:
                    sums.update(rows(opened))
                else:
                    for row, weight in zip(rows(opened), weights(opened), strict=True):
                        sums[row] = sums.get(row, 0) + weight

        return take

    def begin(self) -> None:
        self._sums, self._pending = Counter(), {}

    def change(self) -> Delta:
        self._pending = {row: change for row, change in self._sums.items() if change}
        self._sums = Counter()
        return self._membership() if self._relation.distinct else self._pending

    def settle(self) -> None:
        derivations = self._derivations
        if not derivations:
            self._derivations = dict(self._pending)
        else:
            for row, change in self._pending.items():
                count = derivations.get(row, 0) + change
                if count:
                    derivations[row] = count
                else:
                    del derivations[row]
        self.begin()

    def undo(self) -> None:
        self.begin()

    def counts(self) -> Mapping[Row, int]:
        return Members(self._derivations) if self._relation.distinct else MappingProxyType(self._derivations)

    def _settled(self) -> Mapping[Row, int]:
        """The derivations of every row before the change."""
        return self._derivations

    def _membership(self) -> Delta:
        delta: dict[Row, int] = {}
        derivations = self._settled()
        for row, change in self._pending.items():
            before = derivations.get(row, 0)
            if (before > 0) is not (before + change > 0):
                delta[row] = 1 if change > 0 else -1
        return delta


class Members(Mapping[Row, int]):
    """The rows of a set, each once: those that have a derivation."""

    def __init__(self, derivations: Mapping[Row, int]) -> None:
        self._derivations = derivations

    def __getitem__(self, row: Row) -> int:
        if self._derivations[row] > 0:
            return 1
        raise KeyError(row)

    def __iter__(self) -> Iterator[Row]:
        return (row for row, count in self._derivations.items() if count > 0)

    def __len__(self) -> int:
        return sum(count > 0 for count in self._derivations.values())
