"""A union of rules with signs, as a sum: each conjunction with the number of times that it is added or taken away.

Rules that differ in their sign alone cancel by being added up; augmentation adds a sum that is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from whence.lang.datalog.write import rule_text
from whence.model.rules import Rule
from whence.rewriting.conjunction import Conjunction, Sets, conjunction


class SignedUnion:
    """Conjunctions and how often each counts, never 0. Equal sums have the same hash."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Conjunction, int]) -> None:
        self.terms = {each: times for each, times in terms.items() if times}
        self._hash = hash(frozenset(self.terms.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SignedUnion) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def __iter__(self) -> Iterator[tuple[Conjunction, int]]:
        return iter(self.terms.items())

    def __add__(self, other: SignedUnion) -> SignedUnion:
        total = dict(self.terms)
        for each, times in other.terms.items():
            total[each] = total.get(each, 0) + times
        return SignedUnion(total)

    def __sub__(self, other: SignedUnion) -> SignedUnion:
        return self + other.times(-1)

    def times(self, factor: int) -> SignedUnion:
        return SignedUnion({each: factor * times for each, times in self.terms.items()})

    @property
    def relations(self) -> frozenset[str]:
        return frozenset().union(*(each.relations for each in self.terms))

    def rules(self, relation: str) -> list[Rule]:
        """As rules of a relation: those that add before those that take away, each as often as it counts."""
        return [each.rule(relation, 1 if times > 0 else -1) for each, times in self._ordered for _ in range(abs(times))]

    def weighted_rules(self, relation: str) -> list[Rule]:
        """The same, each once, with how often it counts for its sign."""
        return [each.rule(relation, times) for each, times in self._ordered]

    @property
    def _ordered(self) -> list[tuple[Conjunction, int]]:
        return sorted(self.terms.items(), key=lambda item: (item[1] < 0, len(item[0].body), item[0].key))

    def lines(self, relation: str) -> list[str]:
        """As text, a line for each rule, in an order that the text alone decides."""
        found = [(rule.sign < 0, len(rule.body), rule_text(rule)) for rule in self.rules(relation)]
        return [text for _, _, text in sorted(found)]

    def __repr__(self) -> str:
        return f"SignedUnion({' '.join(self.lines('q'))})"


NOTHING = SignedUnion({})


def summed(rules: Iterable[Rule], sets: Sets = ()) -> SignedUnion:
    """The sum that the rules of one relation are; they have no aggregates."""
    total: dict[Conjunction, int] = {}
    for rule in rules:
        each = conjunction(rule.head.terms, rule.body, sets)
        if each is not None:
            total[each] = total.get(each, 0) + rule.sign
    return SignedUnion(total)


def one(each: Conjunction | None, times: int = 1) -> SignedUnion:
    return NOTHING if each is None else SignedUnion({each: times})
