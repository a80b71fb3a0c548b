"""Definitions in SQLite: a record for each table or view, and one for each text that users wrote."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from whence.durable.checksums import checksum
from whence.durable.definitions import (
    StoredDefinition,
    called_functions,
    parts,
    restore_definitions,
    store_definition,
    touched,
)
from whence.durable.files import damaged
from whence.durable.rows import RowTable
from whence.model.schema import Relation
from whence.model.span import Source
from whence.session.definitions import Definitions


@dataclass(frozen=True, slots=True)
class Known:
    """A stored relation: its number, and the table of its rows unless it is a view."""

    number: int
    relation: Relation
    rows: RowTable | None


def write_definitions(
    connection: sqlite3.Connection, before: Definitions, after: Definitions, known: dict[str, Known]
) -> dict[str, Known]:
    """Store what is different, and return all that is known then."""
    if after is before:
        return known
    known = dict(known)
    names = touched(before, after)
    new = parts(before, after, names)
    for name in [*new, *sorted(names - new.keys())]:
        old = known.pop(name, None)
        # A view that is only defined differently keeps its number, and with it its changes so far.
        if old is not None and (name not in new or after.relations[name].columns != old.relation.columns):
            _forget(connection, old)
            old = None
        if name in new:
            is_view = name in after.views
            number = _write(connection, store_definition(name, new[name], is_view=is_view), old)
            known[name] = _known(number, after.relations[name], is_view=is_view)
            functions = called_functions(new[name].rules, after)
            connection.executemany("INSERT OR REPLACE INTO functions VALUES (?, ?)", functions.items())
            if old is None:
                _begin(connection, known[name])
    connection.execute("DELETE FROM sources WHERE number NOT IN (SELECT source FROM relations WHERE source NOTNULL)")
    return known


def read_definitions(connection: sqlite3.Connection, directory: Path) -> tuple[Definitions, dict[str, Known]]:
    """What was stored. The functions that views call are known by their signatures only."""
    texts = connection.execute("SELECT number, name, text, is_datalog FROM sources")
    sources = {number: Source(name, text, bool(is_datalog)) for number, name, text, is_datalog in texts}
    numbers: dict[str, int] = {}
    stored: list[StoredDefinition] = []
    for number, *fields, written in connection.execute(
        "SELECT number, name, is_view, text, source, spans, checksum FROM relations ORDER BY number"
    ):
        name, is_view, text, source, spans = fields
        if checksum(*fields) != written:
            raise damaged(directory, f"the definition of {name!r} is not the one that was written")
        numbers[name] = number
        stored.append(StoredDefinition(name, bool(is_view), text, sources.get(source), tuple(json.loads(spans))))
    returns = dict(connection.execute("SELECT name, returns FROM functions").fetchall())
    definitions = restore_definitions(stored, returns)
    known = {
        each.name: _known(numbers[each.name], definitions.relations[each.name], is_view=each.is_view) for each in stored
    }
    return definitions, known


def _known(number: int, relation: Relation, *, is_view: bool) -> Known:
    return Known(number, relation, None if is_view else RowTable(number, relation))


def _begin(connection: sqlite3.Connection, known: Known) -> None:
    connection.execute("INSERT INTO vitals VALUES (?, 0, 0)", (known.number,))
    if known.rows is not None:
        known.rows.create(connection)


def _forget(connection: sqlite3.Connection, known: Known) -> None:
    connection.execute("DELETE FROM relations WHERE number = ?", (known.number,))
    connection.execute("DELETE FROM vitals WHERE relation = ?", (known.number,))
    connection.execute("DELETE FROM changes WHERE relation = ?", (known.number,))
    if known.rows is not None:
        known.rows.drop(connection)


def _write(connection: sqlite3.Connection, stored: StoredDefinition, old: Known | None) -> int:
    source = None if stored.source is None else _write_source(connection, stored.source)
    fields = (stored.name, int(stored.is_view), stored.text, source, json.dumps(stored.spans))
    written = connection.execute(
        "INSERT OR REPLACE INTO relations VALUES (?, ?, ?, ?, ?, ?, ?)",
        (old and old.number, *fields, checksum(*fields)),
    )
    assert written.lastrowid is not None
    return written.lastrowid


def _write_source(connection: sqlite3.Connection, source: Source) -> int | None:
    """The number of a text, which is stored once."""
    fields = (source.name, source.text, int(source.is_datalog))
    found = connection.execute(
        "SELECT number FROM sources WHERE name = ? AND text = ? AND is_datalog = ?", fields
    ).fetchone()
    if found is not None:
        return int(found[0])
    return connection.execute("INSERT INTO sources (name, text, is_datalog) VALUES (?, ?, ?)", fields).lastrowid
