"""Rows as questions name them: all columns, or some of them, with any value in the others."""

from __future__ import annotations

from collections.abc import Mapping
from types import EllipsisType
from typing import TypeAlias

from whence.errors import DataError
from whence.explain.proofs.words import fact_text
from whence.functions.readers import reader
from whence.functions.text import shown
from whence.model.schema import Relation
from whence.model.types import Value
from whence.sources.columns import column_positions, listed
from whence.sources.rows import row_text

# `...` stands for any value.
AskedRow: TypeAlias = "tuple[Value | EllipsisType, ...]"


def asked_row(row: object, relation: Relation) -> AskedRow:
    """A tuple in which None and `...` stand for any value, or a dict of the columns that matter.

    In a dict None is NULL. Every value is checked as those that are inserted are.
    """
    values: list[object] = [...] * relation.arity
    if isinstance(row, Mapping):
        names = [str(name) for name in row]
        known = {column.name.lower(): at for at, column in enumerate(relation.columns)}
        if any(name.lower() not in known for name in names):
            # It knows the words for this.
            column_positions(names, relation, f"the row asked about in {relation.name!r}")
        for name, value in zip(names, row.values(), strict=True):
            values[known[name.lower()]] = value
    elif isinstance(row, tuple | list):
        if len(row) != relation.arity:
            raise DataError(
                f"{relation.name!r} has {listed(relation.column_names)}, and the row asked about has "
                f"{len(row)} value{'' if len(row) == 1 else 's'}: {row_text(row)}"
            )
        values = [... if value is None else value for value in row]
    else:
        raise DataError(
            f"a row of {relation.name!r} is a tuple or a dict, not {shown(row)}",
            hint=f"write ({', '.join(relation.column_names)}{',' * (relation.arity == 1)}), with None for any value",
        )
    checked: list[Value | EllipsisType] = []
    for column, value in zip(relation.columns, values, strict=True):
        if value is ...:
            checked.append(...)
            continue
        try:
            checked.append(None if value is None else reader(column)(value))
        except DataError as error:
            raise DataError(
                f"{error.message}, in the row asked about: {fact_text(relation.name, values)}", hint=error.hint
            ) from None
    return tuple(checked)
