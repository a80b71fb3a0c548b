"""Rows that a program hands over: tuples, dicts, Arrow tables, data frames.

Columns that come by name are matched with those of a relation, and every value is checked.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, cast

from whence.errors import DataError, did_you_mean, shortened, shown
from whence.functions.widening import is_integer
from whence.model.schema import Column, Relation, column_reader, defaults, reader
from whence.model.types import Row, Value

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.columns.arrow import ArrowRows


LONGEST_ROW = 200
# Rows are checked in pieces, so that what is read from a file is not held twice.
PIECE = 10_000
# So few rows are checked one by one: taking them apart into columns would cost more.
FEW = 8
KNOWN_RELATIONS = 1_000


def column_positions(names: Sequence[str], relation: Relation, place: str) -> list[int]:
    """Where each column of the relation is among `names`, which must be the same columns in any order.

    As in SQL, letter case does not matter. `place` says in an error where the names come from.
    """
    wanted = {column.lower(): column for column in relation.column_names}
    found: dict[str, int] = {}
    for position, name in enumerate(names):
        folded = name.lower()
        if folded not in wanted:
            raise DataError(
                f"{relation.name!r} has no column {name!r}, which is in {place}",
                hint=did_you_mean(name, relation.column_names) or f"it has {listed(relation.column_names)}",
            )
        if folded in found:
            raise DataError(f"column {wanted[folded]!r} comes twice in {place}")
        found[folded] = position
    missing = [column for folded, column in wanted.items() if folded not in found]
    if missing:
        raise DataError(f"{place} lacks {listed(missing)}", hint="give every column; None stands for NULL")
    return [found[folded] for folded in wanted]


def listed(columns: Sequence[str]) -> str:
    """`column 'a'`, `columns 'a', 'b'`, or `no columns`."""
    if not columns:
        return "no columns"
    return f"column{'' if len(columns) == 1 else 's'} {', '.join(map(repr, columns))}"


def check_rows(
    rows: Iterable[Sequence[object]], relation: Relation, place: Callable[[int], str] = "rows[{}]".format
) -> list[Row]:
    """Rows in column order, with every value as its column holds it. `place` names a row by its index."""
    remaining = iter(rows)
    checked: list[Row] = []
    while piece := list(islice(remaining, PIECE)):
        checked += _by_column(piece, relation) or _one_by_one(piece, relation, place, len(checked))
    return checked


def _by_column(rows: list[Sequence[object]], relation: Relation) -> list[Row] | None:
    """The rows, checked column by column; None if some do not fit, or if there are too few for it to pay."""
    if len(rows) < FEW or set(map(len, rows)) != {relation.arity}:
        return None
    # zip makes an iterator for each row, which Python's collector goes through again and again.
    columns = [[row[at] for row in rows] for at in range(relation.arity)]
    try:
        checked = [read(values) for read, values in zip(_column_readers(relation), columns, strict=True)]
    except DataError:
        return None
    if set(map(type, rows)) == {tuple} and all(map(operator.is_, checked, columns)):
        return cast("list[Row]", rows)
    return list(zip(*checked, strict=True))


def _one_by_one(
    rows: Iterable[Sequence[object]], relation: Relation, place: Callable[[int], str], start: int
) -> list[Row]:
    """The rows, checked so that the first value that does not fit is the one that is complained about."""
    readers = _readers(relation)
    checked = []
    for index, row in enumerate(rows, start):
        if len(row) != len(readers):
            raise DataError(
                f"{relation.name!r} has {listed(relation.column_names)}, and {place(index)} has "
                f"{len(row)} value{'' if len(row) == 1 else 's'}: {row_text(row)}"
            )
        try:
            checked.append(tuple([read(value) for read, value in zip(readers, row, strict=True)]))
        except DataError as error:
            raise DataError(
                f"{error.message}, in {place(index)} for {relation.name!r}: {row_text(row)}", hint=error.hint
            ) from None
    return checked


@lru_cache(maxsize=KNOWN_RELATIONS)
def _readers(relation: Relation) -> list[Callable[[object], Value]]:
    return [reader(column) for column in relation.columns]


@lru_cache(maxsize=KNOWN_RELATIONS)
def _column_readers(relation: Relation) -> list[Callable[[Sequence[object]], Sequence[Value]]]:
    return [column_reader(column) for column in relation.columns]


def row_text(row: Sequence[object]) -> str:
    """A row for a message: as Python writes tuples, and never long."""
    values = ", ".join(shown(value) for value in row[:LONGEST_ROW])
    text = f"({values},)" if len(row) == 1 else f"({values})"
    return text if len(text) <= LONGEST_ROW else text[: LONGEST_ROW - 4] + "...)"


# So many rows are taken as columns: from about as many on, everything is kept in columns.
MANY = 8_192


@dataclass(slots=True)
class RowSource:
    given: Iterable[object]

    def whole(self, relation: Relation) -> ArrowRows | None:
        """All rows as columns, if they are many, and every one of them fits without a closer look."""
        rows = self.given
        if not isinstance(rows, list) or len(rows) < MANY or relation.ttl is not None or relation.window is not None:
            return None
        if not set(map(type, rows)) <= {tuple, list} or set(map(len, rows)) != {relation.arity}:
            return None
        from whence.sources.arrow_rows import listed_rows

        return listed_rows(rows, relation)

    def rows(self, relation: Relation) -> Iterable[Sequence[object]]:
        if isinstance(self.given, list) and set(map(type, self.given)) <= {tuple, list}:
            return self.given
        return self._in_order(relation)

    def place(self, index: int) -> str:
        return f"rows[{index}]"

    def _in_order(self, relation: Relation) -> Iterator[Sequence[object]]:
        for index, row in enumerate(self.given):
            if isinstance(row, Mapping):
                yield _by_name(row, relation, index)
            elif isinstance(row, tuple | list):
                yield row
            else:
                one_row = index == 0 and isinstance(self.given, tuple | list) and len(self.given) == relation.arity
                raise DataError(
                    f"rows for {relation.name!r} must be tuples or dicts, and rows[{index}] is {_kind(row)}",
                    hint=_list_hint(self.given) if one_row else _example(relation),
                )


def row_source(rows: object) -> RowSource | None:
    """Any collection is one of rows, except those that are one value or one row themselves."""
    if isinstance(rows, list) or (isinstance(rows, Iterable) and not isinstance(rows, str | bytes | Mapping)):
        return RowSource(rows)
    return None


def no_rows(rows: object, relation: Relation) -> DataError:
    """What an object that is no rows is told."""
    return DataError(
        f"rows for {relation.name!r} must be a list of rows, not {_kind(rows)}",
        hint=_list_hint(rows) if isinstance(rows, Mapping) else _example(relation),
    )


def _by_name(row: Mapping[object, object], relation: Relation, index: int) -> Sequence[object]:
    place = f"rows[{index}] for {relation.name!r}"
    names, values = [str(key) for key in row], list(row.values())
    if len(names) < relation.arity:
        given = {name.lower() for name in names}
        left_out = {name: value for name, value in defaults(relation).items() if name.lower() not in given}
        names += left_out
        values += left_out.values()
    positions = column_positions(names, relation, place)
    return [values[position] for position in positions]


def _kind(value: object) -> str:
    return f"the {type(value).__name__} {shown(value)}" if isinstance(value, str | int | float) else _typed(value)


def _typed(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _list_hint(row: object) -> str:
    return f"one row is a list of one row: [{shortened(repr(row))}]"


def _example(relation: Relation) -> str:
    names = ", ".join(relation.column_names)
    return f"write [({names}{',' if relation.arity == 1 else ''}), ...]"


# So many values tell whether a column repeats itself: in a sample, each value comes so often on average.
SAMPLE = 10_000
SHARED_AT = 4


@dataclass(frozen=True, slots=True)
class Frame:
    table: pa.Table

    def rows(self, relation: Relation) -> Iterator[Sequence[object]]:
        return frame_rows(self.table, relation)

    def whole(self, relation: Relation) -> ArrowRows | None:
        """All rows at once, where every one of them fits without a closer look."""
        from whence.sources.arrow_rows import arrow_rows

        return arrow_rows(self.table, _positions(self.table, relation), relation)

    def place(self, index: int) -> str:
        return f"rows[{index}]"


def frame_source(rows: object) -> Frame | None:
    # Most rows come so, often one by one.
    table = None if isinstance(rows, list) else _arrow_table(rows)
    return None if table is None else Frame(table)


def _arrow_table(rows: object) -> pa.Table | None:
    """The rows as an Arrow table if they come in columns, else None."""
    if not (_is_pandas(rows) or hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__")):
        return None
    # Who hands over Arrow data has loaded Arrow; everyone else need not.
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
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
    columns = [
        _values(table.column(position), column)
        for position, column in zip(_positions(table, relation), relation.columns, strict=True)
    ]
    return zip(*columns, strict=True)


def _positions(table: pa.Table, relation: Relation) -> list[int]:
    if table.column_names == list(relation.column_names):
        return list(range(relation.arity))
    return column_positions(table.column_names, relation, f"the table for {relation.name!r}")


def zoneless(table: pa.Table) -> pa.Table:
    """With every moment as what a clock shows in UTC, which is what a TIMESTAMP holds."""
    import pyarrow as pa

    kinds = [_zoneless_type(kind) for kind in table.schema.types]
    if kinds == table.schema.types:
        return table
    columns = [column.cast(kind) for column, kind in zip(table.columns, kinds, strict=True)]
    fields = [field.with_type(kind) for field, kind in zip(table.schema, kinds, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _zoneless_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_zoneless_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_zoneless_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        items = kind.item_field.with_type(_zoneless_type(kind.item_type))
        return pa.map_(kind.key_field.with_type(_zoneless_type(kind.key_type)), items)
    return kind


def _values(values: pa.ChunkedArray, column: Column) -> list[object]:
    import pyarrow as pa

    target = _zoneless_type(values.type)
    if pa.types.is_floating(values.type) and is_integer(column.type):
        # pandas turns integers into floats as soon as one of them is missing.
        target = pa.int64()
    try:
        return _objects(values if target == values.type else values.cast(target))
    except (pa.ArrowInvalid, ValueError, OverflowError) as error:
        raise DataError(f"column {column.name!r} must be {column.type}: {error}") from None


def _objects(values: pa.ChunkedArray) -> list[object]:
    """The values as Python objects. Where values come again and again, rows share them: less to make and to hold."""
    import pyarrow as pa

    if len(values) <= FEW:
        return list(values.to_pylist())
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
