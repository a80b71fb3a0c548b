"""The documents of a database: which there are, and what is stored of them beside their nodes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from whence.database.database import Database
from whence.documents.limits import Limits
from whence.documents.schema import Schema

if TYPE_CHECKING:
    from whence.documents.document import Document

PROPERTIES = "whence_document"
QUERIES = "whence_document_query"
ENDS = "whence_document_end"
_DECLARATIONS = f"""
    .decl {PROPERTIES}(document: symbol, property: symbol, value: symbol)
    .decl {QUERIES}(document: symbol, query: symbol, number: number, text: symbol)
    .decl {ENDS}(document: symbol, stream: symbol, is_closed: boolean)
"""


class Registry:
    """Each document holds it, and so all others of its database: queries may join several."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.documents: dict[str, Document] = {}

    @property
    def is_stored(self) -> bool:
        """Whether the database has tables for documents."""
        return self.database.catalog().find(PROPERTIES) is not None

    def declare(self) -> None:
        if not self.is_stored:
            self.database.rules(_DECLARATIONS, name="documents")

    def properties(self) -> dict[str, dict[str, str]]:
        """What is stored of each document, by its name."""
        found: dict[str, dict[str, str]] = {}
        for document, name, value in self._rows(PROPERTIES):
            found.setdefault(document, {})[name] = value
        return found

    def queries(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Documents, names and texts of the stored queries, in the order in which they were asked."""
        rows = sorted(self._rows(QUERIES), key=lambda row: row[2])
        return [(document, query, json.loads(text)) for document, query, _, text in rows]

    def query_row(self, document: str, query: str, text: Mapping[str, object]) -> tuple[str, str, int, str]:
        return document, query, len(self._rows(QUERIES)) + 1, json.dumps(text)

    def ends(self, document: str) -> Iterable[tuple[str, bool]]:
        """The streams that have ended, and whether that is because they were useless."""
        return [(stream, is_closed) for name, stream, is_closed in self._rows(ENDS) if name == document]

    def _rows(self, table: str) -> list[Any]:
        return list(self.database.rows(table)) if self.is_stored else []


# Neither is held here: a document holds its registry, and that its database.
_REGISTRIES: WeakKeyDictionary[Database, ref[Registry]] = WeakKeyDictionary()


def registry_of(database: Database) -> Registry:
    held = _REGISTRIES.get(database)
    found = None if held is None else held()
    if found is None:
        found = Registry(database)
        _REGISTRIES[database] = ref(found)
    return found


def schema_text(schema: Schema) -> str:
    parts = {"children": schema.children, "streams": schema.streams}
    return json.dumps({part: {name: sorted(inside) for name, inside in of.items()} for part, of in parts.items()})


def read_schema(text: str) -> Schema:
    return Schema(**json.loads(text))


def limits_text(limits: Limits) -> str:
    return json.dumps(asdict(limits))


def read_limits(text: str) -> Limits:
    return Limits(**json.loads(text))
