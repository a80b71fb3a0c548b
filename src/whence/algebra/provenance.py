"""Which base tuples a row comes from: supports with absorption; and without it lineage, witnesses, polynomials."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, TypeAlias, TypeVar

from whence.errors import UnsupportedError

# What names a base tuple.
V = TypeVar("V", bound=Hashable)
# Sets of base tuples that suffice together, of which none contains another.
Antichain: TypeAlias = frozenset[frozenset[V]]

# There can be exponentially many; nobody reads more, and telling which are minimal is quadratic.
MOST_SUPPORTS = 10_000


def require_few(number: int, most: float = MOST_SUPPORTS) -> None:
    """Refuse before the supports of one tuple take all time and memory there is."""
    if number > most:
        raise UnsupportedError(
            f"a row has too many different supports to tell the minimal ones (more than {most:,})",
            hint="ask for one proof, or whether the row depends on a given base row",
        )


class Supports(Generic[V]):
    """Plus is union, times is union of each with each, and only minimal sets stay.

    This is PosBool(X) in its minimal disjunctive form: a row is there if all of one of its supports is. Dropping every
    set that contains another one is absorption, and makes equal expressions equal as Python values.
    `most` is how many supports a row may have.
    """

    name = "supports"
    absorptive = True

    def __init__(self, most: float = MOST_SUPPORTS) -> None:
        self._most = most
        self.zero: Antichain[V] = frozenset()
        self.one: Antichain[V] = frozenset((frozenset(),))

    def variable(self, name: V) -> Antichain[V]:
        return frozenset((frozenset((name,)),))

    def plus(self, left: Antichain[V], right: Antichain[V]) -> Antichain[V]:
        fresh = [support for support in right if not any(known <= support for known in left)]
        if not fresh:
            return left
        kept = [known for known in left if not any(support <= known for support in fresh)]
        require_few(len(kept) + len(fresh), self._most)
        return frozenset(kept + fresh)

    def times(self, left: Antichain[V], right: Antichain[V]) -> Antichain[V]:
        products: set[frozenset[V]] = set()
        for support in left:
            products.update([support | other for other in right])
            require_few(len(products), self._most)
        return minimal(products)

    def without(self, annotation: Antichain[V], deleted: Iterable[V]) -> Antichain[V]:
        """What is left of an annotation when these base tuples are gone."""
        gone = frozenset(deleted)
        return frozenset([support for support in annotation if gone.isdisjoint(support)])


def minimal(supports: Iterable[frozenset[V]]) -> Antichain[V]:
    """Those that contain no other: only a smaller one could be contained, and smaller ones are decided first."""
    kept: list[frozenset[V]] = []
    for _, as_large in groupby(sorted(set(supports), key=len), key=len):
        kept += [support for support in as_large if not any(smaller <= support for smaller in kept)]
    return frozenset(kept)


# None for a row that is not there: nothing has to do with it, not even nothing.
Contributors: TypeAlias = "frozenset[Hashable] | None"


class Lineage:
    """Sets of base tuples, where both plus and times are union.

    Not absorptive, because a detour brings its own tuples in. Around a cycle it has a value all the same: every tuple
    that any way around passes, and there is no more to add then. Rounds come to rest as soon as all have met.
    """

    name = "lineages"
    absorptive = False
    zero: Contributors = None
    one: Contributors = frozenset()

    def variable(self, name: Hashable) -> Contributors:
        return frozenset((name,))

    def plus(self, left: Contributors, right: Contributors) -> Contributors:
        if left is None or right is None:
            return right if left is None else left
        return left | right

    def times(self, left: Contributors, right: Contributors) -> Contributors:
        return None if left is None or right is None else left | right


# The base tuples of each derivation.
Witnesses: TypeAlias = frozenset[frozenset[Hashable]]


class Why:
    """Sets of sets: plus is union, times is union of each with each. What contains another one stays.

    Idempotent, and not absorptive: a detour is a witness of its own, though the row does not need it. `Supports` is
    what is left of it when such witnesses go.
    """

    name = "witnesses"
    absorptive = False
    zero: Witnesses = frozenset()
    one: Witnesses = frozenset((frozenset(),))

    def variable(self, name: Hashable) -> Witnesses:
        return frozenset((frozenset((name,)),))

    def plus(self, left: Witnesses, right: Witnesses) -> Witnesses:
        together = left | right
        require_few(len(together))
        return together

    def times(self, left: Witnesses, right: Witnesses) -> Witnesses:
        require_few(len(left) * len(right))
        return frozenset(one | other for one in left for other in right)


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


class How:
    """(N[X], +, ×): every other annotation of a row without recursion is this one with values for the variables.

    Neither idempotent nor absorptive: around a cycle the polynomial would be endless.
    """

    name = "polynomials"
    absorptive = False
    zero = Polynomial(frozenset())
    one = Polynomial(frozenset(((frozenset(), 1),)))

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
