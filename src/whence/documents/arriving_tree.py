"""A tree with streams, as tables of a database: what it has in memory beside them, and how it grows by commits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whence.database.database import Database
from whence.documents.alerts import Clock
from whence.documents.calls import Shape, inside_of
from whence.documents.json_reader import JsonReader
from whence.documents.nodes import ANYTHING, Arrival, Limits, Path, Paths, StreamNode
from whence.documents.places import Route, Tables
from whence.documents.registry import fill
from whence.documents.satisfiable import Opening, Openings, Source
from whence.documents.satisfiable import Row as OpenRow
from whence.documents.schema import Schema
from whence.documents.xml_reader import XmlReader
from whence.errors import DataError, StateError, UnknownNameError, did_you_mean
from whence.model.updates import Commit

if TYPE_CHECKING:
    from whence.explain.hypothetical.what_if import WhatIf

Format: TypeAlias = Literal["xml", "json"]
# Stands below the outermost node of what a call may return, while that is tried.
_INSIDE = "inside-"


class ArrivingTree:
    """Paths, streams and what queries ask of both. Each change is one commit, and what is in memory follows it."""

    def __init__(self, form: Format, name: str, database: Database, schema: Schema, limits: Limits) -> None:
        self.name = name
        self.form = form
        self.database = database
        self.schema = schema
        self.limits = limits
        self.tables = Tables(name)
        self.paths = Paths(limits)
        self.paths.tables = self._tables_of
        self.clock = Clock(name, database)
        self._next_node = 1
        self._streams: dict[str, dict[int, StreamNode]] = {}
        self._ended: set[str] = set()
        self._closed: set[str] = set()
        self._openings = Openings(self.source)
        self._routes: dict[str, Route] = {}
        self._supposed: dict[str, frozenset[str] | None] = {}

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

    def calls(self) -> dict[str, list[StreamNode]]:
        """The places of calls that have not returned."""
        found = {name: list(nodes.values()) for name, nodes in self._streams.items()}
        return {name: nodes for name, nodes in found.items() if nodes and nodes[0].is_call}

    def supposed(self, results: Mapping[str, Shape]) -> WhatIf:
        """What would change if calls returned trees whose outermost nodes are these."""
        arrival, mark = self.arrival(), self.arrival().mark()
        reader = XmlReader(self.paths, self.limits, arrival)
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

    def path_of(self, node: int) -> Path:
        """The path of an element."""
        rows = self.database.page(self.tables.element, {"node": node}, limit=1)
        if not rows:
            raise DataError(f"there is no element {node} in {self.name!r}")
        return self.paths.all[int(str(rows[0][2]))]

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
        return Source(
            labels, self.form == "json", self.schema, brings_text=stream not in self._supposed or self.form == "xml"
        )

    def resume(
        self,
        last_node: int,
        streams: Iterable[StreamNode],
        ends: Iterable[tuple[str, bool]],
        properties: Mapping[str, str],
    ) -> None:
        """Go on where the database was left."""
        self._next_node = last_node + 1
        for each in streams:
            self._streams.setdefault(each.stream, {})[each.node] = each
        for stream, is_closed in ends:
            (self._closed if is_closed else self._ended).add(stream)
        self.clock.resume(properties, self.named)

    def named(self, of: int | str) -> str:
        """What a node goes by in alerts: its path, unless it has a key."""
        return of if isinstance(of, str) else str(self.paths.all[of])

    def reads(self, relation: str) -> bool:
        """Whether a table has nodes of this tree."""
        return relation in (self.tables.element, self.tables.text) or relation in self._routes

    def arrival(self) -> Arrival:
        """Room for what comes next."""
        return Arrival(self.paths, self._next_node)

    def reader(self, arrival: Arrival) -> XmlReader | JsonReader:
        """What reads texts of the document's kind into an arrival."""
        kind = XmlReader if self.form == "xml" else JsonReader
        return kind(self.paths, self.limits, arrival)

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

    def _check_kinds(self, streams: Iterable[StreamNode]) -> None:
        for each in streams:
            known = next(iter(self._streams.get(each.stream, {}).values()), each)
            if known.is_call != each.is_call:
                self.paths.forget_fresh()
                raise DataError(
                    f"{each.stream!r} is a stream in one place of {self.name!r} and a call in another",
                    hint="a stream goes on, and a call returns once: give them different names",
                )

    def _check_result(self, call: str, reader: XmlReader | JsonReader) -> None:
        """A call returns one tree. What else comes is refused, and the call is still to return."""
        outside = {place.parent for place in self._streams[call].values()}
        if reader.trees != 1 or any(each.parent in outside for each in reader.arrival.streams):
            self.paths.forget_fresh()
            raise DataError(
                f"the call {call!r} of {self.name!r} returns one tree, and this is something else",
                hint="a stream, <?stream ...?>, brings several; inside of the tree there may be streams",
            )

    def _drop_stream(self, stream: str) -> None:
        self._streams.pop(stream, None)
        self._ended.add(stream)

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
