"""Many small documents of one kind, each with its key: orders, sessions, devices. Updates come in batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.sax.saxutils import quoteattr

from whence.algebra.kleene import Truth
from whence.database.database import Database
from whence.documents.document import Document
from whence.documents.nodes import StreamNode
from whence.documents.query import STATUS, Query, paths_in
from whence.documents.xpath.parse import parse_query
from whence.errors import StateError, UnknownNameError, UnsupportedError, WhenceError
from whence.model.updates import Commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

Event: TypeAlias = tuple[str, str, str | None]
"""A key, a stream of that document, and what it brought; None when it ends."""

# The one element that holds all documents.
_ROOT_NODE = 1


class Documents:
    """Documents that begin as `template`, an XML text with streams, when their key is first seen.

    All are one document of a database, so that a query is a few views for all of them, and a batch is one commit.
    """

    def __init__(self, template: str, *, name: str = "documents", database: Database | None = None) -> None:
        self._document = Document.xml("<documents/>", name=name, database=database)
        self._template = template
        self._root = StreamNode(0, _ROOT_NODE, self._document.paths.root.children["documents"], "")
        self._places: dict[str, dict[str, list[StreamNode]]] = {}
        self._last_batch = -1
        self.database = self._document.database

    def __len__(self) -> int:
        """How many keys have been seen."""
        return len(self._places)

    def update(self, events: Iterable[Event]) -> Commit:
        """Take what came, in its order, in one commit. If anything is wrong with it, nothing is taken."""
        document = self._document
        reader = document.reader(document.arrival())
        arrival, gone = reader.arrival, list[StreamNode]()
        mark = arrival.mark()
        places: dict[str, dict[str, list[StreamNode]]] = {}
        try:
            for key, stream, fragment in events:
                if key not in places:
                    known = self._places.get(key)
                    places[key] = {name: list(nodes) for name, nodes in (known or {}).items()}
                    if known is None:
                        self._read(
                            reader,
                            f"<document key={quoteattr(key)}>{self._template}</document>",
                            self._root,
                            places[key],
                        )
                here = self._stream(places[key], key, stream)
                for place in here:
                    if fragment is None:
                        gone.append(place)
                    else:
                        self._read(reader, fragment, place, places[key])
                if fragment is None:
                    places[key][stream] = []
        except WhenceError:
            arrival.cut(mark)
            raise
        old = {each.node for each in gone}
        # What came and ended within the batch was never there.
        arrival.streams = [each for each in arrival.streams if each.node not in old]
        left = [each for each in gone if each.node < mark[0]]
        commit = document.commit(arrival, {document.tables.stream: [each.row() for each in left]})
        document.forget(left)
        self._places.update(places)
        return commit

    def query(self, xpath: str, *, name: str) -> KeyedQuery:
        """Ask something of each document: a path from its root. Verdicts go by key."""
        for path in list(paths_in(parse_query(xpath)))[1:]:
            if path.absolute or path.document is not None:
                raise UnsupportedError(
                    "a question to each of many documents looks at one of them",
                    span=path.span,
                    hint="write the path from the node: .//name",
                )
        inside = xpath.removeprefix("/") if not xpath.startswith("//") else f".{xpath}"
        asked = self._document.query(f"/documents/document[{inside}]", select={"key": "@key"}, name=name)
        return KeyedQuery(self, asked, xpath)

    def follow(self, frame: DataFrame, *, checkpoint: str) -> StreamingQuery:
        """Take the micro-batches of a stream with the columns key, stream and fragment, which is NULL at the end of a
        stream. Each is one commit; one that Spark repeats changes nothing.
        """
        writer = frame.select("key", "stream", "fragment").writeStream.option("checkpointLocation", checkpoint)
        return writer.foreachBatch(self._take).start()

    def _take(self, frame: DataFrame, batch: int) -> None:
        if batch > self._last_batch:
            columns = frame.toArrow().to_pydict()
            self.update(zip(columns["key"], columns["stream"], columns["fragment"], strict=True))
            self._last_batch = batch

    @property
    def keys(self) -> Iterable[str]:
        return self._places.keys()

    def _read(self, reader: Any, text: str, place: StreamNode, into: dict[str, list[StreamNode]]) -> None:
        before = len(reader.arrival.streams)
        reader.fragment(text, place)
        for each in reader.arrival.streams[before:]:
            into.setdefault(each.stream, []).append(each)

    def _stream(self, places: Mapping[str, list[StreamNode]], key: str, stream: str) -> list[StreamNode]:
        if stream not in places:
            raise UnknownNameError(f"the document {key!r} has no stream {stream!r}", hint=f"it has {', '.join(places)}")
        if not places[stream]:
            raise StateError(f"the stream {stream!r} of the document {key!r} has ended")
        return list(places[stream])


class KeyedQuery:
    """A question that each of many documents answers for itself. Its relation has the keys for which it is true."""

    def __init__(self, documents: Documents, query: Query, xpath: str) -> None:
        self._documents = documents
        self._query = query
        self.name = query.name
        self.xpath = xpath

    @property
    def true(self) -> set[str]:
        return {row[0] for row in self._query.answers}

    @property
    def possible(self) -> set[str]:
        """The keys for which it is not true yet, and may become so."""
        return {str(row[0]) for row in self._query.possible}

    def statuses(self) -> dict[str, str]:
        """The verdict for each key."""
        true, possible = self.true, self.possible
        return {key: STATUS[Truth.between(sure=key in true, possible=key in possible)] for key in self._documents.keys}
