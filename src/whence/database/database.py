"""The public face of whence: a database whose views follow its tables."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from whence.database.changes import FolderFeed, TableChanges, program_text
from whence.database.hypothetical import ChangeQuestions
from whence.database.overview import OverviewQuestions
from whence.database.why import WhyQuestions
from whence.deadline import time_left
from whence.errors import OutOfTimeError, ParseError, StateError, TypeMismatchError, UnsupportedError
from whence.interrupts import held, raise_waiting, steady_context
from whence.model.file_options import file_options
from whence.model.program import Catalog, CopyTo
from whence.model.schema import Relation
from whence.model.types import Row, Type
from whence.model.updates import Commit, Version
from whence.session.batch import BatchChange, StatementChange
from whence.session.draft import Draft
from whence.session.feeds import Callback, CommitTotals, Subscription, feed_table
from whence.session.lifetimes import NOW
from whence.session.session import Session
from whence.sources.text_files import decode

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.adapt.preview import Preview
    from whence.adapt.redefine import DefinitionChange, OpenSession
    from whence.database.peer import Peer
    from whence.explain.explain import Explanation
    from whence.lang.sql.parameters import Parameters
    from whence.rewriting.search import SearchLimits
    from whence.session.query import Query


# Seconds after which a thread that waits for its turn checks for an interrupt.
_SECONDS_BETWEEN_CHECKS = 0.1


class Database(TableChanges, ChangeQuestions, WhyQuestions, OverviewQuestions):
    """Tables, views over them, and the changes of both. Threads may share it: calls take turns."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.RLock()
        self._closed = False
        self._in_change = False
        # How the database of a peer is opened, by the name of the peer; and those that are.
        self.open_beside: Callable[[str], Database] | None = None
        self._peers: dict[str, Peer] = {}

    def execute(
        self,
        sql: str | bytes,
        params: Parameters | None = None,
        *,
        name: str = "<sql>",
        directory: str | os.PathLike[str] = ".",
    ) -> Commit | None:
        """Run SQL statements, separated by `;`, and return the commit of the last one, if it did anything.

        Nothing runs unless all of the text can be understood; then each statement is a commit of its own. `params` are
        the values for `?`, a list, or for `:name`, a dict. `name` is what errors call the text; files that it mentions
        are looked for in `directory`.
        """
        from whence.lang.sql.parse import parse_sql
        from whence.session.statements import apply_statement
        from whence.sources.written_files import write_rows

        text = program_text(sql, name)
        with self._changing() as session:
            statements = parse_sql(text, session.definitions.catalog, name, params)
            if not statements:
                raise ParseError("the program is empty")
            commit = None
            for statement in statements:
                if isinstance(statement, CopyTo):
                    options = file_options(dict(statement.options))
                    write_rows(self.query(statement.query), Path(directory) / statement.path, options)
                    continue
                commit = apply_statement(session, statement, Path(directory))
            return commit

    def rules(
        self,
        text: str | bytes,
        *,
        name: str = "<rules>",
        directory: str | os.PathLike[str] = ".",
        outside: bool = False,
    ) -> Commit:
        """Add a Datalog program: relations with rules become views, facts and `.input` files rows of tables.

        Files are read from below `directory`, and with `outside` from elsewhere, too. Those that the text includes are
        beside the text where `name` is the path of its file.
        """
        from whence.lang.datalog.parse import parse_datalog
        from whence.lang.datalog.preprocessor import preprocessed
        from whence.session.rules import apply_rules

        # Before the lock is taken.
        folder = Path(name).parent if Path(name).is_file() else Path(directory)
        written = preprocessed(program_text(text, name), name, folder)
        parsed = parse_datalog(written, name, self._session.definitions.visible)
        with self._changing() as session:
            return apply_rules(session, parsed, Path(directory), outside=outside)

    def mappings(self, text: str | bytes, *, name: str = "<mappings>") -> Commit:
        """Add mappings between schemas, such as `bioentry(E, T, N), term(T, "gene") -> gene(E, N).`, from a text.

        A variable that only the right side has becomes a Skolem term over those that both sides have. To give other
        mappings to a target that exists, use `redefine`.
        """
        with self.redefine() as change:
            change.add_mappings(text, name=name)
        assert change.commit is not None
        return change.commit

    def peer(self, name: str) -> Peer:
        """Who has the relations that mappings group under this name: `peer GeneOrg { gene }`.

        A peer edits its tables at its own place, lets others see that by `publish`, and sees what others published
        by `exchange`.
        """
        from whence.adapt.peer_members import check_peer

        with self._reading() as session:
            check_peer(session, name)
            found = self._peers.get(name)
            if found is None or found.database.closed:
                if self.open_beside is None:
                    raise UnsupportedError("this database is only read, and peers change theirs")
                own = self.open_beside(name)
                try:
                    found = self._peers[name] = own.joined(name, self, self._reading)
                except BaseException:
                    own.close()
                    raise
            return found

    def joined(self, name: str, shared: Database, reading: OpenSession) -> Peer:
        """This database as that of a peer of another one, whose session is opened for `reading`."""
        from whence.database.peer import Peer, PeerSessions

        return Peer(name, shared, self, PeerSessions(reading, self._reading, self._changing, self._commit))

    def redefine(self, *, search: SearchLimits | None = None) -> DefinitionChange:
        """Definitions and rows that change in one step: `with db.redefine() as change: change.execute(...)`.

        Old contents of views are used for new ones where that is cheaper than to compute them again. `search` says how
        far to look for plans.
        """
        from whence.adapt.redefine import DefinitionChange

        return DefinitionChange(self._reading, self._changing, search)

    def preview(self, sql: str | bytes, *, rows: bool = False) -> Preview:
        """What CREATE, CREATE OR REPLACE, ALTER TABLE and DROP statements would do, all in one step: what is used
        again, what is computed, by which plan, at what estimated cost; with `rows` also what would come and go.
        """
        change = self.redefine()
        change.execute(sql)
        return change.preview(rows=rows)

    def keep_derivations(self, is_kept: bool = True) -> None:
        """Whether views that are defined from now on keep how each of their rules derived their rows."""
        with self._reading() as session:
            session.keeps_derivations = is_kept

    def undo_definition(self) -> Commit:
        """Go back to the definitions from before the last change of them, in one commit. Rows of tables stay."""
        from whence.adapt.undo import undo_definition

        with self._changing() as session:
            return undo_definition(session)

    def function(self, name: str, function: Callable[..., object], *, returns: str | Type) -> None:
        """Make a Python function callable in SQL and rules. It gets None for NULL, and must be deterministic."""
        with self._changing() as session:
            session.register(name, function, returns)

    def advance(self, moment: object = NOW) -> Commit:
        """Move time forward, and drop the rows whose time to live has passed.

        Without a moment, or with "now", it is the time on the wall, in UTC.
        """
        with self._changing() as session:
            return session.advance(moment)

    def rows(self, relation: str) -> set[Row]:
        """The rows of a table or view as a set: copies of a row are dropped, and `table` has them."""
        with self._reading() as session:
            counts = session.counts(session.definitions.relation(relation).name)
            return {row for row, count in counts.items() if count > 0}

    def table(self, relation: str) -> pa.Table:
        """The rows of a table or view, sorted, with duplicates."""
        from whence.session.contents import contents_table

        with self._reading() as session:
            found = session.definitions.relation(relation)
            return contents_table(found, session.counts(found.name))

    def df(self, relation: str, *, version: int | None = None) -> Any:  # noqa: ARG002 - for a database on Spark
        """The rows of a table or view as a Spark DataFrame, if the database is on Spark."""
        with self._reading() as session:
            session.definitions.relation(relation)
        raise UnsupportedError(
            "only a database on Spark has DataFrames", hint="table() gives an Arrow table, which pandas and others take"
        )

    def define(self, *_: Any) -> None:
        """Make views of decorated functions, if the database is on Spark."""
        raise UnsupportedError(
            "only a database on Spark has views that are defined by functions over DataFrames",
            hint="define the view in SQL, with execute(...), or in Datalog, with rules(...)",
        )

    def query(
        self,
        sql: str | bytes,
        params: Parameters | None = None,
        *,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> pa.Table:
        """The answer to a SELECT over tables and views: its first `limit` rows, unless it takes `timeout` seconds.

        `params` are the values for `?`, a list, or for `:name`, a dict.
        """
        return self.prepare_query(sql, params).run(limit, timeout)

    def prepare_query(self, sql: str | bytes, params: Parameters | None = None) -> Query:
        """A SELECT with all that it reads, to be run later or elsewhere. Meanwhile the database is free for others."""
        from whence.session.contents import any_order_table
        from whence.session.listings import is_listing, listing
        from whence.session.query import parsed_query

        text = decode(sql, "<query>", ParseError) if isinstance(sql, bytes) else sql
        if is_listing(text):
            with self._reading() as session:
                return listing(text, session.definitions)
        parsed = parsed_query(text, params)
        with self._reading() as session:

            def table(relation: Relation) -> pa.Table:
                return any_order_table(relation, session.counts(relation.name))

            return parsed.prepared(session.definitions, table)

    def changes(self, relation: str, since: int | None = None) -> pa.Table:
        """What was inserted and deleted by the commits after version `since`, or by all of them.

        The changes of old versions are forgotten (see `connect`); to ask for them is an error.
        """
        if isinstance(since, bool) or not isinstance(since, int | None):
            raise TypeMismatchError(f"since is the version of a commit, a number, not {since!r}")
        with self._reading() as session:
            found = session.definitions.relation(relation)
            return feed_table(found, session.journal.since(found.name, Version(since or 0)))

    def follow_folder(self, relation: str, folder: str | os.PathLike[str], **options: str) -> FolderFeed:
        """Files of a folder for a table: `poll()` loads those that have come since, each in a commit of its own.

        `options` are those of COPY, such as `sep=";"`.
        """
        return FolderFeed(self, relation, Path(folder), options)

    def subscribe(self, relation: str, callback: Callback) -> Subscription:
        """Call `callback` with an Arrow table of the changes, as `changes` gives them, after every commit that made
        any. The handle's `cancel()` ends it.
        """
        if not callable(callback):
            raise TypeMismatchError(f"subscribe needs something that can be called, not a {type(callback).__name__}")
        with self._reading() as session:
            return session.subscriptions.add(session.definitions.relation(relation).name, callback)

    def explain(self, relation: str, *, analyze: bool = False) -> Explanation:
        """How a view is kept up to date, as a text; with `analyze` also what the last commit cost it.

        Of a table it tells how long rows live, and who reads it.
        """
        from whence.explain.explain import explain

        with self._reading() as session:
            definitions = session.definitions
            name = definitions.relation(relation).name
            # A view that waits has no plan, and says what it waits for when its rows are asked for.
            session.counts(name)
            return explain(name, definitions.analysis, definitions.functions, session.engine, analyze=analyze)

    def lineage(self, view: str, namespace: str = "whence") -> list[dict[str, Any]]:
        """What a view is made from, column by column: an OpenLineage event for it, after those of the views below it.

        Datasets and jobs are called by the names of relations, in this namespace.
        """
        from whence.explain.lineage import Lineage

        sizes = {each.relation.name: each.size or 0 for each in self.overview().relations}
        with self._reading() as session:
            relation = session.definitions.relation(view)
            found = Lineage(session.definitions.analysis, namespace)
            return [*found.events(relation.name, session.version, session.timestamp, sizes)]

    def catalog(self) -> Catalog:
        """The tables and views that there are, with their columns, and the registered functions."""
        with self._reading() as session:
            return session.definitions.catalog

    @property
    def version(self) -> Version:
        """The version of the latest commit; 0 before the first."""
        return self._session.version

    @property
    def totals(self) -> CommitTotals:
        """What the commits of this process add up to."""
        return self._session.totals

    @property
    def notices(self) -> tuple[str, ...]:
        """What is worth knowing about the definitions so far, and no error."""
        return tuple(self._session.notices)

    @property
    def closed(self) -> bool:
        """Whether it takes no more calls."""
        return self._closed

    def close(self) -> None:
        """No more calls. Closing again does nothing."""
        with held():
            self._take_turn()
            try:
                if not self._closed:
                    self._closed = True
                    for peer in self._peers.values():
                        peer.database.close()
                    self._session.close()
            finally:
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _take_turn(self) -> None:
        """One thread at a time, and within it calls within calls. A thread that waits can be interrupted."""
        if self._lock.acquire(blocking=False):
            return
        while not self._lock.acquire(timeout=_within(time_left(), _SECONDS_BETWEEN_CHECKS)):
            raise_waiting()
            if time_left() == 0:
                raise OutOfTimeError(
                    "the database is busy with a commit or with another question", hint="ask again later"
                )

    @steady_context
    def _reading(self) -> Generator[Session, None, None]:
        self._take_turn()
        try:
            if self._closed:
                raise StateError("this database is closed", hint="connect() opens another one")
            if not self._session.intact and not self._in_change:
                raise StateError(
                    "a change was interrupted and could not be taken back",
                    hint="close this database; one in a directory can be opened again, without that change",
                )
            yield self._session
        finally:
            self._lock.release()

    @steady_context
    def _changing(self) -> Generator[Session, None, None]:
        is_inside = False
        try:
            with self._reading() as session:
                is_inside = self._in_change
                if is_inside:
                    raise StateError(
                        "the database is in the middle of a change",
                        hint="a function that views call must not change the database",
                    )
                self._in_change = True
                try:
                    yield session
                finally:
                    self._in_change = False
        finally:
            # Outside of the lock, so that subscribers may wait for other users of the database; and also after an
            # error, because the statements before a failing one have happened.
            if not is_inside and self._session.subscriptions.queue:
                self._session.subscriptions.deliver()

    def _table(self, relation: object) -> Relation:
        # A commit looks whether the table is still the same, so that nobody has to wait for it twice.
        tables = self._session.definitions.tables
        known = tables.get(relation) if isinstance(relation, str) and not self._closed else None
        return super()._table(relation) if known is None else known

    def _commit(self, changes: list[BatchChange]) -> Commit:
        with self._changing() as session:
            for change in changes:
                name, tables = change.relation.name, session.definitions.tables
                if tables.get(name) is not change.relation and session.definitions.table(name) != change.relation:
                    raise StateError(f"table {name!r} has changed since its rows were read")
            return session.commit(self._draft(session, changes))

    def _draft(self, session: Session, changes: Sequence[BatchChange]) -> Draft:
        session.expect([change for change in changes if not isinstance(change, StatementChange)])
        draft = session.draft()
        for change in changes:
            change.add_to(draft)
        return draft


def _within(time: float, most: float) -> float:
    """Of a time to wait, which is negative if it has no end, so much at most."""
    return most if time < 0 else min(time, most)
