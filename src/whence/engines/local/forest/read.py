"""Reading a forest without changing it: rows by some of their columns, and the derivations behind a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whence.engines.local.forest import layout
from whence.engines.local.forest.layout import ForestArrays, RuleTables
from whence.engines.local.forest.program import Compiled
from whence.engines.local.forest.values import Interner
from whence.model.schema import Relation
from whence.model.types import Row, Value

_WORD = (1 << 64) - 1


class Use(NamedTuple):
    """A derivation: the number of its rule in the component, and the rows of the rule's atoms."""

    rule: int
    body: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class ForestReader:
    """A forest as it is between two commits."""

    forest: ForestArrays
    rules: RuleTables
    compiled: Compiled
    interner: Interner
    relations: Mapping[str, Relation]

    def live(self, node: int) -> Use:
        """The derivation by which a tuple of the component lives."""
        return self._use(int(self.forest.nodes[node, layout.LIVE]))

    def derivations(self, node: int) -> list[Use] | None:
        """All derivations of a tuple; None where rules have some that are not kept."""
        relation = int(self.forest.nodes[node, layout.RELATION])
        heads = self.rules.heads[self.rules.heads[:, layout.HEAD_RELATION] == relation]
        if self.compiled.values or not heads[:, layout.STORED].all():
            return None
        found: list[Use] = []
        number = int(self.forest.nodes[node, layout.FIRST])
        while number != layout.NOTHING:
            # A lost one stays in the list of its head until the list is walked or the forest is packed.
            if self.forest.derivations[number, layout.HEAD] == node:
                found.append(self._use(number))
            number = int(self.forest.derivations[number, layout.NEXT_OF_HEAD])
        return found

    def matching(self, relation: str, positions: Sequence[int], values: Sequence[Value]) -> Iterator[Row]:
        """The rows that have these values at these positions, of which there is at least one."""
        columns = self.compiled.positions[relation]
        types = [column.type for column in self.relations[relation].columns]
        wanted = dict(zip(positions, values, strict=True))
        ids: dict[int, int] = {}
        for column, position in enumerate(columns):
            if position in wanted:
                known = self.interner.known(wanted[position], types[position])
                if known is None:
                    return
                ids[column] = known
        for node in self._candidates(self.compiled.names.index(relation), ids):
            row = self.row(node)
            if all(row[position] == value for position, value in wanted.items()):
                yield row

    def row(self, node: int) -> Row:
        """The row of a tuple, of the component or of what it reads."""
        name = self.compiled.names[self.forest.nodes[node, layout.RELATION]]
        positions = self.compiled.positions[name]
        ids = self.forest.nodes[node, layout.COLUMNS : layout.COLUMNS + len(positions)].tolist()
        values = self.interner.values
        value = self.compiled.values.get(name)
        if value is None:
            return tuple([values[each] for each in ids])
        row: list[Value] = [None] * len(self.relations[name].columns)
        for position, each in zip(positions, ids, strict=True):
            row[position] = values[each]
        row[value.position] = value.decode(self.forest.best[node : node + 1])[0]
        return tuple(row)

    def _use(self, number: int) -> Use:
        rule = int(self.forest.derivations[number, layout.RULE])
        body = self.forest.derivations[number, layout.BODY : layout.BODY + self.compiled.lengths[rule]]
        return Use(rule, tuple([self.row(node) for node in body.tolist()]))

    def _candidates(self, relation: int, ids: Mapping[int, int]) -> Iterator[int]:
        """Tuples that may have these values, by the widest index that there is for them; else all are looked at."""
        first, number = self.rules.relations[relation, layout.INDEX], self.rules.relations[relation, layout.INDEXES]
        best: tuple[int, list[int]] | None = None
        for index in range(int(first), int(first + number)):
            width = int(self.rules.indexes[index, layout.INDEX_WIDTH])
            columns = self.rules.indexes[index, layout.INDEX_COLUMNS : layout.INDEX_COLUMNS + width].tolist()
            if columns and all(column in ids for column in columns) and (best is None or width > len(best[1])):
                best = index, columns
        if best is not None:
            return self._chain(best[0], best[1], [ids[column] for column in best[1]])
        nodes = self.forest.nodes[: self.forest.counters[layout.NODES]]
        fits = (nodes[:, layout.RELATION] == relation) & (nodes[:, layout.STATUS] & layout.ALIVE != 0)
        for column, each in ids.items():
            fits &= nodes[:, layout.COLUMNS + column] == each
        return iter(np.flatnonzero(fits).tolist())

    def _chain(self, index: int, columns: Sequence[int], key: Sequence[int]) -> Iterator[int]:
        """As the kernels find a key in an index, and from there one tuple after the other."""
        nodes, slots = self.forest.nodes, self.forest.index_slots
        state = self.forest.index_state[index]
        start, mask = int(state[layout.START]), int(state[layout.MASK])
        hash_ = len(columns) + 1
        for part in key:
            hash_ = ((hash_ ^ part) * 0x9E3779B97F4A7C15) & _WORD
            hash_ ^= hash_ >> 32
        slot = hash_ & mask
        while (node := int(slots[start + slot])) != layout.NOTHING:
            if all(nodes[node, layout.COLUMNS + column] == part for column, part in zip(columns, key, strict=True)):
                break
            slot = (slot + 1) & mask
        link = int(self.rules.indexes[index, layout.INDEX_LINK])
        while node != layout.NOTHING:
            if nodes[node, layout.STATUS] & layout.ALIVE:
                yield node
            node = int(nodes[node, link])
