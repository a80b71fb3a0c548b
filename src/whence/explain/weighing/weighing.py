"""What one row rests on, weighed in several ways, from one look at what lies behind it."""

from __future__ import annotations

from functools import cached_property

from whence.errors import UnsupportedError
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.limits import Watch
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import fact_text
from whence.explain.weighing.cone import Cone, explore
from whence.explain.weighing.formula import formula
from whence.explain.weighing.supports import Enumeration, base_rows

# How many derivations are looked at, how many supports are tried, and for how long.
DERIVATIONS = 200_000
TRIES = 500_000
SECONDS = 20.0


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
        return explore(self.backwards, [self.root], DERIVATIONS, SECONDS)

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
        return found

    def formula(self) -> str:
        if not self.cone.is_complete:
            raise UnsupportedError(
                f"{fact_text(*self.root)} has too many derivations for a formula (more than {DERIVATIONS:,})",
                hint="ask for some of its supports instead",
            )
        return formula(self.cone, self.root, self.watch())
