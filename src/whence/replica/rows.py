"""Rows as other sites see them: a text that is the same everywhere, and an id that is derived from it.

Two sites that insert the same row have inserted the same thing, so that a delete of one is a delete of the other.
That is why an id is not drawn but derived from the row and the *space* that it belongs to: the name of a shared
table, or `site:view` for rows that one site tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from json.encoder import encode_basestring_ascii
from typing import Any, TypeAlias, cast

from whence.errors import DataError, WhenceError
from whence.model.schema import Column, Relation, check_value
from whence.model.types import DOUBLE, STRING, IntegerType, Row, Type, Value
from whence.session.functions import parse_type

Id: TypeAlias = bytes
_MOST_REMEMBERED = 100_000  # remembered for each relation
ID_BYTES = 16  # 2^64 rows before two of them are likely to meet in one id
# Columns of a relation as messages have them: name, type, whether NULL is allowed.
Schema: TypeAlias = list[list[object]]

_written = json.JSONEncoder(separators=(",", ":")).encode
# In JSON texts neither of these two characters is ever inside of a value.
_BETWEEN, _ROWS = "\n", "\0"
_written_in_lines = json.JSONEncoder(separators=(_BETWEEN, ":")).encode


def space_of(site: str, relation: str) -> str:
    """The space of rows that one site tells. No table has a name like this."""
    return f"{site}:{relation}"


def id_of(space: str, text: str) -> Id:
    return blake2b(text.encode(), digest_size=ID_BYTES, person=_person(space)).digest()


def ids_of(space: str, texts: Iterable[str]) -> list[Id]:
    person = _person(space)
    return [blake2b(text, digest_size=ID_BYTES, person=person).digest() for text in map(str.encode, texts)]


@lru_cache
def _person(space: str) -> bytes:
    """What makes the digests of a space its own: 16 bytes, and no block more to be digested, as a key would be."""
    return blake2b(space.encode(), digest_size=16).digest()


class RowText:
    """Rows of a relation to texts and back. `space` is what their ids are derived from."""

    def __init__(self, relation: Relation, space: str) -> None:
        self.relation = relation
        self.space = space
        self._columns = relation.columns
        writers = [_writer(column.type) for column in relation.columns]
        # JSON, written at once: `["%s",%d]`.
        self._template = f"[{','.join('%d' if each is None else '%s' for each in writers)}]"
        self._writers = [(at, each) for at, each in enumerate(writers) if each is not None]
        # What JSON itself writes in the same way.
        self._is_plain = all(
            column.type is STRING or isinstance(column.type, IntegerType) for column in relation.columns
        )
        # A row that was just inserted is soon asked for by the views over it, and one that was checked is merged next.
        self._ids: dict[Row, Id] = {}
        self._rows: dict[str, Row] = {}

    def text(self, row: Row) -> str:
        cells: list[object] = list(row)
        if None in row:
            return f"[{','.join('null' if cell is None else self._cell(at, cell) for at, cell in enumerate(row))}]"
        for at, write in self._writers:
            cells[at] = write(row[at])
        return self._template % tuple(cells)

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """Of many rows, which takes a third of the time."""
        if not self._is_plain or not rows:
            return list(map(self.text, rows))
        whole = _written_in_lines(rows)[2:-2]
        cells = whole.replace(f"]{_BETWEEN}[", _ROWS).replace(_BETWEEN, ",").split(_ROWS)
        return [f"[{each}]" for each in cells]

    def ids(self, rows: Sequence[Row]) -> list[Id]:
        """Of many rows, most of which were asked for before."""
        found = list(map(self._ids.get, rows))
        missing = [row for row, node in zip(rows, found, strict=True) if node is None]
        new = dict(zip(missing, self.ids_and_texts(missing)[0], strict=True)) if missing else {}
        return [new[row] if node is None else node for row, node in zip(rows, found, strict=True)]

    def ids_and_texts(self, rows: Sequence[Row]) -> tuple[list[Id], list[str]]:
        """Of many rows that are new."""
        texts = self.texts(rows)
        ids = ids_of(self.space, texts)
        if len(self._ids) > _MOST_REMEMBERED:
            self._ids.clear()
        self._ids.update(zip(rows, ids, strict=True))
        return ids, texts

    def id(self, row: Row) -> Id:
        node = self._ids.get(row)
        if node is None:
            if len(self._ids) > _MOST_REMEMBERED:
                self._ids.clear()
            node = self._ids[row] = id_of(self.space, self.text(row))
        return node

    def _cell(self, at: int, value: Value) -> str:
        write = _writer(self._columns[at].type)
        return str(value) if write is None else write(value)

    def row(self, text: str) -> Row:
        """The row of a text from elsewhere; raises DataError where it is none of this relation."""
        row = self._rows.get(text)
        if row is None:
            if len(self._rows) > _MOST_REMEMBERED:
                self._rows.clear()
            row = self._rows[text] = self._read(text)
        return row

    def check(self, texts: Sequence[str]) -> None:
        """Raises where one of many texts from elsewhere is no row of this relation."""
        try:
            cells = json.loads(f"[{','.join(texts)}]")
            columns = list(zip(*cells, strict=True))
        except (ValueError, TypeError):
            columns = []
        if len(columns) == len(self._columns) and len(columns[0]) == len(texts):
            for at, column in enumerate(self._columns):
                values = columns[at]
                if isinstance(column.type, IntegerType) and set(map(type, values)) == {int}:
                    # All are numbers of this type if the least and the greatest are.
                    values = (min(values), max(values))
                try:
                    for value in values:
                        check_value(None if value is None else column.type.from_json(value), column)
                except (ValueError, TypeError, ArithmeticError, AttributeError, WhenceError):
                    break
            else:
                rows = cast("list[Row]", list(zip(*columns, strict=True)))
                if self._is_plain and self.texts(rows) == texts:
                    if len(self._rows) > _MOST_REMEMBERED:
                        self._rows.clear()
                    self._rows.update(zip(texts, rows, strict=True))
                    return
        # One after the other, to say what is wrong.
        for text in texts:
            self.row(text)

    def _read(self, text: str) -> Row:
        name = self.relation.name
        try:
            cells = json.loads(text)
        except ValueError:
            cells = None
        if not isinstance(cells, list) or len(cells) != len(self._columns):
            raise DataError(f"a row of {name!r} that came from another site cannot be read")
        found: list[Value] = []
        for column, cell in zip(self._columns, cells, strict=True):
            try:
                found.append(check_value(None if cell is None else column.type.from_json(cell), column))
            except (ValueError, TypeError, ArithmeticError, AttributeError):
                raise DataError(
                    f"a row of {name!r} that came from another site has no {column.type} in column {column.name!r}"
                ) from None
        row = tuple(found)
        if self.text(row) != text:
            # One row with two texts would have two ids.
            raise DataError(f"a row of {name!r} that came from another site is written in an unknown way")
        return row


def _writer(kind: Type) -> Callable[[Any], str] | None:
    """What writes a value as JSON; None if it is a whole number."""
    if isinstance(kind, IntegerType):
        return None
    if kind is STRING:
        return encode_basestring_ascii
    if kind is DOUBLE:
        # 0.0 and -0.0 are equal, and get one text.
        return lambda value: repr(value or 0.0)
    return lambda value: _written(kind.to_json(value))


def schema_of(columns: Iterable[Column]) -> Schema:
    return [[column.name, column.type.name, column.nullable] for column in columns]


def columns_of(schema: object, what: str) -> tuple[Column, ...]:
    """The columns that another site tells; raises DataError where it tells none."""
    found: list[Column] = []
    for each in schema if isinstance(schema, list) else [None]:
        match each:
            case [str(name), str(kind), bool(nullable)]:
                try:
                    found.append(Column(name, _type_named(kind), nullable))
                except WhenceError:
                    raise DataError(f"{what} has a column {name!r} of type {kind!r}, which is not known here") from None
            case _:
                raise DataError(f"the columns of {what} cannot be read")
    return tuple(found)


_type_named = lru_cache(parse_type)


def difference(ours: Sequence[Column], theirs: Sequence[Column], here: str, there: str) -> str | None:
    """In which column the schemas of two sites differ, in words."""
    for at in range(max(len(ours), len(theirs))):
        one, other = (_told(columns, at) for columns in (ours, theirs))
        if one != other:
            return f"column {at + 1} is {one} at {here!r} and {other} at {there!r}"
    return None


def _told(columns: Sequence[Column], at: int) -> str:
    if at >= len(columns):
        return "missing"
    column = columns[at]
    return f"{column.name} {column.type}{'' if column.nullable else ' NOT NULL'}"
