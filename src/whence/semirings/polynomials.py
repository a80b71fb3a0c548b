"""How-provenance, N[X]: which base tuples, how often each, and in how many ways."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeAlias

from whence.semirings.absorption import require_few
from whence.semirings.semiring import Laws
from whence.semirings.tabled import Tabled

# Variables and how often each occurs.
Monomial: TypeAlias = frozenset[tuple[Hashable, int]]

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Polynomial:
    """Products of base tuples with how many derivations have each: `2·a·b + c²`."""

    terms: frozenset[tuple[Monomial, int]]

    def text(self, show: Callable[[Hashable], str]) -> str:
        written = sorted(_term(monomial, count, show) for monomial, count in self.terms)
        return " + ".join(written) or "0"

    def __str__(self) -> str:
        return self.text(str)


class How(Tabled[Polynomial]):
    """(N[X], +, ×): every other annotation of a row without recursion is this one with values for the variables.

    Neither idempotent nor absorptive: around a cycle the polynomial would be endless.
    """

    name = "polynomials"
    laws = Laws(idempotent=False, absorptive=False, negatives=False)

    def __init__(self) -> None:
        super().__init__(Polynomial(frozenset()), Polynomial(frozenset(((frozenset(), 1),))))

    def variable(self, name: Hashable) -> Polynomial:
        return Polynomial(frozenset(((frozenset(((name, 1),)), 1),)))

    def plus(self, left: Polynomial, right: Polynomial) -> Polynomial:
        total = dict(left.terms)
        for monomial, count in right.terms:
            total[monomial] = total.get(monomial, 0) + count
        return _polynomial(total)

    def times(self, left: Polynomial, right: Polynomial) -> Polynomial:
        require_few(len(left.terms) * len(right.terms))
        total: dict[Monomial, int] = {}
        for one, times in left.terms:
            for other, as_often in right.terms:
                product = _product(one, other)
                total[product] = total.get(product, 0) + times * as_often
        return _polynomial(total)


def _polynomial(terms: dict[Monomial, int]) -> Polynomial:
    require_few(len(terms))
    return Polynomial(frozenset(terms.items()))


def _product(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for variable, power in right:
        powers[variable] = powers.get(variable, 0) + power
    return frozenset(powers.items())


def _term(monomial: Monomial, count: int, show: Callable[[Hashable], str]) -> str:
    factors = sorted(f"{show(name)}{str(power).translate(_RAISED) if power > 1 else ''}" for name, power in monomial)
    return "·".join([str(count)] * (count > 1 or not factors) + factors)
