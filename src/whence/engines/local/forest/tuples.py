"""Finding and adding tuples and derivations: the hash of all tuples, the indexes that joins probe, and their room."""

from __future__ import annotations

import numpy as np

from whence.columns.compiled import inlined, kernel
from whence.engines.local.forest.layout import (
    ARITY,
    BODY,
    COLUMNS,
    DERIVATIONS,
    FIRST,
    GONE,
    HEAD,
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
    MATCHED,
    NEXT_OF_HEAD,
    NODES,
    NODES_PER_MATCH,
    NOTHING,
    RELATION,
    RULE,
    START,
    STATUS,
    USES,
    Array,
    ForestArrays,
    RuleTables,
)


@inlined
def mixed(hash_: int, value: int) -> int:
    """One more value in a hash."""
    hash_ = (hash_ ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return hash_ ^ (hash_ >> np.uint64(32))


@inlined
def place(slots: Array, relation: int, rows: Array, at: int, first: int, arity: int) -> tuple[int, int]:
    """The first slot for the tuple in row `at` of `rows`, from field `first` on, and its mark in whatever slot it gets.

    Nodes are no more than half as many as slots, so that the upper bits of a slot are free for bits of the hash. They
    tell most other tuples apart, whose rows are then not looked at: they would have to be fetched from far away.
    """
    hash_ = np.uint64(relation + 1)
    for column in range(arity):
        hash_ = mixed(hash_, rows[at, first + column])
    mark = np.int64(hash_ >> np.uint64(33)) & -(len(slots) >> 1)
    return np.int64(hash_ & np.uint64(len(slots) - 1)), mark


@inlined
def locate(
    nodes: Array, slots: Array, relation: int, rows: Array, at: int, first: int, arity: int
) -> tuple[int, int, int]:
    """The node of the tuple in row `at` of `rows`, from field `first` on, or NOTHING.

    Then the slot where it is or belongs, and its mark there.
    """
    numbers = np.int64(len(slots) >> 1) - 1
    slot, mark = place(slots, relation, rows, at, first, arity)
    while True:
        entry = np.int64(slots[slot])
        if entry == NOTHING:
            return np.int64(NOTHING), slot, mark
        if entry & ~numbers == mark:
            node = entry & numbers
            if nodes[node, RELATION] == relation:
                column = 0
                while column < arity and nodes[node, COLUMNS + column] == rows[at, first + column]:
                    column += 1
                if column == arity:
                    return node, slot, mark
        slot = (slot + 1) & (len(slots) - 1)


@inlined
def find(nodes: Array, slots: Array, relation: int, rows: Array, at: int, first: int, arity: int) -> int:
    """The node of the tuple in row `at` of `rows`, from field `first` on, or NOTHING."""
    return locate(nodes, slots, relation, rows, at, first, arity)[0]


@inlined
def find_or_add(
    nodes: Array, slots: Array, counters: Array, relation: int, rows: Array, at: int, first: int, arity: int
) -> int:
    """The same, or a new node, not alive yet. There must be room."""
    node, slot, mark = locate(nodes, slots, relation, rows, at, first, arity)
    if node == NOTHING:
        node = counters[NODES]
        counters[NODES] = node + 1
        counters[GONE] += 1
        nodes[node, STATUS] = 0
        nodes[node, RELATION] = relation
        nodes[node, LIVE] = NOTHING
        nodes[node, FIRST] = NOTHING
        nodes[node, USES] = NOTHING
        for column in range(arity):
            nodes[node, COLUMNS + column] = rows[at, first + column]
        slots[slot] = mark | node
    return node


@inlined
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


@inlined
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


@kernel
def rehash(nodes: Array, slots: Array, count: int, relations: Array) -> None:
    """Put every node into slots that are empty."""
    for node in range(count):
        relation = nodes[node, RELATION]
        slot, mark = place(slots, relation, nodes, node, COLUMNS, relations[relation, ARITY])
        while slots[slot] != NOTHING:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = mark | node


@kernel
def reindex(
    nodes: Array, index_slots: Array, index_state: Array, count: int, relations: Array, indexes: Array, work: Array
) -> None:
    """Put every node that joins may find into indexes that are empty."""
    index_state[:, KEYS] = 0
    for node in range(count):
        if nodes[node, STATUS] & INDEXED:
            let_find(nodes, index_slots, index_state, relations, indexes, node, work)


@kernel
def move_keys(nodes: Array, before: Array, slots: Array, columns: Array) -> None:
    """Put the keys of an index into slots of its own that are empty. The nodes of a key stay linked as they are."""
    mask = len(slots) - 1
    for at in range(len(before)):
        node = before[at]
        if node == NOTHING:
            continue
        hash_ = np.uint64(len(columns) + 1)
        for part in range(len(columns)):
            hash_ = mixed(hash_, nodes[node, COLUMNS + columns[part]])
        slot = np.int64(hash_ & np.uint64(mask))
        while slots[slot] != NOTHING:
            slot = (slot + 1) & mask
        slots[slot] = node


@kernel
def find_one(nodes: Array, slots: Array, relation: int, rows: Array) -> int:
    """The node of the first row of an array, or NOTHING."""
    return find(nodes, slots, relation, rows, 0, 0, rows.shape[1])


@inlined
def has_room(forest: ForestArrays, rules: RuleTables, queued: int, queue: Array) -> bool:
    """Room for the nodes of one more match and one more derivation, with the hash no more than half full."""
    return (
        has_room_for_match(forest, rules)
        and queued < len(queue)
        and forest.counters[DERIVATIONS] < len(forest.derivations)
    )


@inlined
def has_room_for_match(forest: ForestArrays, rules: RuleTables) -> bool:
    """Room for its nodes."""
    count = forest.counters[NODES] + rules.shape[NODES_PER_MATCH]
    return count <= len(forest.nodes) and 2 * count <= len(forest.slots)


@inlined
def has_room_in_indexes(index_state: Array) -> bool:
    for index in range(len(index_state)):  # noqa: SIM110 - numba has no all()
        if 2 * index_state[index, KEYS] > index_state[index, MASK]:
            return False
    return True


@inlined
def note(
    nodes: Array, derivations: Array, counters: Array, longest: int, rule: int, length: int, head: int, work: Array
) -> int:
    """Record a derivation in the lists of its head and of its body."""
    number = counters[DERIVATIONS]
    counters[DERIVATIONS] = number + 1
    derivations[number, HEAD] = head
    derivations[number, RULE] = rule
    derivations[number, NEXT_OF_HEAD] = nodes[head, FIRST]
    nodes[head, FIRST] = number
    for atom in range(length):
        node = work[MATCHED, atom]
        derivations[number, BODY + atom] = node
        derivations[number, BODY + longest + atom] = nodes[node, USES]
        nodes[node, USES] = number * longest + atom
    for atom in range(length, longest):
        derivations[number, BODY + atom] = NOTHING
    return number
