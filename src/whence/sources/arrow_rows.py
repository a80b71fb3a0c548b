"""Arrow tables whose columns can be taken as they are: every value is checked, none of them by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whence.columns.arrow import ArrowRows
from whence.errors import DataError
from whence.functions.widening import is_integer
from whence.model.schema import Column, Relation, column_reader
from whence.model.types import BOOLEAN, DATE, DOUBLE, REAL, STRING, TIMESTAMP, DecimalType

if TYPE_CHECKING:
    import pyarrow as pa

# In fewer rows there is nothing to gain.
FEW_ROWS = 64
# The first and the last moment of the calendar, in days and in microseconds since 1970.
_DAYS = (-719_162, 2_932_896)
_MICROSECONDS = (-62_135_596_800_000_000, 253_402_300_799_999_999)


def arrow_rows(table: pa.Table, positions: list[int], relation: Relation) -> ArrowRows | None:
    """The rows of a table, which has the relation's columns at these positions; None to look at them one by one.

    That tells which row does not fit, and takes more than this does.
    """
    if table.num_rows < FEW_ROWS or not relation.columns:
        return None
    arrays = []
    for position, column in zip(positions, relation.columns, strict=True):
        array = _taken(table.column(position), column)
        if array is None:
            return None
        arrays.append(array)
    return ArrowRows(relation, arrays)


def listed_rows(rows: Sequence[Sequence[Any]], relation: Relation) -> ArrowRows | None:
    """The same for rows of as many values as there are columns."""
    import pyarrow as pa

    arrays = []
    for at, column in enumerate(relation.columns):
        values: Sequence[Any] = [row[at] for row in rows]
        try:
            if is_integer(column.type) and set(map(type, values)) <= {int, type(None)}:
                # Arrow sees whether they are in range.
                arrays.append(pa.array(values))
            else:
                arrays.append(column.type.to_arrow(column_reader(column)(values)))
        except (DataError, pa.ArrowException, ValueError, TypeError, OverflowError):
            return None
    table = pa.Table.from_arrays(arrays, relation.column_names)
    return arrow_rows(table, list(range(relation.arity)), relation)


def _taken(values: pa.ChunkedArray, column: Column) -> pa.Array | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not _is_close(values.type, column) or (values.null_count and not column.nullable):
        return None
    try:
        array = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
        array = array if array.type == kind.arrow() else array.cast(kind.arrow())
        if kind == STRING:
            array.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if kind in (DOUBLE, REAL):
        if not pc.all(pc.is_finite(array)).as_py() and array.null_count < len(array):
            return None
        # There is no negative zero.
        array = pc.add(array, pa.scalar(0.0, array.type))
    if kind in (DATE, TIMESTAMP):
        least, most = _DAYS if kind == DATE else _MICROSECONDS
        ends = pc.min_max(array.cast("int32" if kind == DATE else "int64")).as_py()
        if ends["min"] is not None and (ends["min"] < least or ends["max"] > most):
            return None
    return array


def _is_close(given: pa.DataType, column: Column) -> bool:
    """Whether a cast that loses nothing gives just the values that these are one by one."""
    import pyarrow as pa

    kind, is_a = column.type, pa.types
    if kind == BOOLEAN:
        return bool(is_a.is_boolean(given))
    if is_integer(kind):
        return bool(is_a.is_integer(given))
    if kind == REAL:
        return bool(given == pa.float32())
    if kind == DOUBLE:
        return given in (pa.float64(), pa.float32())
    if kind == STRING:
        texts = (pa.string(), pa.large_string(), pa.string_view())
        return given in texts or (is_a.is_dictionary(given) and given.value_type in texts)
    if kind == DATE:
        return bool(given == pa.date32())
    if kind == TIMESTAMP:
        # Others than these may have to be rounded, and one with a zone is told in UTC.
        return bool(is_a.is_timestamp(given)) and given.unit in ("s", "ms", "us")
    return isinstance(kind, DecimalType) and is_a.is_decimal(given) and given.scale <= kind.scale
