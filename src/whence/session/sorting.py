"""A stable order of rows: by their columns, NULL first as Spark sorts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whence.functions.order import sort_key
from whence.model.schema import Relation
from whence.model.types import Row, Type


def row_order(relation: Relation) -> Callable[[Row], Any]:
    """What to sort a relation's rows by."""
    keys = [_nulls_first(column.type) for column in relation.columns]
    return lambda row: [key(value) for key, value in zip(keys, row, strict=True)]


def in_order(rows: Sequence[Row], relation: Relation) -> list[Row]:
    """Rows of a relation, sorted."""
    if any(sort_key(column.type) is not None for column in relation.columns) or any(None in row for row in rows):
        return sorted(rows, key=row_order(relation))
    # Rows are then in the order of tuples, which Python compares several times as fast as keys are made.
    return sorted(rows)


def _nulls_first(kind: Type) -> Callable[[Any], Any]:
    inner = sort_key(kind)
    if inner is None:
        return lambda value: (value is not None, value)
    return lambda value: (False, None) if value is None else (True, inner(value))
