"""What one row rests on, from one look at what lies behind it: critical rows, a formula, and more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from whence.errors import UnsupportedError
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.prover import prove
from whence.explain.proofs.reasons import Fact, ProofLimits, ReasonKind, Reasons, Watch
from whence.explain.proofs.text import absence_text, fact_text
from whence.explain.provenance.cone import AbsentRow, Cone, Node, absorbed, explore
from whence.explain.provenance.linearization import LinearRules
from whence.explain.provenance.supports import Enumeration, base_rows


def critical(cone: Cone, root: Fact, candidates: Sequence[Fact]) -> set[Fact]:
    """The critical base rows of a row whose cone is exact. The base rows of any proof are candidates enough."""
    bits: dict[Node, int] = {fact: 1 << number for number, fact in enumerate(candidates)}
    everything = (1 << len(candidates)) - 1
    of: dict[Node, int] = dict.fromkeys(cone.derivations, everything)
    users: dict[Node, list[Node]] = {}
    for head, bodies in cone.derivations.items():
        for body in bodies:
            for need in body:
                if need in of:
                    users.setdefault(need, []).append(head)
    todo = list(of)
    while todo:
        head = todo.pop()
        found = everything
        for body in cone.derivations[head]:
            of_body = 0
            for need in body:
                of_body |= of.get(need, 0) if need in of else bits.get(need, 0)
            found &= of_body
        if found != of[head]:
            of[head] = found
            todo.extend(users.get(head, ()))
    left = of.get(root, bits.get(root, 0))
    return {fact for number, fact in enumerate(candidates) if left >> number & 1}


# A longer formula cannot be read.
_MOST_SUPPORTS = 100


def formula(cone: Cone, root: Fact, watch: Watch) -> str:
    """The minimal supports, each a conjunction, in a disjunction. What must be absent is negated."""
    enumeration = Enumeration(cone, root, watch, counts_absent=True)
    supports: list[frozenset[Node]] = []
    for support in enumeration:
        supports.append(enumeration.leaves_of(support))
        if len(supports) > _MOST_SUPPORTS:
            break
    if watch.is_over or len(supports) > _MOST_SUPPORTS:
        raise UnsupportedError(
            f"the formula of {fact_text(*root)} is too long to be read: it has more than {len(supports) - 1:,} "
            "minimal supports",
            hint="ask for some of the supports, the critical rows or the probability instead",
        )
    if not supports:
        return "false"
    # By size and text: the same formula, however the row is kept.
    sized = sorted((len(support), " ∧ ".join(sorted(map(_text, support))) or "true") for support in supports)
    conjunctions = [text for _, text in sized]
    if len(conjunctions) == 1:
        return conjunctions[0]
    return " ∨ ".join(f"({each})" if " ∧ " in each else each for each in conjunctions)


def _text(node: Node) -> str:
    match node:
        case AbsentRow(relation=relation, pattern=pattern, words=None):
            return f"¬{fact_text(relation, pattern)}"
        case AbsentRow():
            return f"[{absence_text(*node)}]"
    return fact_text(node[0], node[1])


# How many derivations are looked at, how many supports are tried, and for how long.
DERIVATIONS = 100_000
TRIES = 300_000
SECONDS = 10.0
EXPLORING = 5.0


class MinimalSupports(list[frozenset[Fact]]):
    """Minimal supports, smallest first. `complete` is False if a limit was reached before all were found."""

    complete = True


class Weighing:
    """A row, and everything behind it."""

    def __init__(self, backwards: Backwards, root: Fact) -> None:
        self.backwards = backwards
        self.root = root

    @cached_property
    def cone(self) -> Cone:
        linear = LinearRules(self.backwards)
        return absorbed(explore(self.backwards, [self.root], DERIVATIONS, EXPLORING, linear))

    def watch(self) -> Watch:
        return Watch(TRIES, SECONDS)

    def supports(self, most: int | None) -> MinimalSupports:
        """The first `most` minimal supports, or all."""
        watch = self.watch()
        enumeration = Enumeration(self.cone, self.root, watch)
        found = MinimalSupports()
        for support in enumeration:
            found.append(base_rows(enumeration.leaves_of(support)))
            if most is not None and len(found) >= most:
                break
        found.complete = self.cone.is_complete and not watch.is_over
        if not found and not found.complete:
            # There is one at least, however many there are.
            found.append(frozenset(self.proof_base()))
        return found

    def reasons(self) -> Reasons:
        """A whole proof of the row."""
        reasons = prove(self.backwards, [self.root], ProofLimits(members=10**6, steps=10**6))
        if any(reason.kind is ReasonKind.OPEN or reason.partial for reason in reasons.values()):
            raise UnsupportedError(f"the proof of {fact_text(*self.root)} is too large to tell what it rests on")
        return reasons

    def proof_base(self) -> list[Fact]:
        """The base rows of one proof."""
        return [fact for fact, reason in self.reasons().items() if reason.kind is ReasonKind.BASE]

    def formula(self) -> str:
        if not self.cone.is_complete:
            raise UnsupportedError(
                f"{fact_text(*self.root)} has too many derivations for a formula (more than {DERIVATIONS:,})",
                hint="ask for some of its supports instead",
            )
        return formula(self.cone, self.root, self.watch())
