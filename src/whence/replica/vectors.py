"""Version vectors: which updates of each site are known, by space. An update is known with all that came before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from whence.replica.knowledge import Dot

Vector: TypeAlias = dict[str, int]
# By space.
Vectors: TypeAlias = dict[str, Vector]


def covers(vector: Mapping[str, int] | None, dot: Dot) -> bool:
    return vector is not None and vector.get(dot.site, 0) >= dot.number


def raise_to(vector: Vector, other: Mapping[str, int]) -> None:
    """Everything that the other one knows is known, in place."""
    for site, number in other.items():
        if vector.get(site, 0) < number:
            vector[site] = number
