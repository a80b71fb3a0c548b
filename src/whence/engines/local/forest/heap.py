"""A binary heap of nodes by their cost, smallest key first."""

from __future__ import annotations

from whence.engines.local.forest.kernels import inlined
from whence.engines.local.forest.layout import Array


@inlined
def push(keys: Array, nodes: Array, size: int, key: float, node: int) -> int:
    """Add a node; returns the new size. There must be room."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] <= key:
            break
        keys[at] = keys[above]
        nodes[at] = nodes[above]
        at = above
    keys[at] = key
    nodes[at] = node
    return size + 1


@inlined
def drop_first(keys: Array, nodes: Array, size: int) -> int:
    """Remove the first entry; returns the new size."""
    size -= 1
    key, node = keys[size], nodes[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if key <= keys[below]:
            break
        keys[at] = keys[below]
        nodes[at] = nodes[below]
        at = below
    keys[at] = key
    nodes[at] = node
    return size
