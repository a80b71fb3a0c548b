"""The rows of a table as Python has them, made where somebody asks for them."""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterator, Mapping, Sequence, ValuesView
from decimal import Decimal
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from whence.columns import NotInColumnsError
from whence.columns.arrow import ArrowDelta, ArrowRows, CountedColumns, CountedRows
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Array, DecimalEncoding, DoubleEncoding, Encoding
from whence.columns.numbered_rows import as_words
from whence.columns.order import in_order
from whence.columns.table import ColumnTable
from whence.functions.widening import is_integer
from whence.model.schema import Relation
from whence.model.types import Row, Value

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are made at a time.
PIECE = 10_000
# The values of so few rows are taken one by one: an array for each column would take longer.
FEW_ROWS = 8


@runtime_checkable
class EncodesColumns(Protocol):
    """A change that has a shorter way to columns of numbers than over its values."""

    def encoded(self, encodings: Sequence[Encoding]) -> list[Array]: ...


def rows_of(table: ColumnTable, numbers: Array) -> list[Row]:
    """The rows of these numbers."""
    if not table.width:
        return [()] * len(numbers)
    decoded = [each.decode(table.column(at, numbers)) for at, each in enumerate(table.encodings)]
    return list(zip(*decoded, strict=True))


def encoded_rows(encodings: Sequence[Encoding], rows: Sequence[Row]) -> Array:
    """Rows as columns of numbers, in one array of integers."""
    # Not with zip(*rows), whose iterators, one for each row, Python's collector goes through again and again.
    columns = [[row[at] for row in rows] for at in range(len(encodings))]
    if len(rows) <= FEW_ROWS:
        numbers = [[*map(encoding.number, values)] for encoding, values in zip(encodings, columns, strict=True)]
        return np.array(numbers, INTEGER).reshape(len(encodings), len(rows))
    encoded = [encoding.encode(values) for encoding, values in zip(encodings, columns, strict=True)]
    return as_words(encoded, len(rows))


def encoded_arrow(encodings: Sequence[Encoding], rows: ArrowRows) -> Array:
    columns = [encoding.from_arrow(array) for encoding, array in zip(encodings, rows.arrays, strict=True)]
    return as_words(columns, len(rows))


def encoded_columns(encodings: Sequence[Encoding], delta: CountedColumns) -> Array:
    if isinstance(delta, CountedRows):
        return encoded_arrow(encodings, delta.rows)
    if isinstance(delta, EncodesColumns):
        columns = delta.encoded(encodings)
    else:
        columns = [encoding.encode(values) for encoding, values in zip(encodings, delta.value_columns(), strict=True)]
    return as_words(columns, len(delta))


def has_all(table: ColumnTable, rows: ArrowRows) -> bool:
    """Whether the rows are there, each as often as it is among them. If so, they are likely to go."""
    try:
        words = encoded_arrow(table.encodings, rows)
    except NotInColumnsError:
        return False
    numbers = table.find(words)
    if not table.are_there(numbers):
        return False
    table.remember(rows, numbers, words)
    return True


def counts_of(table: ColumnTable, rows: list[Row]) -> list[int]:
    """How often each of some rows is there. If all are, they are likely to go."""
    words = encoded_rows(table.encodings, rows)
    numbers = table.find(words)
    counts: list[int] = table.counts(numbers).tolist()
    if 0 not in counts:
        table.remember(rows, numbers, words)
    return counts


def encoded_keys(encoding: Encoding, values: Sequence[Value]) -> tuple[Array, Array | None]:
    """Values that a column is to hold, and a mask of those that it can: Python takes equal numbers for the same."""
    if set(map(type, values)) <= {encoding.type.python, type(None)} and not isinstance(encoding, DecimalEncoding):
        return encoding.encode(values), None
    converted = [_converted(encoding, value) for value in values]
    fits = np.array([value is None or given is not None for value, given in zip(values, converted, strict=True)])
    return encoding.encode(converted), None if fits.all() else fits


def _converted(encoding: Encoding, value: Any) -> Any:
    """The value as one of the column's, or None where it is none."""
    if value is None or isinstance(value, str):
        return value
    if is_integer(encoding.type):
        whole = int(value)
        return whole if whole == value and whole in encoding.type.limits else None
    if isinstance(encoding, DoubleEncoding):
        return float(value) if float(value) == value else None
    if isinstance(encoding, DecimalEncoding):
        units = Decimal(value).scaleb(encoding.scale)
        return value if units == int(units) else None
    return value


class TableRows(Mapping[Row, int]):
    """The rows that are there, and how often."""

    def __init__(self, table: ColumnTable) -> None:
        self.table = table

    def __getitem__(self, row: Row) -> int:
        if len(row) != self.table.width:
            raise KeyError(row)
        try:
            count = counts_of(self.table, [row])[0]
        except (NotInColumnsError, TypeError, ValueError, OverflowError, AttributeError):
            # Nothing else than rows of this relation is asked for, but for a number that columns do not hold.
            raise KeyError(row) from None
        if count:
            return count
        raise KeyError(row)

    def __iter__(self) -> Iterator[Row]:
        numbers = self.table.live()
        for start in range(0, len(numbers), PIECE):
            yield from rows_of(self.table, numbers[start : start + PIECE])

    def __len__(self) -> int:
        return self.table.present

    def items(self) -> ItemsView[Row, int]:
        return _Items(self)

    def values(self) -> ValuesView[int]:
        return _Values(self)

    def has_all(self, rows: ArrowRows) -> bool:
        """Whether rows are there, each as often as it is among them."""
        return has_all(self.table, rows)

    def of(self, rows: Collection[Row]) -> list[int]:
        """How often each of many rows is there, those of a change among them."""
        table = self.table
        if isinstance(rows, ArrowDelta):
            rows = rows.counted
        try:
            if isinstance(rows, ColumnDelta) and rows.encodings == table.encodings:
                words = rows.words
            elif isinstance(rows, CountedColumns):
                words = encoded_columns(table.encodings, rows)
            else:
                return counts_of(table, list(rows))
        except NotInColumnsError:
            return [self.get(row, 0) for row in rows]
        counts: list[int] = table.counts(table.find(words)).tolist()
        return counts

    def counted(self, relation: Relation) -> CountedRows:
        """All rows of a relation, and how often each is there."""
        numbers = self.table.live()
        columns = zip(self.table.encodings, self.table.columns(numbers), strict=True)
        rows = ArrowRows(relation, [encoding.to_arrow(column) for encoding, column in columns])
        return CountedRows(rows, self.table.counts(numbers).tolist())

    def arrow(self, *, is_sorted: bool) -> list[pa.Array]:
        """The columns, with each row as often as it is there."""
        table = self.table
        numbers = table.live()
        counts = table.counts(numbers)
        if not table.is_set:
            numbers, counts = numbers[counts > 0], counts[counts > 0]
        columns = table.columns(numbers)
        places = in_order(table.encodings, columns, len(numbers)) if is_sorted else np.arange(len(numbers))
        if not table.is_set:
            places = np.repeat(places, counts[places])
        return [each.to_arrow(column[places]) for each, column in zip(table.encodings, columns, strict=True)]


class _Items(ItemsView[Row, int]):
    """Goes through the rows without looking them up."""

    _mapping: TableRows

    def __iter__(self) -> Iterator[tuple[Row, int]]:
        return zip(self._mapping, self._mapping.values(), strict=True)


class _Values(ValuesView[int]):
    _mapping: TableRows

    def __iter__(self) -> Iterator[int]:
        table = self._mapping.table
        if table.is_set:
            return repeat(1, table.present)
        return iter(table.counts(table.live()).tolist())
