"""Everything that lies behind rows: all their derivations, all derivations of what these rest on, down to base rows.

A cone is a graph of choices and needs, as `semirings/derivations` has them. Two kinds of rows are not a choice between
uses of rules:
- one with min or max needs one member with the value for each of them, whatever others there are;
- one with any other aggregate needs all members of its group together.
What a rule negates is absent now, and counts as absent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple, TypeAlias

from whence.algebra.derivations import founded
from whence.engines.engine import Derivation
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact, Watch, positive
from whence.explain.proofs.text import Pattern
from whence.explain.provenance.linearization import LinearRules
from whence.explain.provenance.losses import inexact
from whence.model.types import Row

# So many rows are opened together, before a limit is looked at.
_TOGETHER = 500
# So many derivations of a row are compared with each other.
_COMPARED = 100


class AbsentRow(NamedTuple):
    """That no row of the relation is like the pattern. Where no user knows the relation, there are `words` for it."""

    relation: str
    pattern: Pattern
    words: str | None


class AggregateValue(NamedTuple):
    """One value of a row that has several, each a min or max."""

    relation: str
    row: Row
    number: int


Node: TypeAlias = Fact | AbsentRow | AggregateValue


@dataclass(slots=True)
class Cone:
    """`derivations` lists per row what each of its derivations needs; what has no entry is in `base`, or absent.

    `is_complete` is False where a limit was reached. `is_exact` tells whether a set of base rows is enough for a row in
    the sense of this graph just when the row is there without all other base rows; `reason` says why it is not so.
    """

    roots: tuple[Fact, ...]
    derivations: dict[Node, list[tuple[Node, ...]]] = field(default_factory=dict)
    base: dict[Fact, None] = field(default_factory=dict)
    uses: dict[Fact, list[Derivation]] = field(default_factory=dict)
    is_complete: bool = True
    reason: str | None = None

    @property
    def is_exact(self) -> bool:
        return self.reason is None and self.is_complete


def explore(
    backwards: Backwards, roots: Iterable[Fact], steps: int, seconds: float, linear: LinearRules | None = None
) -> Cone:
    """The cone of some rows, or as much of it as fits the limits: a number of derivations and a time.

    With `linear`, it has other derivations where these are fewer, with the same minimal supports.
    """
    cone = Cone(tuple(dict.fromkeys(roots)))
    watch = Watch(steps, seconds)
    exploring = _Exploring(backwards, cone, watch, linear)
    todo = list(cone.roots)
    seen = set(todo)
    while todo:
        # Nearest first, so that a cone that is cut has the shortest derivations.
        layer: list[Fact] = []
        for at in range(0, len(todo), _TOGETHER):
            for need in exploring.open(todo[at : at + _TOGETHER]):
                if need not in seen:
                    seen.add(need)
                    layer.append(need)
            if watch.is_over:
                return _cut_off(cone, backwards)
        todo = layer
    cone.reason = inexact(backwards, {root[0] for root in cone.roots})
    return cone


def _cut_off(cone: Cone, backwards: Backwards) -> Cone:
    """As far as it goes: without derivations that need rows which were not looked at any more."""
    cone.is_complete = False
    for head, bodies in cone.derivations.items():
        known: list[tuple[Node, ...]] = []
        for body in bodies:
            facts = [
                need
                for need in body
                if not isinstance(need, AbsentRow | AggregateValue) and need not in cone.derivations
            ]
            if all(backwards.is_table(fact[0]) for fact in facts):
                cone.base.update(dict.fromkeys(facts))
                known.append(body)
        cone.derivations[head] = known
    return cone


class _Exploring:
    def __init__(self, backwards: Backwards, cone: Cone, watch: Watch, linear: LinearRules | None) -> None:
        self._backwards = backwards
        self._linear = linear
        self._absences = backwards.absences if linear is None else linear.absences
        self._cone = cone
        self._watch = watch
        # The relations of rules' atoms, by identity: to hash a rule would walk all of it.
        self._names: dict[int, tuple[str, ...]] = {}

    def open(self, facts: Sequence[Fact]) -> Iterator[Fact]:
        """Put the derivations of rows into the cone, and return what they need."""
        views = [fact for fact in facts if not self._backwards.is_table(fact[0])]
        self._cone.base.update(dict.fromkeys(fact for fact in facts if self._backwards.is_table(fact[0])))
        found = self._backwards.evidence.gather(lambda: [self._choices(fact) for fact in views])
        for fact, choices in zip(views, found, strict=True):
            bodies = [[self._body(derivation) for derivation in derivations] for derivations in choices]
            self._add(fact, bodies)
            self._cone.uses[fact] = [derivation for derivations in choices for derivation in derivations]
            for body in chain.from_iterable(bodies):
                yield from (need for need in body if not isinstance(need, AbsentRow | AggregateValue))

    def _choices(self, fact: Fact) -> list[list[Derivation]]:
        """The uses of rules to choose from: once, or once for each min and max."""
        backwards = self._backwards
        if not backwards.is_aggregated(fact[0]):
            derivations = self._taken(self._derivations(fact))
            if backwards.is_signed(fact[0]):
                derivations = [derivation for derivation in derivations if backwards.weight(derivation) > 0]
            return [derivations]
        if backwards.is_extreme(fact[0]):
            return [self._taken(derivations) for derivations in backwards.witnesses(fact)]
        return [self._taken(backwards.derivations(fact))]

    def _derivations(self, fact: Fact) -> Iterable[Derivation]:
        linear = None if self._linear is None else self._linear.derivations(fact)
        if linear is not None:
            return linear
        stored = self._backwards.evidence.stored(*fact)
        return self._backwards.derivations(fact) if stored is None else stored

    def _add(self, fact: Fact, bodies: list[list[tuple[Node, ...]]]) -> None:
        derivations = self._cone.derivations
        if not self._backwards.is_aggregated(fact[0]):
            derivations[fact] = bodies[0]
        elif not self._backwards.is_extreme(fact[0]):
            derivations[fact] = [tuple(dict.fromkeys(chain.from_iterable(bodies[0])))]
        else:
            # Over nothing at all, min and max are NULL, and need nothing.
            parts = [AggregateValue(*fact, number) for number in range(len(bodies))] if len(bodies) > 1 else [fact]
            derivations[fact] = [tuple(parts)]
            derivations.update(zip(parts, [of_part or [()] for of_part in bodies], strict=True))

    def _body(self, derivation: Derivation) -> tuple[Node, ...]:
        names = self._names.get(id(derivation.rule))
        if names is None:
            names = self._names[id(derivation.rule)] = positive(derivation.rule)
        absent = [AbsentRow(each.relation, each.pattern, each.words) for each in self._absences.of(derivation)]
        return (*zip(names, derivation.body, strict=True), *absent)

    def _taken(self, derivations: Iterable[Derivation]) -> list[Derivation]:
        taken: list[Derivation] = []
        for derivation in derivations:
            if self._watch.step():
                break
            taken.append(derivation)
        return taken


def absorbed(cone: Cone) -> Cone:
    """The cone without derivations that need all that another one of the same row needs, and more.

    Whether a row is there does not depend on them; how many derivations it has does.
    """
    reduced = {head: _least(bodies) if len(bodies) > 1 else bodies for head, bodies in cone.derivations.items()}
    return replace(cone, derivations=reduced)


def _least(bodies: Sequence[tuple[Node, ...]]) -> list[tuple[Node, ...]]:
    kept: list[tuple[frozenset[Node], tuple[Node, ...]]] = []
    # Those that need one row only are looked up, since nearly all that is dropped is dropped for one of them.
    single = {body[0] for body in bodies if len(body) == 1}
    for body in sorted(bodies, key=len):
        needed = frozenset(body)
        if len(body) > 1 and not single.isdisjoint(needed):
            continue
        if len(kept) > _COMPARED or not any(other <= needed for other, _ in kept):
            kept.append((needed, body))
    return [body for _, body in kept]


def derived(cone: Cone, without: Collection[Fact]) -> set[Node]:
    """All that follows from the base rows but some: a derivation holds once all that it needs does."""
    needed = (
        (head, {need for need in body if not isinstance(need, AbsentRow)})
        for head, bodies in cone.derivations.items()
        for body in bodies
    )
    return founded(needed, [fact for fact in cone.base if fact not in without])
