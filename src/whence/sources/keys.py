"""Keys that a program hands over: rows of a table that are told by the columns of its key alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from whence.errors import UnsupportedError
from whence.model.schema import Relation
from whence.model.types import Row
from whence.sources.rows import Frame
from whence.sources.source import OBJECTS, read_rows


def check_has_key(relation: Relation, what: str) -> None:
    """Raises for a table in which no row is told by a key."""
    if not relation.key:
        raise UnsupportedError(
            f"{relation.name!r} has no key, so that {what}",
            hint="give the table a PRIMARY KEY, or delete the row and insert another in one db.batch()",
        )


def as_collection(rows: object) -> object:
    """What can be gone through more than once, where it was given as an iterator."""
    if isinstance(rows, list):
        return rows
    return list(rows) if isinstance(rows, Iterable) and iter(rows) is rows else rows


def are_keys(rows: object, relation: Relation) -> bool:
    """Whether rows are given by their keys: by dicts or columns that are just those of the key, or by tuples that are
    as long as the key. Where the key is all columns, a row is a row.
    """
    if not relation.key or len(relation.key) == relation.arity:
        return False
    if not isinstance(rows, list):
        for make in OBJECTS:
            source = make(rows)
            if isinstance(source, Frame):
                return are_key_columns(source.table.column_names, relation)
    return isinstance(rows, Sequence) and bool(rows) and all(_is_key(row, relation) for row in rows)


def _is_key(row: object, relation: Relation) -> bool:
    if isinstance(row, Mapping):
        return are_key_columns(row, relation)
    return isinstance(row, tuple | list) and len(row) == len(relation.key)


def are_key_columns(names: Iterable[object], relation: Relation) -> bool:
    """Whether these are the columns of the key, in any order, and not all that there are."""
    if len(relation.key) == relation.arity:
        return False
    return sorted(str(name).lower() for name in names) == sorted(name.lower() for name in relation.key)


def key_relation(relation: Relation) -> Relation:
    """The key of a table as a relation of its own."""
    columns = {column.name: column for column in relation.columns}
    of_key = tuple(columns[name] for name in relation.key)
    return replace(relation, columns=of_key, ttl=None, window=None, partition=None, properties=())


def read_keys(keys: object, relation: Relation) -> list[Row]:
    """Keys as rows that have nothing but their key. A tuple has the values in the order of the key."""
    places = [relation.column_names.index(name) for name in relation.key]
    found: list[Row] = []
    for key in read_rows(keys, key_relation(relation)):
        row: list[object] = [None] * relation.arity
        for place, value in zip(places, key, strict=True):
            row[place] = value
        found.append(tuple(row))  # type: ignore[arg-type]
    return found


def read_key(key: object, relation: Relation) -> Row:
    """One key: a tuple, a dict, or the value itself if the key is one column."""
    if not isinstance(key, tuple | list | Mapping):
        key = (key,)
    return read_keys([key], relation)[0]


def key_values(row: Row, relation: Relation) -> Row:
    """The values of a row's key, in the order of the key."""
    return tuple(row[relation.column_names.index(name)] for name in relation.key)
