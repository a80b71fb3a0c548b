"""Why-provenance: for each derivation, the set of base tuples that it uses."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from whence.semirings.absorption import require_few
from whence.semirings.semiring import Laws
from whence.semirings.tabled import Tabled

# The base tuples of one derivation, and those of all.
Witness: TypeAlias = frozenset[Hashable]
Witnesses: TypeAlias = frozenset[Witness]


class Why(Tabled[Witnesses]):
    """Sets of sets: plus is union, times is union of each with each. What contains another one stays.

    Idempotent, and not absorptive: a detour is a witness of its own, though the row does not need it. `Supports` is
    what is left of it when such witnesses go.
    """

    name = "witnesses"
    laws = Laws(idempotent=True, absorptive=False, negatives=False)

    def __init__(self) -> None:
        super().__init__(frozenset(), frozenset((frozenset(),)))

    def variable(self, name: Hashable) -> Witnesses:
        return frozenset((frozenset((name,)),))

    def plus(self, left: Witnesses, right: Witnesses) -> Witnesses:
        together = left | right
        require_few(len(together))
        return together

    def times(self, left: Witnesses, right: Witnesses) -> Witnesses:
        require_few(len(left) * len(right))
        return frozenset(one | other for one in left for other in right)
