"""Finding and adding tuples: the hash of all tuples, and the indexes that joins probe."""

from __future__ import annotations

import numba as nb
import numpy as np

from whence.engines.local.forest.layout import (
    ARITY,
    COLUMNS,
    FIRST,
    INDEX,
    INDEX_COLUMNS,
    INDEX_LINK,
    INDEX_WIDTH,
    INDEXED,
    INDEXES,
    KEY,
    KEYS,
    LIVE,
    MASK,
    NODES,
    NOTHING,
    RELATION,
    START,
    STATUS,
    USES,
    Array,
)


@nb.njit(cache=True, forceinline=True)
def mixed(hash_: int, value: int) -> int:
    """One more value in a hash."""
    hash_ = (hash_ ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return hash_ ^ (hash_ >> np.uint64(32))


@nb.njit(cache=True, forceinline=True)
def find(nodes: Array, slots: Array, relation: int, rows: Array, at: int, arity: int) -> tuple[int, int]:
    """The node of the tuple in row `at` of `rows`, or NOTHING, and the slot where it is or belongs."""
    hash_ = np.uint64(relation + 1)
    for column in range(arity):
        hash_ = mixed(hash_, rows[at, column])
    mask = np.int64(len(slots) - 1)
    slot = np.int64(hash_ & np.uint64(mask))
    while True:
        node = slots[slot]
        if node == NOTHING:
            return np.int64(NOTHING), slot
        if nodes[node, RELATION] == relation:
            column = 0
            while column < arity and nodes[node, COLUMNS + column] == rows[at, column]:
                column += 1
            if column == arity:
                return np.int64(node), slot
        slot = (slot + 1) & mask


@nb.njit(cache=True, forceinline=True)
def add(nodes: Array, slots: Array, counters: Array, relation: int, rows: Array, at: int, arity: int, slot: int) -> int:
    """A new node, not alive yet, in the slot that `find` gave. There must be room."""
    node = counters[NODES]
    counters[NODES] = node + 1
    nodes[node, STATUS] = 0
    nodes[node, RELATION] = relation
    nodes[node, LIVE] = NOTHING
    nodes[node, FIRST] = NOTHING
    nodes[node, USES] = NOTHING
    for column in range(arity):
        nodes[node, COLUMNS + column] = rows[at, column]
    slots[slot] = node
    return np.int64(node)


@nb.njit(cache=True, forceinline=True)
def find_key(
    nodes: Array, index_slots: Array, index_state: Array, indexes: Array, index: int, work: Array
) -> tuple[int, int]:
    """The newest node with the key in the working memory in an index, or NOTHING, and its slot."""
    width = indexes[index, INDEX_WIDTH]
    hash_ = np.uint64(width + 1)
    for part in range(width):
        hash_ = mixed(hash_, work[KEY, part])
    start, mask = index_state[index, START], index_state[index, MASK]
    slot = np.int64(hash_ & np.uint64(mask))
    while True:
        node = index_slots[start + slot]
        if node == NOTHING:
            return np.int64(NOTHING), start + slot
        part = 0
        while part < width and nodes[node, COLUMNS + indexes[index, INDEX_COLUMNS + part]] == work[KEY, part]:
            part += 1
        if part == width:
            return np.int64(node), start + slot
        slot = (slot + 1) & mask


@nb.njit(cache=True, forceinline=True)
def let_find(
    nodes: Array, index_slots: Array, index_state: Array, relations: Array, indexes: Array, node: int, work: Array
) -> None:
    """Let joins find the node from now on. There must be room in the indexes."""
    relation = nodes[node, RELATION]
    first = relations[relation, INDEX]
    for index in range(first, first + relations[relation, INDEXES]):
        for part in range(indexes[index, INDEX_WIDTH]):
            work[KEY, part] = nodes[node, COLUMNS + indexes[index, INDEX_COLUMNS + part]]
        newest, slot = find_key(nodes, index_slots, index_state, indexes, index, work)
        nodes[node, indexes[index, INDEX_LINK]] = newest
        index_slots[slot] = node
        if newest == NOTHING:
            index_state[index, KEYS] += 1
    nodes[node, STATUS] |= INDEXED


@nb.njit(cache=True)
def rehash(nodes: Array, slots: Array, count: int, relations: Array) -> None:
    """Put every node into slots that are empty."""
    mask = np.int64(len(slots) - 1)
    for node in range(count):
        relation = nodes[node, RELATION]
        hash_ = np.uint64(relation + 1)
        for column in range(relations[relation, ARITY]):
            hash_ = mixed(hash_, nodes[node, COLUMNS + column])
        slot = np.int64(hash_ & np.uint64(mask))
        while slots[slot] != NOTHING:
            slot = (slot + 1) & mask
        slots[slot] = node


@nb.njit(cache=True)
def reindex(
    nodes: Array, index_slots: Array, index_state: Array, count: int, relations: Array, indexes: Array, work: Array
) -> None:
    """Put every node that joins may find into indexes that are empty."""
    index_state[:, KEYS] = 0
    for node in range(count):
        if nodes[node, STATUS] & INDEXED:
            let_find(nodes, index_slots, index_state, relations, indexes, node, work)
