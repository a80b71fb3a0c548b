"""A peer of an exchange, as its users see it: edits that stay at home until they are published, and what others
published, once it is exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from whence.adapt.peer_members import members_of, published_mappings
from whence.adapt.peers import OWN_TABLES, PENDING, PeerExchange, PeerStatus
from whence.adapt.preview import Preview
from whence.adapt.redefine import OpenSession
from whence.database.changes import TableChanges, program_text
from whence.errors import DataError
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Commit
from whence.session.batch import BatchChange
from whence.session.session import Session

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.database.database import Database
    from whence.lang.sql.parameters import Parameters


class PeerSessions(NamedTuple):
    """The sessions of the shared database, to be read, and of the peer's, to be read or changed; and how the latter
    commits rows.
    """

    shared: OpenSession
    reading: OpenSession
    changing: OpenSession
    commit: Callable[[list[BatchChange]], Commit]


class Peer(TableChanges):
    """`insert`, `delete` and all other changes of rows are for the tables that the peer has.

    `database` answers all questions about what the peer sees; its definitions are those of the exchange.
    """

    def __init__(self, name: str, shared: Database, database: Database, sessions: PeerSessions) -> None:
        self.name = name
        self.database = database
        self._shared, self._sessions = shared, sessions
        database.execute(OWN_TABLES)
        with self._exchange() as exchange:
            is_member = not database.catalog().relations.keys().isdisjoint(exchange.relations())
        if not is_member:
            # Who joins begins with what there is.
            self.exchange()

    def rows(self, relation: str) -> set[Row]:
        """The rows of a table or view as a set."""
        return self.database.rows(relation)

    def table(self, relation: str) -> pa.Table:
        """The rows of a table or view, sorted, with duplicates."""
        return self.database.table(relation)

    def query(self, sql: str | bytes, params: Parameters | None = None) -> pa.Table:
        """The answer to a SELECT over what the peer sees."""
        return self.database.query(sql, params)

    def mappings(self, text: str | bytes, *, name: str = "<mappings>") -> None:
        """Mappings to relations of this peer, in the place of those that they have. They wait to be published."""
        written = program_text(text, name)
        with self._sessions.shared() as session:
            published_mappings(written, name, self.name, members_of(session))
        with self._exchange() as exchange:
            number = 1 + max((number for number, _, _ in exchange.edits().mappings), default=0)
            self.database.insert(PENDING, [(number, name, written)])

    def publish(self) -> Commit | None:
        """Let others see what was edited here since: one commit of the shared database, if there is anything."""
        with self._exchange() as exchange:
            edits = exchange.edits()
            if not edits.rows and not edits.mappings:
                return None
            with self._shared.redefine() as change:
                exchange.publish(change, edits)
            if edits.mappings:
                self.database.delete(PENDING, list(edits.mappings))
            return change.commit

    def exchange(self) -> Commit:
        """Publish, and bring in what all others have published, rows and mappings, in one commit of this peer."""
        with self._exchange():
            self.publish()
            return self._bring_in(discards=False)

    def discard(self) -> Commit:
        """Forget what was edited here and not published, and bring in what all have published."""
        with self._exchange() as exchange:
            pending = exchange.edits().mappings
            if pending:
                self.database.delete(PENDING, list(pending))
            return self._bring_in(discards=True)

    def _bring_in(self, *, discards: bool) -> Commit:
        with self._sessions.shared() as shared, self._sessions.changing() as own:
            exchange = PeerExchange(self.name, shared, own)
            return exchange.make(exchange.plan(discards=discards))

    def preview(self, *, rows: bool = False) -> Preview:
        """What an exchange would do here, beside publishing: what is used again, and what is computed."""
        with self._exchange() as exchange:
            return exchange.preview(exchange.plan(), rows=rows)

    def status(self) -> PeerStatus:
        """What waits to be published, and how far behind the others the peer is."""
        with self._exchange() as exchange:
            return exchange.status()

    @contextmanager
    def _exchange(self) -> Generator[PeerExchange]:
        """Of the two databases all take the shared one first."""
        with self._sessions.shared() as shared, self._sessions.reading() as own:
            yield PeerExchange(self.name, shared, own)

    def _reading(self) -> AbstractContextManager[Session]:
        return self._sessions.reading()

    def _table(self, relation: object) -> Relation:
        found = super()._table(relation)
        with self._exchange() as exchange:
            tables = exchange.tables()
        if found.name not in tables:
            raise DataError(
                f"{found.name!r} does not belong to peer {self.name}",
                hint=f"it has {', '.join(tables)}" if tables else "all it has follows from mappings",
            )
        return found

    def _commit(self, changes: list[BatchChange]) -> Commit:
        return self._sessions.commit(changes)
