"""Rows and changes that came as columns, of Arrow or of lists, and stay so until somebody reads them one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from typing import TYPE_CHECKING, overload

from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import CountedDelta

if TYPE_CHECKING:
    import pyarrow as pa


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
        total = sum(self.counts)
        # Mostly all rows come, which is seen at once.
        coming = total if min(self.counts, default=1) > 0 else sum([count for count in self.counts if count > 0])
        return coming, coming - total

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


class ArrowRows(Sequence[Row]):
    """Rows in arrays of just the types that Arrow has for a relation's columns, each value checked."""

    def __init__(self, relation: Relation, arrays: Sequence[pa.Array]) -> None:
        self.relation = relation
        self._arrays: Sequence[pa.Array] | Callable[[], Sequence[pa.Array]] = arrays
        self._length = len(arrays[0])

    @property
    def arrays(self) -> Sequence[pa.Array]:
        return self._arrays() if callable(self._arrays) else self._arrays

    def borrow(self, arrays: Callable[[], Sequence[pa.Array]]) -> None:
        """From now on the rows are kept elsewhere, and read from there each time."""
        self._arrays = arrays
        self.__dict__.pop("_rows", None)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        return self._rows[at]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def values(self) -> list[list[Value]]:
        """The values, column by column."""
        return [
            column.type.from_arrow(array.to_pylist())
            for column, array in zip(self.relation.columns, self.arrays, strict=True)
        ]

    @cached_property
    def _rows(self) -> list[Row]:
        return list(zip(*self.values(), strict=True))


class ArrowDelta(CountedDelta):
    """Rows that all come, or all go. As a mapping it has as many entries as rows as long as these are all different."""

    def __init__(self, rows: ArrowRows, weight: int) -> None:
        self.rows = rows
        self.weight = weight

    def __getitem__(self, row: Row) -> int:
        return self._counts[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def totals(self) -> tuple[int, int]:
        return (len(self), 0) if self.weight > 0 else (0, len(self))

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        return self.counted.columns()

    @cached_property
    def counted(self) -> CountedRows:
        """The same with each row once."""
        import pyarrow as pa

        names = [str(at) for at in range(len(self.rows.relation.columns))]
        table = pa.Table.from_arrays(list(self.rows.arrays), names)
        # Without threads groups are in the order of their first rows.
        different = table.group_by(names, use_threads=False).aggregate([([], "count_all")])
        if len(different) == len(table):
            return CountedRows(self.rows, [self.weight] * len(table))
        arrays = [different.column(name).combine_chunks() for name in names]
        counts = different.column("count_all").to_pylist()
        return CountedRows(ArrowRows(self.rows.relation, arrays), [count * self.weight for count in counts])

    @property
    def _counts(self) -> Mapping[Row, int]:
        return self.counted.as_rows


class CountedRows(CountedColumns):
    """Rows in Arrow columns that are all different."""

    def __init__(self, rows: ArrowRows, counts: Sequence[int]) -> None:
        super().__init__(counts)
        self.rows = rows

    def value_columns(self) -> Sequence[Sequence[Value]]:
        return self.rows.values()
