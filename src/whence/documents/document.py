"""Documents that are still arriving: trees with streams, kept as relations of a database."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any, Literal, Self

from whence.database.connect import connect
from whence.database.database import Database
from whence.documents.alerts import Time, check_order, seconds
from whence.documents.arriving_tree import ArrivingTree, Format
from whence.documents.nodes import DEFAULT_LIMITS, Limits, StreamNode
from whence.documents.places import Needs
from whence.documents.query import Node, Query
from whence.documents.registry import (
    ENDS,
    PROPERTIES,
    QUERIES,
    limits_text,
    read_limits,
    read_schema,
    registry_of,
    restore,
    schema_text,
)
from whence.documents.scenarios import useless_streams
from whence.documents.schema import UNTYPED, Schema
from whence.documents.subtree import rows_below
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

Keep = Literal["all", "needed"]
_NAME = re.compile(r"[^\W\d]\w*")


class Document(ArrivingTree):
    """A tree that grows while it is read. `Document.xml` and `Document.json` make one.

    Its nodes are rows of `database`: NAME_element, NAME_text (attributes too), NAME_stream and NAME_path. Each call
    that changes it is one commit.
    """

    def __init__(
        self, form: Format, name: str, database: Database | None, keep: Keep, schema: Schema, limits: Limits
    ) -> None:
        if not _NAME.fullmatch(name):
            raise TypeMismatchError(f"a document's name is a word, not {name!r}", hint="its tables begin with it")
        if keep not in ("all", "needed"):
            raise TypeMismatchError(f'keep is "all" or "needed", not {keep!r}')
        super().__init__(form, name, connect() if database is None else database, schema, limits)
        self.queries: dict[str, Query] = {}
        self.registry = registry_of(self.database)
        self._keep = keep
        self._is_dropping = False
        self._lock = threading.RLock()

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
            document.drop_unneeded()
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
        schema, limits = schema_text(self.schema), limits_text(self.limits)
        properties = {"form": self.form, "keep": self._keep, "schema": schema, "limits": limits}
        self.commit(reader.arrival, also={PROPERTIES: [(self.name, *each) for each in properties.items()]})
        self.registry.documents[self.name] = self

    def add(self, stream: str, fragment: str | bytes, *, at: Time | None = None) -> Commit:
        """Add what a stream brought: a copy of the fragment beside each of the stream's nodes.

        Where the fragment is malformed, the trees before the mistake are added, and then the error is raised. With `at`
        it came at that time, which is not before that of any other update.
        """
        text = _text(fragment)
        with self._lock:
            time, now = self._moved(at, "the update")
            self.drop_unneeded()
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
            self.clock.add(name, within, queries[0].name, queries[1].name, self.named)

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
            if each.reads(relation):
                return each
        return None

    def drop_unneeded(self) -> None:
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


def _text(text: object) -> str | bytes:
    if not isinstance(text, str | bytes):
        raise TypeMismatchError(f"a document or a fragment is a text, not a {type(text).__name__}")
    if not text.strip():
        raise ParseError("the text is empty")
    return text
