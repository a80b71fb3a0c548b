"""Rows of a view annotated in a semiring, by its usual name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from whence.algebra.derivations import components, cycle, evaluate, needs
from whence.algebra.provenance import How, Lineage, Polynomial, Supports, Why
from whence.algebra.semiring import BOOLEAN, COUNTS, LEVELS, TROPICAL, VITERBI, Cost, Security, Semiring
from whence.errors import DataError, StratificationError, UnsupportedError, did_you_mean, shown
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact, facts_of
from whence.explain.proofs.text import fact_text, relation_name
from whence.explain.provenance.cone import AbsentRow, Cone, Node
from whence.model.graphs import reached


@dataclass(frozen=True)
class SemiringChoice:
    """A semiring; what a base row is in it by default; what the user may give instead; what the user gets."""

    semiring: Semiring[Any]
    default: Callable[[Fact, int], Any]
    read: Callable[[object], Any] | None = None
    shown: Callable[[Any], object] = lambda value: value
    # Whether it counts derivations, which is more than a set or an aggregate knows.
    is_counting: bool = False


def kind_named(name: object) -> SemiringChoice:
    """The semiring of that name."""
    kinds: Mapping[str, Callable[[], SemiringChoice]] = {
        "boolean": lambda: SemiringChoice(BOOLEAN, lambda *_: True, _truth),
        "counting": lambda: SemiringChoice(COUNTS, lambda _, count: count, _count, is_counting=True),
        "why": lambda: SemiringChoice(why := Why(), lambda fact, _: why.variable(fact)),
        "how": lambda: SemiringChoice(how := How(), lambda fact, _: how.variable(fact), shown=_Named, is_counting=True),
        "lineage": lambda: SemiringChoice(lineage := Lineage(), lambda fact, _: lineage.variable(fact)),
        "posbool": lambda: SemiringChoice(posbool := Supports[Fact](), lambda fact, _: posbool.variable(fact)),
        "tropical": lambda: SemiringChoice(TROPICAL, lambda *_: 1, _cost, shown=_shown_cost),
        "viterbi": lambda: SemiringChoice(VITERBI, lambda *_: 1.0, chance),
        "security": lambda: SemiringChoice(
            security := Security(), lambda *_: 0, _level, shown=lambda n: security.levels[n]
        ),
    }
    if not isinstance(name, str) or name not in kinds:
        known = ", ".join(f'"{each}"' for each in kinds)
        hint = did_you_mean(name, kinds) if isinstance(name, str) else None
        raise UnsupportedError(f"there is no semiring {name!r}", hint=hint or f"there is {known}")
    return kinds[name]()


def annotate(
    kind: SemiringChoice, cone: Cone, annotations: Mapping[Fact, Any], backwards: Backwards
) -> dict[Fact, object]:
    """The annotation of every root of a cone."""
    _require_plain(kind, cone, backwards)
    semiring = kind.semiring
    counts = backwards.evidence.gather(lambda: {fact: backwards.count(fact) for fact in cone.base})

    def leaf(node: Node) -> Any:
        if isinstance(node, AbsentRow):
            return semiring.one
        fact = (node[0], node[1])
        return annotations[fact] if fact in annotations else kind.default(fact, counts[fact])

    if isinstance(semiring, Lineage):
        return {root: kind.shown(found) for root, found in _lineages(cone, leaf).items()}
    found = evaluate(cone.derivations, semiring, leaf, cone.roots, _shown)
    return {root: kind.shown(found[root]) for root in cone.roots}


def _require_plain(kind: SemiringChoice, cone: Cone, backwards: Backwards) -> None:
    """Refuse to count what has no count: the derivations around a cycle, and those of an aggregate."""
    for fact in cone.uses:
        if kind.is_counting and backwards.is_aggregated(fact[0]):
            raise UnsupportedError(
                f"{kind.semiring.name} of {relation_name(fact[0])} have no meaning: it aggregates, and a value that is "
                "made of a whole group has no number of derivations",
                span=backwards.rules(fact[0])[0].span,
                hint='ask for "why", "lineage" or "boolean" instead',
            )
        if backwards.is_signed(fact[0]):
            raise UnsupportedError(
                f"{relation_name(fact[0])} has rules that take rows away, and a semiring can only add",
                span=backwards.rules(fact[0])[0].span,
                hint="the view itself counts its rows; db.why shows what adds to a row and what takes away",
            )
    if kind.semiring.absorptive or isinstance(kind.semiring, Lineage):
        return
    for component in components(cone.derivations, cone.roots):
        around = cycle(cone.derivations, component) if component[0] in cone.derivations else []
        if around:
            first = around[0]
            inside = set(around)
            uses = [use for each in cone.uses.values() for use in each if not inside.isdisjoint(facts_of(use))]
            raise StratificationError(
                f"{kind.semiring.name} have no value here: {_shown(first)} follows from itself, "
                f"{' <- '.join(map(_shown, [*around[:7], first]))}, and every way around is one more derivation",
                span=uses[0].rule.span,
                hint='ask for "boolean", "posbool", "lineage", "tropical" or "viterbi", to which a detour adds nothing',
            )


def _lineages(cone: Cone, leaf: Callable[[Node], Any]) -> dict[Fact, Any]:
    """All leaves behind each root: every row of a cone is there, so every derivation counts, around cycles too."""
    found: dict[Fact, Any] = {}
    for root in cone.roots:
        under: Iterator[Node] = reached([root], lambda node: needs(cone.derivations, node))
        found[root] = frozenset[object]().union(*(leaf(node) for node in under if node not in cone.derivations))
    return found


@dataclass(frozen=True, repr=False)
class _Named:
    """A polynomial that prints its base rows as rules write them."""

    polynomial: Polynomial

    def __str__(self) -> str:
        return self.polynomial.text(lambda fact: fact_text(*fact))  # type: ignore[misc]

    __repr__ = __str__


def _shown(node: Node) -> str:
    return fact_text(node[0], node[1])


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise DataError(f"in the semiring boolean a row is annotated with True or False, not {shown(value)}")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"a count is a whole number, not {shown(value)}")
    return value


def _cost(value: object) -> Cost:
    """Whole, or a fraction: a float stands for the number that it is written as."""
    if isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            cost = value if isinstance(value, int) else Fraction(str(value) if isinstance(value, float) else value)
            if cost >= 0:
                return cost
    raise DataError(f"a cost is a number of zero or more, not {shown(value)}")


def _shown_cost(value: Cost) -> int | float:
    return value if isinstance(value, int) else float(value)


def chance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise DataError(f"a probability is a number from 0 to 1, not {shown(value)}")
    return float(value)


def _level(value: object) -> int:
    if value not in LEVELS:
        known = ", ".join(f'"{level}"' for level in LEVELS)
        raise DataError(f"there is no security level {shown(value)}", hint=f"there is {known}")
    return LEVELS.index(str(value))
