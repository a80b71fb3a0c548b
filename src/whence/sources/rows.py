"""Rows that a program hands over: tuples, dicts, Arrow tables, data frames."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import cast

from whence.errors import DataError
from whence.functions.readers import column_reader, reader
from whence.functions.text import shortened, shown
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.sources.columns import column_positions, listed
from whence.sources.frames import arrow_table, frame_rows

LONGEST_ROW = 200
# Rows are checked in pieces, so that what is read from a file is not held twice.
PIECE = 10_000
# So few rows are checked one by one: taking them apart into columns would cost more.
FEW = 8
KNOWN_RELATIONS = 1_000


def read_rows(rows: object, relation: Relation) -> list[Row]:
    """The rows, each of them checked; raises DataError for the first that does not fit."""
    if isinstance(rows, list) and set(map(type, rows)) <= {tuple, list}:
        return check_rows(rows, relation)
    table = arrow_table(rows)
    if table is not None:
        return check_rows(frame_rows(table, relation), relation)
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise DataError(
            f"rows for {relation.name!r} must be a list of rows, not {_kind(rows)}",
            hint=_list_hint(rows) if isinstance(rows, Mapping) else _example(relation),
        )
    return check_rows(_in_order(rows, relation), relation)


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
    columns = list(zip(*rows, strict=True))
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


def _in_order(rows: Iterable[object], relation: Relation) -> Iterator[Sequence[object]]:
    for index, row in enumerate(rows):
        if isinstance(row, Mapping):
            yield _by_name(row, relation, index)
        elif isinstance(row, tuple | list):
            yield row
        else:
            one_row = index == 0 and isinstance(rows, tuple | list) and len(rows) == relation.arity
            raise DataError(
                f"rows for {relation.name!r} must be tuples or dicts, and rows[{index}] is {_kind(row)}",
                hint=_list_hint(rows) if one_row else _example(relation),
            )


def _by_name(row: Mapping[object, object], relation: Relation, index: int) -> Sequence[object]:
    place = f"rows[{index}] for {relation.name!r}"
    positions = column_positions([str(key) for key in row], relation, place)
    values = list(row.values())
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
