"""Provenance that replicas can merge: supports over ids of base tuples, and how often each tuple came and went.

A base tuple has a *causal length*: 1 when it is first inserted, one more for every delete and insert that follows. It
is there while the number is odd. Two sites that change a tuple from the same length have made the same change; of two
lengths the greater one has seen the smaller. So lengths are merged by `max`, and form a lattice.

Supports (`provenance.Supports`) are the other half. They are a p-semiring, a semiring in which plus and times are both
idempotent and 1 absorbs: plus is then the least upper bound of a distributive lattice, and merging provenance that
arrives twice, in any order, by any way, gives the same. With lengths the ids of an expression get truth values:

>>> t = {"t1": 1, "t2": 2, "t3": 3}
>>> is_in(frozenset({frozenset({"t1", "t3"}), frozenset({"t2"})}), t)
True
>>> is_in(frozenset({frozenset({"t1", "t2"})}), t)
False
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from whence.algebra.provenance import Antichain, Supports, V

# How often each base tuple came and went; what is missing never came.
Lengths: TypeAlias = Mapping[V, int]


class PSemiring(Supports[V]):
    """Supports without a bound on their number: replicas that refuse different ones would not agree."""

    name = "replicated supports"

    def __init__(self) -> None:
        super().__init__(most=float("inf"))

    def is_within(self, left: Antichain[V], right: Antichain[V]) -> bool:
        """Whether the right one knows all of the left one: left + right = right."""
        return self.plus(left, right) == right


def is_present(length: int) -> bool:
    """Whether a tuple with that causal length came last, and did not go."""
    return length % 2 == 1


def inserted(length: int) -> int:
    """The causal length after an insert, which changes nothing where the tuple is there."""
    return length if is_present(length) else length + 1


def deleted(length: int) -> int:
    """The causal length after a delete, which changes nothing where the tuple is not there."""
    return length + 1 if is_present(length) else length


def joined(left: Lengths[V], right: Lengths[V]) -> dict[V, int]:
    """The least upper bound: of each tuple the greater length."""
    found = dict(left)
    for name, length in right.items():
        found[name] = max(length, found.get(name, 0))
    return found


def is_in(annotation: Antichain[V], lengths: Lengths[V]) -> bool:
    """Whether a tuple with this provenance is there: all of one support is."""
    return any(all(is_present(lengths.get(name, 0)) for name in support) for support in annotation)
