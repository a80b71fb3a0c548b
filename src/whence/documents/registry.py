"""The documents of a database: which there are, what is stored of them, and the way from there back to memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from whence.database.database import Database
from whence.documents.nodes import Limits, StreamNode
from whence.documents.places import Route
from whence.documents.schema import Schema

if TYPE_CHECKING:
    from whence.documents.arriving_tree import ArrivingTree
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


def restore(document: Document, properties: Mapping[str, str]) -> None:
    """Paths, streams and ends, as they were when the database was closed."""
    import pyarrow.compute as pc

    database, tables, paths = document.database, document.tables, document.paths
    known: list[Any] = sorted(database.rows(tables.path))
    for number, parent, label, kind in known:
        assert number == len(paths.all), "paths are numbered as they come"
        paths.below(paths.all[parent], label, kind)
    paths.fresh.clear()
    rows: list[Any] = sorted(database.rows(tables.stream))
    streams = [StreamNode(node, parent, paths.all[path], *of) for node, parent, path, *of in rows]
    last = max((each.node for each in streams), default=0)
    for table in (tables.element, tables.text):
        last = max(last, pc.max(database.table(table)["node"]).as_py() or 0)
    document.resume(last, streams, document.registry.ends(document.name), properties)


def fill(document: ArrivingTree, routes: Sequence[Route]) -> None:
    """Give new tables the nodes that are there already."""
    import pyarrow as pa
    import pyarrow.compute as pc

    tables, paths = document.tables, document.paths.all
    with document.database.batch() as batch:
        for source, of_elements in ((tables.element, True), (tables.text, False)):
            wanted = [route for route in routes if route.is_of_elements == of_elements]
            rows = document.database.table(source) if wanted else None
            for route in wanted:
                numbers = [path.number for path in paths[1:] if route.takes(path)]
                if rows is not None and numbers:
                    found = rows.filter(pc.is_in(rows["path"], value_set=pa.array(numbers, pa.int64())))
                    if len(found):
                        batch.insert(route.table, found)


def streams_by_key(document: Document, root: int, names: Iterable[str]) -> dict[str, dict[str, list[StreamNode]]]:
    """The streams of each document below a root, by their keys. All have those of these names at first; streams that
    have ended have no nodes.
    """
    tables, paths = document.tables, document.paths
    elements = document.database.table(tables.element)
    parents = dict(zip(elements["node"].to_pylist(), elements["parent"].to_pylist(), strict=True))
    above = paths.root.children["documents"].children.get("document")
    if above is None:
        return {}
    key_path = above.children["@key"].number
    keys = {row[1]: str(row[3]) for row in document.database.rows(tables.text) if row[2] == key_path}
    found: dict[str, dict[str, list[StreamNode]]] = {key: {name: [] for name in names} for key in keys.values()}
    for nodes in document.places().values():
        for each in nodes:
            node = each.parent
            while parents[node] != root:
                node = parents[node]
            found[keys[node]].setdefault(each.stream, []).append(each)
    return found
