"""Reading a forest without changing it: rows by some of their columns, and the derivations behind a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from whence.engines.local.forest.compiling import Compiled
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import (
    ALIVE,
    BODY,
    BODY_LENGTH,
    COLUMNS,
    FIRST,
    HEAD_RELATION,
    INDEX,
    INDEX_COLUMNS,
    INDEX_LINK,
    INDEX_WIDTH,
    INDEXES,
    LIVE,
    MASK,
    NEXT_OF_HEAD,
    NODES,
    NOTHING,
    RELATION,
    RULE,
    START,
    STATUS,
    STORED,
    Forest,
    Rules,
)
from whence.model.schema import Relation
from whence.model.types import Row, Value

_WORD = (1 << 64) - 1


class Use(NamedTuple):
    """A derivation: the number of its rule in the component, and the rows of the rule's atoms."""

    rule: int
    body: tuple[Row, ...]


class Reader:
    """A forest as it is between two commits."""

    def __init__(
        self, forest: Forest, rules: Rules, compiled: Compiled, interner: Interner, relations: Mapping[str, Relation]
    ) -> None:
        self._forest = forest
        self._rules = rules
        self._compiled = compiled
        self._interner = interner
        self._relations = relations

    def live(self, node: int) -> Use:
        """The derivation by which a tuple of the component lives."""
        return self._use(int(self._forest.nodes[node, LIVE]))

    def derivations(self, node: int) -> list[Use] | None:
        """All derivations of a tuple; None where rules have some that are not kept."""
        relation = int(self._forest.nodes[node, RELATION])
        heads = self._rules.heads
        if self._compiled.values or any(not head[STORED] for head in heads.tolist() if head[HEAD_RELATION] == relation):
            return None
        found: list[Use] = []
        number = int(self._forest.nodes[node, FIRST])
        while number != NOTHING:
            if all(self._is_alive(part) for part in self._body(number)):
                found.append(self._use(number))
            number = int(self._forest.derivations[number, NEXT_OF_HEAD])
        return found

    def matching(self, relation: str, positions: Sequence[int], values: Sequence[Value]) -> Iterator[Row]:
        """The rows that have these values at these positions, of which there is at least one."""
        columns = self._compiled.positions[relation]
        types = [column.type for column in self._relations[relation].columns]
        wanted = dict(zip(positions, values, strict=True))
        ids: dict[int, int] = {}
        for column, position in enumerate(columns):
            if position in wanted:
                known = self._interner.known(wanted[position], types[position])
                if known is None:
                    return
                ids[column] = known
        for node in self._candidates(self._compiled.names.index(relation), ids):
            row = self.row(node)
            if all(row[position] == value for position, value in wanted.items()):
                yield row

    def row(self, node: int) -> Row:
        """The row of a tuple, of the component or of what it reads."""
        name = self._compiled.names[self._forest.nodes[node, RELATION]]
        positions = self._compiled.positions[name]
        ids = self._forest.nodes[node, COLUMNS : COLUMNS + len(positions)].tolist()
        values = self._interner.values
        value = self._compiled.values.get(name)
        if value is None:
            return tuple([values[each] for each in ids])
        row: list[Value] = [None] * len(self._relations[name].columns)
        for position, each in zip(positions, ids, strict=True):
            row[position] = values[each]
        row[value.position] = value.decode(self._forest.best[node : node + 1])[0]
        return tuple(row)

    def _use(self, number: int) -> Use:
        rule = int(self._forest.derivations[number, RULE])
        return Use(rule, tuple([self.row(node) for node in self._body(number)]))

    def _body(self, number: int) -> list[int]:
        length = int(self._rules.heads[self._forest.derivations[number, RULE], BODY_LENGTH])
        nodes: list[int] = self._forest.derivations[number, BODY : BODY + length].tolist()
        return nodes

    def _is_alive(self, node: int) -> bool:
        return bool(self._forest.nodes[node, STATUS] & ALIVE)

    def _candidates(self, relation: int, ids: Mapping[int, int]) -> Iterator[int]:
        """Tuples that may have these values, by the widest index that there is for them; else all are looked at."""
        first, number = self._rules.relations[relation, INDEX], self._rules.relations[relation, INDEXES]
        best: tuple[int, list[int]] | None = None
        for index in range(int(first), int(first + number)):
            width = int(self._rules.indexes[index, INDEX_WIDTH])
            columns = self._rules.indexes[index, INDEX_COLUMNS : INDEX_COLUMNS + width].tolist()
            if columns and all(column in ids for column in columns) and (best is None or width > len(best[1])):
                best = index, columns
        if best is not None:
            return self._chain(best[0], best[1], [ids[column] for column in best[1]])
        nodes = self._forest.nodes[: self._forest.counters[NODES]]
        fits = (nodes[:, RELATION] == relation) & (nodes[:, STATUS] & ALIVE != 0)
        for column, each in ids.items():
            fits &= nodes[:, COLUMNS + column] == each
        return iter(np.flatnonzero(fits).tolist())

    def _chain(self, index: int, columns: Sequence[int], key: Sequence[int]) -> Iterator[int]:
        """As the kernels find a key in an index, and from there one tuple after the other."""
        nodes, slots = self._forest.nodes, self._forest.index_slots
        start, mask = int(self._forest.index_state[index, START]), int(self._forest.index_state[index, MASK])
        hash_ = len(columns) + 1
        for part in key:
            hash_ = ((hash_ ^ part) * 0x9E3779B97F4A7C15) & _WORD
            hash_ ^= hash_ >> 32
        slot = hash_ & mask
        while (node := int(slots[start + slot])) != NOTHING:
            if all(nodes[node, COLUMNS + column] == part for column, part in zip(columns, key, strict=True)):
                break
            slot = (slot + 1) & mask
        link = int(self._rules.indexes[index, INDEX_LINK])
        while node != NOTHING:
            if self._is_alive(node):
                yield node
            node = int(nodes[node, link])
