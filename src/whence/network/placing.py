"""Which node a row is at home on: the one that its value in the partition column leads to."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from numbers import Number

from whence.errors import TypeMismatchError
from whence.model.types import Value


class Placing:
    """So many nodes, among which hashes spread the values, or with None a node for every value.

    Nodes have numbers. Where each value is a node, it gets the next number when it is first seen.
    """

    def __init__(self, nodes: int | None) -> None:
        if nodes is not None and nodes < 1:
            raise TypeMismatchError(f"nodes is how many nodes there are, or None for one per value, not {nodes!r}")
        self.nodes = nodes
        self._names: list[Value] = [] if nodes is None else list(range(nodes))
        self._numbers: dict[Value, int] = {}

    def __len__(self) -> int:
        return len(self._names)

    def node(self, value: Value) -> int:
        """The number of the node that rows with this value belong to."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = self._new(value)
        return number

    def _new(self, value: Value) -> int:
        if self.nodes is not None:
            return stable_hash(value) % self.nodes
        self._names.append(value)
        return len(self._names) - 1

    def name(self, number: int) -> Value:
        return self._names[number]


def stable_hash(value: Value) -> int:
    """The same in every process, and for values that are equal."""
    if value is None:
        return 0
    if isinstance(value, Number):
        # Python promises that equal numbers of whatever type hash alike, and does not salt them.
        return hash(value)
    if isinstance(value, tuple):
        return _digest(repr([stable_hash(each) for each in value]))
    return _digest(str(value))


@lru_cache(maxsize=1 << 16)
def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
