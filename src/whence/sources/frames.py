"""Arrow tables, and what turns into one: record batches, pandas and other data frames."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from whence.errors import DataError
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, INT
from whence.sources.columns import column_positions

if TYPE_CHECKING:
    import pyarrow as pa


# So many values tell whether a column repeats itself: in a sample, each value comes so often on average.
SAMPLE = 10_000
SHARED_AT = 4


def arrow_table(rows: object) -> pa.Table | None:
    """The rows as an Arrow table if they come in columns, else None."""
    if not (_is_pandas(rows) or hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__")):
        return None
    # Who hands over Arrow data has loaded Arrow; everyone else need not.
    import pyarrow as pa

    try:
        if _is_pandas(rows):
            # A data frame's index numbers its rows; it is not a column of them.
            return pa.Table.from_pandas(rows, preserve_index=False)
        if isinstance(rows, pa.RecordBatch):
            return pa.Table.from_batches([rows])
        return pa.table(rows)
    except (pa.ArrowException, TypeError) as error:
        raise DataError(f"these rows do not turn into an Arrow table: {error}") from None


def frame_rows(table: pa.Table, relation: Relation) -> Iterator[Sequence[object]]:
    """The rows of the table, in the relation's column order."""
    positions = column_positions(table.column_names, relation, f"the table for {relation.name!r}")
    columns = [
        _values(table.column(position), column) for position, column in zip(positions, relation.columns, strict=True)
    ]
    return zip(*columns, strict=True)


def _values(values: pa.ChunkedArray, column: Column) -> list[object]:
    import pyarrow as pa

    target = None
    if pa.types.is_timestamp(values.type):
        target = pa.timestamp("us", values.type.tz)
    elif pa.types.is_floating(values.type) and column.type in (INT, BIGINT):
        # pandas turns integers into floats as soon as one of them is missing.
        target = pa.int64()
    try:
        return _objects(values if target is None else values.cast(target))
    except pa.ArrowInvalid as error:
        raise DataError(f"column {column.name!r} must be {column.type}: {error}") from None


def _objects(values: pa.ChunkedArray) -> list[object]:
    """The values as Python objects. Where values come again and again, rows share them: less to make and to hold."""
    import pyarrow as pa

    sample = values.slice(0, SAMPLE)
    is_plain = not (pa.types.is_nested(values.type) or isinstance(values.type, pa.BaseExtensionType))
    if not is_plain or len(sample.unique()) > len(sample) // SHARED_AT:
        return list(values.to_pylist())
    encoded = values.combine_chunks().dictionary_encode()
    # NULL has no place in the dictionary, and none among the positions in it.
    objects: dict[int | None, object] = {None: None, **dict(enumerate(encoded.dictionary.to_pylist()))}
    return [objects[position] for position in encoded.indices.to_pylist()]


def _is_pandas(rows: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(rows, pandas.DataFrame)
