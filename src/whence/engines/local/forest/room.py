"""Making forests, making room in them, and packing them."""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from whence.columns.compiled import inlined, kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    BODY,
    BODY_LENGTH,
    COLUMNS,
    DEAD_NODE,
    DERIVATIONS,
    FIRST,
    GONE,
    HEAD,
    INDEX_COLUMNS,
    INDEX_WIDTH,
    KEYS,
    LIVE,
    LIVE_BEFORE,
    LONGEST,
    LOST,
    MASK,
    MATCHED,
    NEGATED,
    NEXT_OF_HEAD,
    NODES,
    NODES_PER_MATCH,
    NOTHING,
    RELATION,
    REQUIRES,
    ROWS_WITH_KEY,
    RULE,
    START,
    STATUS,
    USES,
    WIDEST,
    Array,
    ForestArrays,
    RuleTables,
)
from whence.engines.local.forest.prune import live_by
from whence.engines.local.forest.tuples import move_keys, note, rehash, reindex

_SMALLEST = 1 << 10
_HUGE_PAGE = 2 << 20


def new_forest(rules: RuleTables, links: int, *, costs: bool) -> ForestArrays:
    """An empty forest for these rules. `links` is the number of indexes of the relation that has most of them."""
    indexes = len(rules.indexes)
    state = np.zeros((indexes, 3), np.int64)
    state[:, START] = np.arange(indexes) * _SMALLEST
    state[:, MASK] = _SMALLEST - 1
    return ForestArrays(
        nodes=np.empty((_SMALLEST, COLUMNS + rules.shape[WIDEST] + links), np.int32),
        best=np.zeros(_SMALLEST if costs else 0, rules.constants.dtype),
        slots=np.full(2 * _SMALLEST, NOTHING, np.int32),
        index_slots=np.full(indexes * _SMALLEST, NOTHING, np.int32),
        index_state=state,
        derivations=np.empty((_SMALLEST, BODY + 2 * rules.shape[LONGEST]), np.int32),
        counters=np.zeros(5, np.int64),
    )


def loaded(empty: ForestArrays, saved: Sequence[Array]) -> ForestArrays:
    """A forest that was saved without room for more, with the least room that an empty one has."""
    return ForestArrays(
        *[
            copied(array, len(array), len(least)) if len(array) < len(least) else array
            for array, least in zip(saved, empty, strict=True)
        ]
    )


def more_room(forest: ForestArrays, rules: RuleTables, rows: int = 0) -> ForestArrays:
    """The same forest with more room wherever there is too little, also for so many more rows."""
    count = int(forest.counters[NODES])
    # What a match needs, at least.
    rows += int(rules.shape[NODES_PER_MATCH])
    while count + rows > len(forest.nodes):
        best = copied(forest.best, count, 4 * len(forest.best)) if len(forest.best) else forest.best
        forest = forest._replace(nodes=copied(forest.nodes, count, 4 * len(forest.nodes)), best=best)
    used = int(forest.counters[DERIVATIONS])
    # A row is used in a few of them, as a rule. Room that is not used takes no memory.
    while used + 4 * rows > len(forest.derivations):
        forest = forest._replace(derivations=copied(forest.derivations, used, 4 * len(forest.derivations)))
    slots = len(forest.slots)
    while 2 * (count + rows) > slots:
        slots *= 2
    if slots > len(forest.slots):
        forest = forest._replace(slots=no_nodes(slots))
        rehash(forest.nodes, forest.slots, count, rules.relations)
    full = 2 * forest.index_state[:, KEYS] > forest.index_state[:, MASK]
    return _with_larger_indexes(forest, rules.indexes, full) if full.any() else forest


def _with_larger_indexes(forest: ForestArrays, indexes: Array, full: Array) -> ForestArrays:
    """Those that are full get twice as many slots."""
    before, state = forest.index_state, forest.index_state.copy()
    sizes = (before[:, MASK] + 1) * np.where(full, 2, 1)
    state[:, START], state[:, MASK] = np.cumsum(sizes) - sizes, sizes - 1
    index_slots = no_nodes(int(sizes.sum()))
    for index, ((first, last, _), (start, end, _)) in enumerate(zip(before.tolist(), state.tolist(), strict=True)):
        old, new = forest.index_slots[first : first + last + 1], index_slots[start : start + end + 1]
        if full[index]:
            width = indexes[index, INDEX_WIDTH]
            move_keys(forest.nodes, old, new, indexes[index, INDEX_COLUMNS : INDEX_COLUMNS + width])
        else:
            new[:] = old
    return forest._replace(index_slots=index_slots, index_state=state)


def room_for_derivations(forest: ForestArrays, count: int) -> ForestArrays:
    """The same forest with room for so many more derivations."""
    while forest.counters[DERIVATIONS] + count > len(forest.derivations):
        forest = forest._replace(derivations=longer(forest.derivations))
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


