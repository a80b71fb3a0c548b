"""From the tables of a document back to what is known of it in memory; and from its nodes to tables of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whence.documents.nodes import StreamNode
from whence.documents.routes import Route

if TYPE_CHECKING:
    from whence.documents.arriving_tree import ArrivingTree
    from whence.documents.document import Document


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
