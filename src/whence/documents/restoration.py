"""From the tables of a document back to what is known of it in memory; and from its nodes to tables of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whence.documents.nodes import StreamNode
from whence.documents.routes import Route

if TYPE_CHECKING:
    from whence.documents.document import Document


def restore(document: Document, properties: Mapping[str, str]) -> None:
    """Paths, streams and ends, as they were when the database was closed."""
    import pyarrow.compute as pc

    database, tables, paths = document.database, document.tables, document.paths
    for number, parent, label, kind in sorted(database.rows(tables.path)):
        assert number == len(paths.all), "paths are numbered as they come"
        paths.below(paths.all[parent], label, kind)
    paths.fresh.clear()
    streams = [StreamNode(node, parent, paths.all[path], *of) for node, parent, path, *of in database.rows(tables.stream)]
    sources = {(stream, label) for _, stream, label in database.rows(tables.brings)}
    last = max((each.node for each in streams), default=0)
    for table in (tables.element, tables.text):
        last = max(last, pc.max(database.table(table)["node"]).as_py() or 0)
    document.resume(last, streams, sources, properties)


def fill(document: Document, routes: Sequence[Route]) -> None:
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