def pack(forest: ForestArrays, rules: RuleTables, work: Array) -> ForestArrays:
    """The same forest without what is gone. Nodes and derivations have other numbers afterwards."""
    counters = forest.counters.copy()
    count = int(counters[NODES])
    nodes = copied(forest.nodes, count, len(forest.nodes))
    best = copied(forest.best, count, len(forest.best))
    derivations = copied(forest.derivations, int(counters[DERIVATIONS]), len(forest.derivations))
    moved = np.full(count, NOTHING, np.int32)
    shape = int(rules.shape[LONGEST]), bool(rules.shape[REQUIRES])
    _close_gaps(nodes, best, derivations, counters, rules.heads, rules.relations, *shape, moved)
    slots = no_nodes(len(forest.slots))
    rehash(nodes, slots, int(counters[NODES]), rules.relations)
    index_slots = no_nodes(len(forest.index_slots))
    index_state = forest.index_state.copy()
    index_state[:, KEYS] = 0
    reindex(nodes, index_slots, index_state, int(counters[NODES]), rules.relations, rules.indexes, work)
    return ForestArrays(nodes, best, slots, index_slots, index_state, derivations, counters)


@inlined
def _is_used(nodes: Array, derivations: Array, longest: int, node: int) -> bool:
    """Whether a derivation that is not lost rests on the node."""
    use = nodes[node, USES]
    while use != NOTHING:
        number = use // longest
        if derivations[number, HEAD] != NOTHING:
            return True
        use = derivations[number, BODY + longest + use % longest]
    return False


@kernel
def _close_gaps(
    nodes: Array,
    best: Array,
    derivations: Array,
    counters: Array,
    heads: Array,
    relations: Array,
    longest: int,
    may_wait: bool,
    moved: Array,
) -> None:
    """`moved` becomes the new number of each node, and is NOTHING where it is gone.

    Derivations `may_wait` for a better cost where rules require something of costs.
    """
    count = 0
    for node in range(counters[NODES]):
        is_kept = nodes[node, STATUS] & ALIVE != 0
        if relations[nodes[node, RELATION], NEGATED]:
            is_kept = nodes[node, ROWS_WITH_KEY] != NOTHING or _is_used(nodes, derivations, longest, node)
        # One that is gone may have derivations that wait.
        if is_kept or (may_wait and nodes[node, FIRST] != NOTHING):
            moved[node] = count
            for field in range(nodes.shape[1]):
                nodes[count, field] = nodes[node, field]
            if len(best) > 0:
                best[count] = best[node]
            nodes[count, FIRST] = NOTHING
            nodes[count, USES] = NOTHING
            count += 1
    counters[NODES] = count
    counters[GONE] = 0
    kept = 0
    for number in range(counters[DERIVATIONS]):
        if derivations[number, HEAD] == NOTHING or moved[derivations[number, HEAD]] == NOTHING:
            continue
        head = moved[derivations[number, HEAD]]
        if nodes[head, LIVE] == number:
            nodes[head, LIVE] = kept
        rule = derivations[number, RULE]
        derivations[kept, HEAD] = head
        derivations[kept, RULE] = rule
        derivations[kept, NEXT_OF_HEAD] = nodes[head, FIRST]
        nodes[head, FIRST] = kept
        for atom in range(longest):
            if atom < heads[rule, BODY_LENGTH]:
                node = moved[derivations[number, BODY + atom]]
                derivations[kept, BODY + atom] = node
                derivations[kept, BODY + longest + atom] = nodes[node, USES]
                nodes[node, USES] = kept * longest + atom
            else:
                derivations[kept, BODY + atom] = NOTHING
        kept += 1
    counters[DERIVATIONS] = kept
    counters[LOST] = 0


@inlined
def _same_now(nodes: Array, derivations: Array, node: int, before: int, length: int) -> int:
    """The derivation of the node that is what another, lost or not, was before; NOTHING if it is not noted."""
    if derivations[before, HEAD] == node:
        return before
    number = int(nodes[node, FIRST])
    while number != NOTHING:
        if derivations[number, HEAD] == node and derivations[number, RULE] == derivations[before, RULE]:
            atom = 0
            while atom < length and derivations[number, BODY + atom] == derivations[before, BODY + atom]:
                atom += 1
            if atom == length:
                return number
        number = int(derivations[number, NEXT_OF_HEAD])
    return NOTHING


@kernel
def restore_live(forest: ForestArrays, heads: Array, longest: int, before: Array, work: Array) -> None:
    """Each node lives by the derivation that it had before, as it did when all of them together were a forest.

    The tuples are the same as then, and nothing was packed since. There is room for one derivation for each.
    """
    nodes, derivations = forest.nodes, forest.derivations
    for at in range(len(before)):
        node, was = before[at, DEAD_NODE], before[at, LIVE_BEFORE]
        if was == NOTHING or not nodes[node, STATUS] & ALIVE:
            continue
        rule = derivations[was, RULE]
        length = heads[rule, BODY_LENGTH]
        number = _same_now(nodes, derivations, node, was, length)
        if number == NOTHING:
            for atom in range(length):
                work[MATCHED, atom] = derivations[was, BODY + atom]
            number = note(nodes, derivations, forest.counters, longest, rule, length, node, work)
        live_by(forest, heads, node, number)
