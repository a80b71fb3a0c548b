"""Many small documents of one kind, each with its key: orders, sessions, devices. Updates come in batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from xml.sax.saxutils import quoteattr

from whence.algebra.semiring import Truth
from whence.database.database import Database
from whence.documents.alerts import Time, check_order, seconds
from whence.documents.document import Document
from whence.documents.json_reader import JsonReader
from whence.documents.nodes import Arrival, StreamNode
from whence.documents.query import STATUS, Query, paths_in
from whence.documents.registry import PROPERTIES, streams_by_key
from whence.documents.xml_reader import XmlReader, stream_names
from whence.documents.xpath.parse import parse_query
from whence.errors import StateError, TypeMismatchError, UnknownNameError, UnsupportedError, WhenceError
from whence.model.updates import Commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

Event: TypeAlias = tuple[str, str, str | None] | tuple[str, str, str | None, Time]
"""A key, a stream of that document, what it brought or None when it ends, and the time if times matter."""

Streams: TypeAlias = dict[str, list[StreamNode]]
"""The nodes of one document's streams, by name; none where a stream has ended."""

# The one element that holds all documents.
_ROOT_NODE = 1
_TEMPLATE = "template"
_BATCH = "batch"


class _Part:
    """Events that become one commit."""

    def __init__(self, arrival: Arrival) -> None:
        self.arrival = arrival
        self.ended: list[StreamNode] = []
        self.times: dict[str, float] = {}
        """By the keys of the documents that they are of."""

        self._first = arrival.next

    @property
    def left(self) -> list[StreamNode]:
        """Nodes of streams that were there before, and have ended."""
        return [each for each in self.ended if each.node < self._first]

    def close(self) -> None:
        """What came and ended within the part was never there."""
        ended = {each.node for each in self.ended}
        self.arrival.streams = [each for each in self.arrival.streams if each.node not in ended]


