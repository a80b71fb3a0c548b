"""What one row rests on, weighed in several ways, from one look at what lies behind it."""

from __future__ import annotations

from functools import cached_property

from whence.errors import UnsupportedError
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.limits import Limits, Watch
from whence.explain.proofs.prover import prove
from whence.explain.proofs.reasons import Fact, Kind, Reasons
from whence.explain.proofs.words import fact_text
from whence.explain.weighing.cone import Cone, absorbed, explore
from whence.explain.weighing.formula import formula
from whence.explain.weighing.linearizing import Linear
from whence.explain.weighing.supports import Enumeration, base_rows

# How many derivations are looked at, how many supports are tried, and for how long.
DERIVATIONS = 100_000
TRIES = 300_000
SECONDS = 10.0
EXPLORING = 5.0


class Supports(list[frozenset[Fact]]):
    """Minimal supports, smallest first. `complete` is False if a limit was reached before all were found."""

    complete = True


class Weighing:
    """A row, and everything behind it."""

    def __init__(self, backwards: Backwards, root: Fact) -> None:
        self.backwards = backwards
        self.root = root

    @cached_property
    def cone(self) -> Cone:
        linear = Linear(self.backwards)
        return absorbed(explore(self.backwards, [self.root], DERIVATIONS, EXPLORING, linear))

    def watch(self) -> Watch:
        return Watch(TRIES, SECONDS)

    def supports(self, most: int | None) -> Supports:
        """The first `most` minimal supports, or all."""
        watch = self.watch()
        enumeration = Enumeration(self.cone, self.root, watch)
        found = Supports()
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
        reasons = prove(self.backwards, [self.root], Limits(members=10**6, steps=10**6))
        if any(reason.kind is Kind.OPEN or reason.partial for reason in reasons.values()):
            raise UnsupportedError(f"the proof of {fact_text(*self.root)} is too large to tell what it rests on")
        return reasons

    def proof_base(self) -> list[Fact]:
        """The base rows of one proof."""
        return [fact for fact, reason in self.reasons().items() if reason.kind is Kind.BASE]

    def formula(self) -> str:
        if not self.cone.is_complete:
            raise UnsupportedError(
                f"{fact_text(*self.root)} has too many derivations for a formula (more than {DERIVATIONS:,})",
                hint="ask for some of its supports instead",
            )
        return formula(self.cone, self.root, self.watch())
