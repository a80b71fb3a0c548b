"""Making forests, and making room in them."""

from __future__ import annotations

import math
import mmap
from contextlib import suppress
from typing import Any

import numpy as np

from whence.engines.local.forest.layout import (
    BODY,
    COLUMNS,
    DERIVATIONS,
    KEYS,
    LONGEST,
    MASK,
    NODES,
    NOTHING,
    START,
    WIDEST,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.tuples import rehash, reindex

_SMALLEST = 1 << 10
_HUGE_PAGE = 2 << 20


def new_forest(rules: Rules, links: int, *, costs: bool) -> Forest:
    """An empty forest for these rules. `links` is the number of indexes of the relation that has most of them."""
    indexes = len(rules.indexes)
    state = np.zeros((indexes, 3), np.int64)
    state[:, START] = np.arange(indexes) * _SMALLEST
    state[:, MASK] = _SMALLEST - 1
    return Forest(
        nodes=np.empty((_SMALLEST, COLUMNS + rules.shape[WIDEST] + links), np.int32),
        best=np.zeros(_SMALLEST if costs else 0, rules.constants.dtype),
        slots=np.full(2 * _SMALLEST, NOTHING, np.int32),
        index_slots=np.full(indexes * _SMALLEST, NOTHING, np.int32),
        index_state=state,
        derivations=np.empty((_SMALLEST, BODY + 2 * rules.shape[LONGEST]), np.int32),
        counters=np.zeros(5, np.int64),
    )


def more_room(forest: Forest, rules: Rules, work: Array) -> Forest:
    """The same forest with more room wherever there is too little."""
    count = int(forest.counters[NODES])
    if count >= len(forest.nodes):
        best = longer(forest.best) if len(forest.best) else forest.best
        forest = forest._replace(nodes=longer(forest.nodes), best=best)
    if forest.counters[DERIVATIONS] >= len(forest.derivations):
        forest = forest._replace(derivations=longer(forest.derivations))
    if 2 * count >= len(forest.slots):
        forest = forest._replace(slots=no_nodes(2 * len(forest.slots)))
        rehash(forest.nodes, forest.slots, count, rules.relations)
    full = 2 * forest.index_state[:, KEYS] > forest.index_state[:, MASK]
    if full.any():
        sizes = (forest.index_state[:, MASK] + 1) * np.where(full, 2, 1)
        state = np.stack([np.cumsum(sizes) - sizes, sizes - 1, np.zeros(len(sizes), np.int64)], axis=1)
        forest = forest._replace(index_slots=no_nodes(int(sizes.sum())), index_state=state)
        reindex(forest.nodes, forest.index_slots, state, count, rules.relations, rules.indexes, work)
    return forest


def longer(array: Array) -> Array:
    """The array with four times its length; what is beyond is not set, and so takes no memory yet."""
    return copied(array, len(array), 4 * len(array))


def copied(array: Array, count: int, length: int) -> Array:
    """An array of this length that begins with the first `count` entries of another."""
    copy = _empty((length, *array.shape[1:]), array.dtype)
    copy[:count] = array[:count]
    return copy


def no_nodes(count: int) -> Array:
    """So many places for nodes, all of them free."""
    slots = _empty((count,), np.dtype(np.int32))
    slots.fill(NOTHING)
    return slots


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array that is not set yet, in huge pages unless it is small.

    Walks hop around in their arrays. With small pages, most of their time goes into finding out where a page lies.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _HUGE_PAGE // 2:
        return np.empty(shape, dtype)
    memory = mmap.mmap(-1, size + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):
        # Where the kernel has none, small ones do.
        memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = -whole.ctypes.data % _HUGE_PAGE
    return whole[start : start + size].view(dtype).reshape(shape)