class Documents:
    """Documents that begin as `template`, an XML text with streams, when their key is first seen.

    All are one document of a database, so that a query is a few views for all of them, and a batch is one commit.
    """

    def __init__(self, template: str, *, name: str = "documents", database: Database | None = None) -> None:
        self.begin(Document.xml("<documents/>", name=name, database=database), template)
        self.database.insert(PROPERTIES, [(name, _TEMPLATE, template)])

    def begin(self, document: Document, template: str, last_batch: int = -1) -> None:
        """Go on with what the document has."""
        self._document = document
        self._template = template
        self._root = StreamNode(0, _ROOT_NODE, document.paths.root.children["documents"], "")
        self._streams: dict[str, Streams] = streams_by_key(document, _ROOT_NODE, stream_names(template))
        self._last_batch = last_batch
        self.database = document.database

    @classmethod
    def reopen(cls, name: str = "documents", *, database: Database) -> Self:
        """Documents that were kept in this database before, with their queries and alerts."""
        document = Document.reopen(name, database=database)
        properties = document.registry.properties()[name]
        if _TEMPLATE not in properties:
            raise UnknownNameError(f"{name!r} is one document and not many", hint="Document.reopen opens it")
        found = cls.__new__(cls)
        found.begin(document, properties[_TEMPLATE], int(properties.get(_BATCH, -1)))
        return found

    def __len__(self) -> int:
        """How many keys have been seen."""
        return len(self._streams)

    def update(self, events: Iterable[Event]) -> Commit:
        """Take what came, in one commit. If anything is wrong with it, nothing is taken.

        Events are taken in their order, or in that of their times. With alerts, two events of one document are not
        taken in one commit, since what lies between them is to be known.
        """
        return self._update(events, None)

    def _update(self, events: Iterable[Event], batch: int | None) -> Commit:
        document, clock = self._document, self._document.clock
        timed = _timed(events, clock.time)
        reader = document.reader(document.arrival())
        mark = reader.arrival.mark()
        parts = [_Part(reader.arrival)]
        streams: dict[str, Streams] = {}
        try:
            for key, stream, fragment, time in timed:
                if clock.alerts and key in parts[-1].times:
                    parts.append(_Part(Arrival(document.paths, reader.arrival.next)))
                    reader = document.reader(parts[-1].arrival)
                parts[-1].times[key] = clock.now if time is None else time
                if key not in streams:
                    streams[key] = self._document_streams(key, reader)
                for place in self._stream(streams[key], key, stream):
                    if fragment is None:
                        parts[-1].ended.append(place)
                    else:
                        self._read(reader, fragment, place, streams[key])
                if fragment is None:
                    streams[key][stream] = []
        except WhenceError:
            parts[0].arrival.cut(mark)
            raise
        commit: Commit | None = None
        for part in parts:
            part.close()
            last = max(part.times.values(), default=None) if timed and timed[0][3] is not None else None
            clock.pass_time(clock.now if last is None else min(part.times.values()))
            old, new = self._batch_rows(batch) if part is parts[-1] else ([], [])
            commit = document.commit(part.arrival, {PROPERTIES: old}, part.left, {PROPERTIES: new}, last)
            clock.follow(commit, part.times.__getitem__)
            clock.pass_time(clock.now)
        self._streams.update(streams)
        assert commit is not None, "there is a part, if only an empty one"
        return commit

    def _batch_rows(self, batch: int | None) -> tuple[list[Any], list[Any]]:
        """The number of a batch goes with the last of its commits: one that is repeated changes nothing."""
        if batch is None:
            return [], []
        row = (self._document.name, _BATCH)
        return [] if self._last_batch < 0 else [(*row, str(self._last_batch))], [(*row, str(batch))]

    def _document_streams(self, key: str, reader: XmlReader | JsonReader) -> Streams:
        known = self._streams.get(key)
        found: Streams = {name: list(nodes) for name, nodes in (known or {}).items()}
        if known is None:
            self._read(reader, f"<document key={quoteattr(key)}>{self._template}</document>", self._root, found)
        return found

    def advance(self, to: Time) -> Commit:
        """Nothing came until then. Alerts whose time has run out are given."""
        return self._document.advance(to)

    def alert(self, *, after: str, unless: str, within: float, name: str) -> None:
        """Tell of documents for which the one query is true and the other is not, for too long, as the table
        `NAME(node, of, due)` with their keys: `after="/order[payment]", unless="/order[delivery]", within=4`.
        """
        first, second = (
            self.query(xpath, name=f"{name}_{what}") for what, xpath in (("after", after), ("unless", unless))
        )
        self._document.clock.add(name, within, first.name, second.name)

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
        stream; and time in seconds, if there are alerts. Each is taken once, also where Spark repeats it.
        """
        columns = ["key", "stream", "fragment", *(["time"] if "time" in frame.columns else [])]
        writer = frame.select(*columns).writeStream.option("checkpointLocation", checkpoint)
        return writer.foreachBatch(self._take).start()

    def _take(self, frame: DataFrame, batch: int) -> None:
        if batch > self._last_batch:
            events: Any = zip(*frame.toArrow().to_pydict().values(), strict=True)
            self._update(events, batch)
            self._last_batch = batch

    @property
    def keys(self) -> Iterable[str]:
        return self._streams.keys()

    def _read(self, reader: XmlReader | JsonReader, text: str, place: StreamNode, into: Streams) -> None:
        before = len(reader.arrival.streams)
        reader.fragment(text, place)
        for each in reader.arrival.streams[before:]:
            if each.is_call:
                raise UnsupportedError(
                    f"{each.stream!r} is a call, and many documents together have streams only",
                    hint="write <?stream ...?>, and end the stream when it has brought its tree",
                )
            into.setdefault(each.stream, []).append(each)

    def _stream(self, places: Mapping[str, list[StreamNode]], key: str, stream: str) -> list[StreamNode]:
        if stream not in places:
            raise UnknownNameError(f"the document {key!r} has no stream {stream!r}", hint=f"it has {', '.join(places)}")
        if not places[stream]:
            raise StateError(f"the stream {stream!r} of the document {key!r} has ended")
        return list(places[stream])


def _timed(events: Iterable[Event], clock: float | None) -> list[tuple[str, str, str | None, float | None]]:
    """Events in the order of their times, which all of them have or none."""
    found = [(each[0], each[1], each[2], seconds(each[3]) if len(each) == 4 else None) for each in events]
    times = [time for _, _, _, time in found if time is not None]
    if times and len(times) < len(found):
        raise TypeMismatchError("some events have a time and others have none", hint="give each its time, or none")
    if times:
        found.sort(key=lambda each: each[3] or 0.0)
        key, stream, _, first = found[0]
        check_order(first or 0.0, clock, f"an event of {key!r} in {stream!r}")
    return found


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
