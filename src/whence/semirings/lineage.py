"""Lineage: all base tuples that have to do with a row."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from whence.semirings.semiring import Laws
from whence.semirings.tabled import Tabled

# None for a row that is not there: nothing has to do with it, not even nothing.
Contributors: TypeAlias = "frozenset[Hashable] | None"


class Lineage(Tabled[Contributors]):
    """Sets of base tuples, where both plus and times are union.

    Not absorptive, because a detour brings its own tuples in. Around a cycle it has a value all the same: every tuple
    that any way around passes, and there is no more to add then. Rounds come to rest as soon as all have met.
    """

    name = "lineages"
    laws = Laws(idempotent=True, absorptive=False, negatives=False)

    def __init__(self) -> None:
        super().__init__(None, frozenset())

    def variable(self, name: Hashable) -> Contributors:
        return frozenset((name,))

    def plus(self, left: Contributors, right: Contributors) -> Contributors:
        if left is None or right is None:
            return right if left is None else left
        return left | right

    def times(self, left: Contributors, right: Contributors) -> Contributors:
        return None if left is None or right is None else left | right
