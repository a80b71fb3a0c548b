"""Documents that are still arriving: trees with streams, kept as relations of a database."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from whence.database.connect import connect
from whence.database.database import Database
from whence.documents.alerts import Clock, Time, check_order, seconds
from whence.documents.calls import Shape, inside_of
from whence.documents.json_reader import JsonReader
from whence.documents.limits import DEFAULT_LIMITS, Limits
from whence.documents.needed import Needs
from whence.documents.nodes import ANYTHING, Arrival, Path, Paths, StreamNode
from whence.documents.openings import Opening, Openings
from whence.documents.openings import Row as OpenRow
from whence.documents.places import Tables
from whence.documents.query import Node, Query
from whence.documents.registry import (
    ENDS,
    PROPERTIES,
    QUERIES,
    limits_text,
    read_limits,
    read_schema,
    registry_of,
    schema_text,
)
from whence.documents.restoration import fill, restore
from whence.documents.routes import Route
from whence.documents.satisfiable import Source
from whence.documents.schema import UNTYPED, Schema
from whence.documents.subtree import rows_below
from whence.documents.useless import useless_streams
from whence.documents.xml_reader import XmlReader
from whence.errors import (
    DataError,
    DuplicateNameError,
    ParseError,
    StateError,
    TypeMismatchError,
    UnknownNameError,
    did_you_mean,
)
from whence.model.updates import Commit

if TYPE_CHECKING:
    from whence.explain.hypothetical.what_if import WhatIf

Format = Literal["xml", "json"]
Keep = Literal["all", "needed"]
_NAME = re.compile(r"[^\W\d]\w*")
# Stands below the outermost node of what a call may return, while that is tried.
_INSIDE = "inside-"


class Document:
    """A tree that grows while it is read. `Document.xml` and `Document.json` make one.

    Its nodes are rows of `database`: NAME_element, NAME_text (attributes too), NAME_stream and NAME_path. Each call
    that changes it is one commit.
    """

    def __init__(
        self, form: Format, name: str, database: Database | None, keep: Keep, schema: Schema, limits: Limits
    ) -> None:
        if not _NAME.fullmatch(name):
            raise TypeMismatchError(f"a document's name is a word, not {name!r}", hint="its tables begin with it")
        self.name = name
        self.form = form
        self.database = connect() if database is None else database
        self.tables = Tables(name)
        self.paths = Paths(limits)
        self.queries: dict[str, Query] = {}
        if keep not in ("all", "needed"):
            raise TypeMismatchError(f'keep is "all" or "needed", not {keep!r}')
        self._keep = keep
        self.schema = schema
        self._limits = limits
        self._closed: set[str] = set()
        self._lock = threading.RLock()
        self._next_node = 1
        self._streams: dict[str, dict[int, StreamNode]] = {}
        self._ended: set[str] = set()
        self._openings = Openings(self.source)
        self._is_dropping = False
        self._supposed: dict[str, frozenset[str] | None] = {}
        self._routes: dict[str, Route] = {}
        self.paths.tables = self._tables_of
        self.registry = registry_of(self.database)
        self.clock = Clock(name, self.database)

    @classmethod
    def xml(
        cls,
        text: str | bytes,
        *,
        name: str = "document",
        database: Database | None = None,
        keep: Keep = "all",
        schema: Schema = UNTYPED,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Self:
        """A document from XML. `<?stream payments?>` is a place where data keeps arriving.

        With keep="needed" only nodes are kept that queries can look at, which are asked before anything is added.
        Names are taken as they are written, prefixes included; comments and white space between elements are passed
        over; entities are refused.
        """
        document = cls("xml", name, database, keep, schema, limits)
        document.open(text)
        return document

    @classmethod
    def reopen(cls, name: str = "document", *, database: Database) -> Document:
        """A document that was opened in this database before, with its queries: `document.queries` has them by name.

        Joins read several documents, so that all documents of the database are there again after this.
        """
        registry = registry_of(database)
        fresh: list[Document] = []
        for stored, properties in registry.properties().items():
            if stored not in registry.documents:
                schema, limits = read_schema(properties["schema"]), read_limits(properties["limits"])
                form: Format = "xml" if properties["form"] == "xml" else "json"
                keep: Keep = "all" if properties["keep"] == "all" else "needed"
                registry.documents[stored] = document = cls(form, stored, database, keep, schema, limits)
                restore(document, properties)
                fresh.append(document)
        for owner, query, text in registry.queries():
            document = registry.documents[owner]
            if document in fresh:
                document.queries[query] = Query(document, text["xpath"], query, text["select"], text["where"])
                document.queries[query].restore()
        for document in fresh:
            document._drop_unneeded()
        if name not in registry.documents:
            raise UnknownNameError(
                f"there is no document {name!r} in this database",
                hint=did_you_mean(name, registry.documents) or "Document.xml and Document.json make one",
            )
        return registry.documents[name]

    @classmethod
    def json(
        cls,
        text: str | bytes,
        *,
        name: str = "document",
        database: Database | None = None,
        keep: Keep = "all",
        schema: Schema = UNTYPED,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Self:
        """A document from JSON. `{"$stream": "payments"}` is a place where data keeps arriving.

        With keep="needed" only nodes are kept that queries can look at, which are asked before anything is added.
        Members are nodes, and an array is its member once for each value: `/order/item` are all values of "item".
        """
        document = cls("json", name, database, keep, schema, limits)
        document.open(text)
        return document

    def open(self, text: str | bytes) -> None:
        """Read what there is at the beginning."""
        if self.database.catalog().find(self.tables.element) is not None:
            raise DuplicateNameError(
                f"there is a document {self.name!r} already",
                hint="give this one another name=, or find it with Document.reopen",
            )
        reader = self.reader(self.arrival())
        reader.document(_text(text))
        self.registry.declare()
        self.database.rules(self.tables.declarations(), name=self.name)
        schema, limits = schema_text(self.schema), limits_text(self._limits)
        properties = {"form": self.form, "keep": self._keep, "schema": schema, "limits": limits}
        self.commit(reader.arrival, also={PROPERTIES: [(self.name, *each) for each in properties.items()]})
        self.registry.documents[self.name] = self

    @property
    def size(self) -> int:
        """How many nodes have arrived, whether or not they are kept."""
        return self._next_node - 1

    def places(self) -> dict[int, list[StreamNode]]:
        """The nodes of streams, by their parents."""
        found: dict[int, list[StreamNode]] = {}
        for nodes in self._streams.values():
            for each in nodes.values():
                found.setdefault(each.parent, []).append(each)
        return found

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that have not ended and have a place, in alphabetical order."""
        return tuple(sorted(stream for stream, places in self._streams.items() if places))

    def add(self, stream: str, fragment: str | bytes, *, at: Time | None = None) -> Commit:
        """Add what a stream brought: a copy of the fragment beside each of the stream's nodes.

        Where the fragment is malformed, the trees before the mistake are added, and then the error is raised. With `at`
        it came at that time, which is not before that of any other update.
        """
        text = _text(fragment)
        with self._lock:
            time, now = self._moved(at, "the update")
            self._drop_unneeded()
            reader = self.reader(self.arrival())
            mistake: DataError | None = None
            places = list(self._open_stream(stream))
            for place in places:
                try:
                    self._read(reader, text, place)
                except DataError as error:
                    mistake = error
            is_call = any(place.is_call for place in places)
            if is_call and mistake is None:
                self._check_result(stream, reader)
            returned = places if is_call and mistake is None else []
            also = {ENDS: [(self.name, stream, False)]} if returned else None
            self.clock.pass_time(now)
            commit = self.commit(reader.arrival, left=returned, also=also, time=time)
            if returned:
                self._drop_stream(stream)
            self.clock.follow(commit, lambda _: now)
        if mistake is not None:
            raise mistake
        return commit

    def end(self, stream: str, *, at: Time | None = None) -> Commit:
        """The stream brings nothing more. What only it could have brought will never come."""
        with self._lock:
            time, now = self._moved(at, "the end")
            places = list(self._open_stream(stream))
            self.clock.pass_time(now)
            commit = self.commit(self.arrival(), left=places, also={ENDS: [(self.name, stream, False)]}, time=time)
            self._drop_stream(stream)
            return commit

    def _drop_stream(self, stream: str) -> None:
        self._streams.pop(stream, None)
        self._ended.add(stream)

    def _check_result(self, call: str, reader: XmlReader | JsonReader) -> None:
        """A call returns one tree. What else comes is refused, and the call is still to return."""
        outside = {place.parent for place in self._streams[call].values()}
        if reader.trees != 1 or any(each.parent in outside for each in reader.arrival.streams):
            self.paths.forget_fresh()
            raise DataError(
                f"the call {call!r} of {self.name!r} returns one tree, and this is something else",
                hint="a stream, <?stream ...?>, brings several; inside of the tree there may be streams",
            )

    def calls(self) -> dict[str, list[StreamNode]]:
        """The places of calls that have not returned."""
        found = {name: list(nodes.values()) for name, nodes in self._streams.items()}
        return {name: nodes for name, nodes in found.items() if nodes and nodes[0].is_call}

    def supposed(self, results: Mapping[str, Shape]) -> WhatIf:
        """What would change if calls returned trees whose outermost nodes are these."""
        arrival, mark = self.arrival(), self.arrival().mark()
        reader = XmlReader(self.paths, self._limits, arrival)
        gone: list[StreamNode] = []
        try:
            for call, shape in results.items():
                inside = f"{_INSIDE}{call}"
                self._supposed[inside] = inside_of(shape, self.schema)
                for place in self._streams[call].values():
                    reader.fragment(shape.xml(inside, place.label), place)
                    gone.append(place)
            rows = {**arrival.tables(self.tables.element, self.tables.text), **self._stream_rows(arrival.streams)}
            old = self._stream_rows(gone)
            return self.database.what_if(
                insert={table: each for table, each in rows.items() if each},
                delete={table: each for table, each in old.items() if each},
            )
        finally:
            arrival.cut(mark)
            self._supposed.clear()
            self._openings.forget()

    def advance(self, to: Time) -> Commit:
        """Nothing came until then. Alerts whose time has run out are given."""
        with self._lock:
            time, now = self._moved(to, "the time")
            self.clock.pass_time(now)
            return self.commit(self.arrival(), time=time)

    def alert(self, path: str, *, after: str, unless: str, within: float, name: str) -> None:
        """Tell of nodes that have the one and lack the other for too long, as the table `NAME(node, of, due)`.

        `after` and `unless` are predicates of the nodes at the path: no delivery within 4 seconds of a payment is
        `doc.alert("/orders/order", after="payment", unless="delivery", within=4, name="late")`. An alert is given when
        the time of an update, or `advance`, is past the last moment, and it stays: what comes later came late.
        """
        with self._lock:
            queries = [
                self.query(f"{path}[{predicate}]", name=f"{name}_{what}")
                for what, predicate in (("after", after), ("unless", unless))
            ]
            self.clock.add(name, within, queries[0].name, queries[1].name, self._named)

    def _named(self, of: int | str) -> str:
        """What a node goes by in alerts: its path, unless it has a key."""
        return of if isinstance(of, str) else str(self.paths.all[of])

    def _moved(self, at: Time | None, what: str) -> tuple[float | None, float]:
        """The time of an update if it has one, which is not before the last; and what the time is then."""
        if at is None:
            return None, self.clock.now
        time = seconds(at)
        check_order(time, self.clock.time, what)
        return time, time

    def query(
        self,
        xpath: str,
        *,
        select: Mapping[str, str] | None = None,
        where: str | None = None,
        name: str | None = None,
    ) -> Query:
        """Ask for nodes, now and as more arrives. `name` is that of the relation that the answers are.

        A query that was asked before, by this name and text, is that one.

        With `select` answers are tuples: {"paid": "payment/@at"} has columns by their names, as paths below the node.
        `where` compares them: "sent <= paid + 4 and number = order".
        """
        with self._lock:
            chosen = name if name is not None else f"{self.name}_query{len(self.queries) + 1}"
            if not _NAME.fullmatch(chosen):
                raise TypeMismatchError(f"a query's name is a word, not {chosen!r}")
            query = Query(self, xpath, chosen, select, where)
            known = self.queries.get(chosen)
            if known is not None and known.text() == query.text():
                return known
            self._check_kept()
            if self.database.catalog().find(chosen) is not None:
                raise DuplicateNameError(f"there is a relation {chosen!r} already", hint="give the query another name=")
            query.define()
            self.database.insert(QUERIES, [self.registry.query_row(self.name, chosen, query.text())])
            self.queries[chosen] = query
            return query

    def delete(self, node: Node) -> Commit:
        """Take a node out, with all below it and the streams in there. Verdicts hold from change to change only then:
        what was true can become false, and what was never can become possible when something replaces it.
        """
        with self._lock:
            return self._replace(node, None)

    def replace(self, node: Node, fragment: str | bytes) -> Commit:
        """Put a fragment in the place of a node, in one commit."""
        with self._lock:
            return self._replace(node, _text(fragment))

    def path_of(self, node: int) -> Path:
        """The path of an element."""
        rows = self.database.page(self.tables.element, {"node": node}, limit=1)
        if not rows:
            raise DataError(f"there is no element {node} in {self.name!r}")
        return self.paths.all[int(str(rows[0][2]))]

    def _replace(self, node: Node, fragment: str | bytes | None) -> Commit:
        if self._keep != "all":
            raise StateError("nodes are replaced where all of them are kept", hint='open the document with keep="all"')
        found = self.database.page(self.tables.element, {"node": node.number}, limit=1)
        if not found:
            raise DataError(f"{node} is no element of {self.name!r}", hint="attributes and texts go with their element")
        elements, texts, streams = rows_below(self, found[0])
        arrival = self.arrival()
        if fragment is not None:
            parent, path = int(str(found[0][1])), self.paths.all[int(str(found[0][2]))].above
            try:
                self.reader(arrival).fragment(fragment, StreamNode(0, parent, path, ""))
            except DataError:
                self.paths.forget_fresh()
                raise
        gone: dict[str, list[Any]] = {}
        for table, rows in ((self.tables.element, elements), (self.tables.text, texts)):
            for row in rows:
                for each in (table, *self.paths.all[int(str(row[2]))].tables):
                    gone.setdefault(each, []).append(row)
        commit = self.commit(arrival, gone, streams)
        self.clock.follow(commit, lambda _: self.clock.now)
        return commit

    def collect(self) -> tuple[str, ...]:
        """Close the streams that are useless: what they bring from now on is read by nobody and not kept."""
        with self._lock:
            closed = self.useless()
            with self.database.batch() as batch:
                places = [each for stream in closed for each in self._streams[stream].values()]
                for table, rows in self._stream_rows(places).items():
                    batch.delete(table, rows)
                batch.insert(ENDS, [(self.name, stream, True) for stream in closed])
            for stream in closed:
                del self._streams[stream]
                self._closed.add(stream)
            return closed

    def useless(self) -> tuple[str, ...]:
        """The streams that cannot change any answer of any query any more. Without queries none is useful.

        An answer is a node, or its columns: what comes inside of an answer does not count as a change of it. A stream
        that is not among them is useful, or it would take too long to tell that it is not.
        """
        with self._lock:
            queries = [query for each in self.registry.documents.values() for query in each.queries.values()]
            return useless_streams(self, queries)

    def sibling(self, name: str) -> Document | None:
        """Another document of the same database, or this one."""
        return self.registry.documents.get(name)

    def owner(self, relation: str) -> Document | None:
        """The document of this database that keeps its nodes in a table."""
        for each in self.registry.documents.values():
            if relation in (each.tables.element, each.tables.text) or relation in each._routes:
                return each
        return None

    def add_routes(self, routes: Iterable[Route]) -> None:
        """Tables that queries read: they get the nodes that are there, and those that come."""
        fresh = {route.table: route for route in routes if route.table not in self._routes}
        if not fresh:
            return
        self._routes |= fresh
        for path in self.paths.all[1:]:
            path.tables = self._tables_of(path)
        new = [route for route in fresh.values() if self.database.catalog().find(route.table) is None]
        if new:
            self.database.rules("\n".join(route.declaration() for route in new), name=self.name)
            fill(self, new)

    def _tables_of(self, path: Path) -> tuple[str, ...]:
        return tuple(table for table, route in self._routes.items() if route.takes(path))

    def register(self, openings: Iterable[Opening]) -> list[OpenRow]:
        """New things that queries ask of streams; the rows that tell which streams can bring them."""
        return self._openings.add(openings, self._stream_nodes)

    def _stream_nodes(self) -> list[StreamNode]:
        return [each for places in self._streams.values() for each in places.values()]

    def _stream_rows(self, places: Iterable[StreamNode]) -> dict[str, list[Any]]:
        """The rows of nodes of streams, by their tables."""
        places = list(places)
        return {self.tables.stream: [each.row() for each in places], self.tables.open: self._openings.rows(places)}

    def source(self, stream: str, label: str) -> Source:
        """What a stream can bring: of its type, and in an array only values of the array."""
        labels = self._supposed[stream] if stream in self._supposed else self.schema.brought(stream)
        if label != ANYTHING:
            labels = frozenset((label,)) if labels is None else labels & {label}
        return Source(labels, self.form == "json", self.schema, brings_text=stream not in self._supposed or self.form == "xml")

    def resume(
        self,
        last_node: int,
        streams: Iterable[StreamNode],
        properties: Mapping[str, str],
    ) -> None:
        """Go on where the database was left."""
        self._next_node = last_node + 1
        for each in streams:
            self._streams.setdefault(each.stream, {})[each.node] = each
        for stream, is_closed in self.registry.ends(self.name):
            (self._closed if is_closed else self._ended).add(stream)
        self.clock.resume(properties, self._named)

    def arrival(self) -> Arrival:
        """Room for what comes next."""
        return Arrival(self.paths, self._next_node)

    def reader(self, arrival: Arrival) -> XmlReader | JsonReader:
        """What reads texts of the document's kind into an arrival."""
        kind = XmlReader if self.form == "xml" else JsonReader
        return kind(self.paths, self._limits, arrival)

    def _read(self, reader: XmlReader | JsonReader, text: str | bytes, place: StreamNode) -> None:
        """A fragment, checked against the type of its stream. What is not of its type is refused whole."""
        arrival = reader.arrival
        mark = arrival.mark()
        mistake: DataError | None = None
        try:
            reader.fragment(text, place)
        except DataError as error:
            mistake = error
        if self.schema.children or self.schema.streams:
            try:
                self.schema.check(place.stream, place.path, arrival.arrived_paths())
            except DataError:
                arrival.cut(mark)
                raise
        if mistake is not None:
            raise mistake

    def _drop_unneeded(self) -> None:
        """From the first update on, paths that no query looks at are passed over."""
        if self._keep == "needed" and not self._is_dropping:
            self._is_dropping = True
            needs = Needs(self.name)
            for owner in self.registry.documents.values():
                for query in owner.queries.values():
                    needs.add(query.path, owner.name, list((query.columns or {}).values()))
            self.paths.wanted = needs.wants
            for path in self.paths.all[1:]:
                path.wanted = needs.wants(path)

    def _check_kept(self) -> None:
        if self._is_dropping:
            raise StateError(
                f"what {self.name!r} has received is not kept, but for what its queries asked for",
                hint='ask all queries before the first update, or open the document with keep="all"',
            )

    def _check_kinds(self, streams: Iterable[StreamNode]) -> None:
        for each in streams:
            known = next(iter(self._streams.get(each.stream, {}).values()), each)
            if known.is_call != each.is_call:
                self.paths.forget_fresh()
                raise DataError(
                    f"{each.stream!r} is a stream in one place of {self.name!r} and a call in another",
                    hint="a stream goes on, and a call returns once: give them different names",
                )

    def _open_stream(self, stream: str) -> Iterable[StreamNode]:
        if stream in self._closed:
            return []
        if stream in self._ended:
            raise StateError(
                f"the stream {stream!r} of {self.name!r} has ended", hint="what comes after its end is not taken"
            )
        if stream not in self._streams:
            raise UnknownNameError(
                f"{self.name!r} has no stream {stream!r}",
                hint=did_you_mean(stream, self._streams) or f"it has {', '.join(self.streams) or 'none'}",
            )
        return self._streams[stream].values()

    def commit(
        self,
        arrival: Arrival,
        gone: Mapping[str, list[Any]] | None = None,
        left: Iterable[StreamNode] = (),
        also: Mapping[str, list[Any]] | None = None,
        time: float | None = None,
    ) -> Commit:
        """What arrived becomes rows, and what is gone leaves, in one commit, and so do nodes of streams."""
        streams = [each for each in arrival.streams if each.stream not in self._ended | self._closed]
        self._check_kinds(streams)
        changes: Mapping[str, object] = {
            self.tables.path: self.paths.rows(),
            **arrival.tables(self.tables.element, self.tables.text),
            **self._stream_rows(streams),
            **(also or {}),
        }
        try:
            with self.database.batch() as batch:
                for table, old in (*(gone or {}).items(), *self._stream_rows(left).items()):
                    if old:
                        batch.delete(table, old)
                for table, rows in changes.items():
                    if len(rows):  # type: ignore[arg-type]
                        batch.insert(table, rows)
                self.clock.set(batch, time)
        except BaseException:
            self.paths.forget_fresh()
            raise
        self.paths.fresh.clear()
        self._next_node = arrival.next
        for each in streams:
            self._streams.setdefault(each.stream, {})[each.node] = each
        for each in left:
            del self._streams[each.stream][each.node]
        if time is not None:
            self.clock.time = time
        assert batch.commit is not None
        return batch.commit


def _text(text: object) -> str | bytes:
    if not isinstance(text, str | bytes):
        raise TypeMismatchError(f"a document or a fragment is a text, not a {type(text).__name__}")
    if not text.strip():
        raise ParseError("the text is empty")
    return text
