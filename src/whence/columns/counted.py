"""Changes that are columns of values, with a count for each row, and become rows where somebody asks for them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import ItemsView, Iterator, Sequence, ValuesView
from functools import cached_property

from whence.model.types import Row, Value
from whence.model.updates import CountedDelta


class CountedColumns(CountedDelta):
    """Rows that are all different, and how often each of them comes or goes."""

    def __init__(self, counts: Sequence[int]) -> None:
        self.counts = counts

    @abstractmethod
    def value_columns(self) -> Sequence[Sequence[Value]]: ...

    def __getitem__(self, row: Row) -> int:
        return self.as_rows[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.as_rows)

    def __len__(self) -> int:
        return len(self.counts)

    def items(self) -> ItemsView[Row, int]:
        return self.as_rows.items()

    def values(self) -> ValuesView[int]:
        return self.as_rows.values()

    @cached_property
    def totals(self) -> tuple[int, int]:
        coming = sum([count for count in self.counts if count > 0])
        return coming, coming - sum(self.counts)

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        return self.value_columns(), self.counts

    @cached_property
    def as_rows(self) -> dict[Row, int]:
        return dict(zip(zip(*self.value_columns(), strict=True), self.counts, strict=True))


class ListedColumns(CountedColumns):
    """The values of each column in a list. There is at least one column."""

    def __init__(self, columns: Sequence[Sequence[Value]], counts: Sequence[int]) -> None:
        super().__init__(counts)
        self._columns = columns

    def value_columns(self) -> Sequence[Sequence[Value]]:
        return self._columns
