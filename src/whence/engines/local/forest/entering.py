"""Rows of inputs as the kernels take them, from rows and from the integers of another forest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import NOTHING, Array
from whence.engines.local.forest.rows import Decoder, ForestDelta
from whence.engines.local.forest.values import ValueColumn
from whence.model.schema import Relation
from whence.model.types import Row, Type, Value
from whence.model.updates import Delta


class Cells(NamedTuple):
    """Rows of an input: their interned columns, and one cost each where the program has costs."""

    ids: Array
    costs: Array


class Entrance:
    """The way in for one relation. All its columns are interned, one of them may be a cost besides."""

    def __init__(self, interner: Interner, relation: Relation, value: ValueColumn | None, costs: Array) -> None:
        """`costs` is an example of an array of costs, or of none."""
        self._interner = interner
        self._types = [column.type for column in relation.columns]
        self._value = value
        self._costs = costs
        self._translation: _Translation | None = None

    def changed(self, delta: Delta, counts: Mapping[Row, int]) -> tuple[Cells, Cells]:
        """What comes and what goes, when these counts change."""
        if isinstance(delta, ForestDelta):
            return self._translated(delta.decoder, *delta.come), self._translated(delta.decoder, *delta.gone)
        come: list[Row] = []
        gone: list[Row] = []
        for row, change in delta.items():
            before = counts.get(row, 0)
            if before <= 0 < before + change:
                come.append(row)
            elif before + change <= 0 < before:
                gone.append(row)
        return self.cells(come), self.cells(gone)

    def cells(self, rows: Sequence[Row]) -> Cells:
        ids = self._interner.rows(rows, self._types, range(len(self._types)))
        value = self._value
        return Cells(ids, self._numbers([] if value is None else [row[value.position] for row in rows], len(rows)))

    def _translated(self, decoder: Decoder, columns: Array, costs: Sequence[Value]) -> Cells:
        """The same for rows of another forest, most of whose values have come in before."""
        if self._translation is None or self._translation.source is not decoder.interner:
            self._translation = _Translation(decoder.interner, self._interner)
        ids = np.empty((len(columns), len(self._types)), np.int32)
        for at, position in enumerate(decoder.positions):
            ids[:, position] = self._translation.ids(columns[:, at], self._types[position])
        if decoder.cost is not None:
            ids[:, decoder.cost] = self._interner.rows([(cost,) for cost in costs], [self._types[decoder.cost]], [0])[
                :, 0
            ]
        value = self._value
        return Cells(
            ids, self._numbers([] if value is None else self._interner.decode(ids[:, value.position]), len(ids))
        )

    def _numbers(self, values: Sequence[Value], count: int) -> Array:
        if not len(self._costs):
            return self._costs
        if self._value is None:
            return np.zeros(count, self._costs.dtype)
        return np.array(self._value.encode(values), self._costs.dtype)


class _Translation:
    """What the integers of one interner are in another."""

    def __init__(self, source: Interner, target: Interner) -> None:
        self.source = source
        self._target = target
        # NULL is 0 everywhere.
        self._known = np.zeros(1, np.int32)

    def ids(self, column: Array, type_: Type) -> Array:
        if len(column) and (highest := int(column.max())) >= len(self._known):
            more = np.full(2 * highest + 1 - len(self._known), NOTHING, np.int32)
            self._known = np.concatenate([self._known, more])
        found = self._known[column]
        unknown = found == NOTHING
        if unknown.any():
            new = np.unique(column[unknown])
            values = [(value,) for value in self.source.decode(new)]
            self._known[new] = self._target.rows(values, [type_], [0])[:, 0]
            found = self._known[column]
        return found
