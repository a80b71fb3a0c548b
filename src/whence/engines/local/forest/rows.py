"""Rows of a forest as others read them: decoded when somebody looks, not before."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence

from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import Array
from whence.model.types import Row, Type, Value
from whence.model.updates import CountedDelta


class Decoder:
    """Interned columns, and a column of costs where the relation has one, to rows."""

    def __init__(self, interner: Interner, types: Sequence[Type], positions: Sequence[int], cost: int | None) -> None:
        self.interner = interner
        self.types = types
        self.positions = positions
        self.cost = cost

    def rows(self, columns: Array, costs: Sequence[Value]) -> list[Row]:
        return list(zip(*self.cells(columns, costs), strict=True))

    def cells(self, columns: Array, costs: Sequence[Value]) -> list[Sequence[Value]]:
        """The rows column by column."""
        cells: list[Sequence[Value]] = [()] * len(self.types)
        for at, position in enumerate(self.positions):
            cells[position] = self.interner.decode(columns[:, at])
        if self.cost is not None:
            cells[self.cost] = costs
        return cells


class ForestDelta(CountedDelta):
    """Rows that come and rows that go. Copies of their integers are kept, not the rows."""

    def __init__(
        self, decoder: Decoder, come: tuple[Array, Sequence[Value]], gone: tuple[Array, Sequence[Value]]
    ) -> None:
        self.decoder = decoder
        self.come = come
        self.gone = gone
        self._rows: dict[Row, int] | None = None

    @property
    def totals(self) -> tuple[int, int]:
        return len(self.come[0]), len(self.gone[0])

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        come, gone = self.decoder.cells(*self.come), self.decoder.cells(*self.gone)
        counts = [1] * len(self.come[0]) + [-1] * len(self.gone[0])
        return [[*more, *less] for more, less in zip(come, gone, strict=True)], counts

    def _decoded(self) -> Mapping[Row, int]:
        if self._rows is None:
            self._rows = dict.fromkeys(self.decoder.rows(*self.gone), -1)
            self._rows.update(dict.fromkeys(self.decoder.rows(*self.come), 1))
        return self._rows

    def __getitem__(self, row: Row) -> int:
        return self._decoded()[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return sum(self.totals)

    def items(self) -> ItemsView[Row, int]:
        return self._decoded().items()
