"""The public face of whence: a database whose views follow its tables."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from whence.errors import OutOfTimeError, ParseError, StateError, TypeMismatchError, UnsupportedError
from whence.model.catalog import Catalog
from whence.model.schema import Relation
from whence.model.types import Row, Type
from whence.model.updates import Commit
from whence.patience import time_left
from whence.questions.changes import ChangeQuestions
from whence.questions.looking import LookingQuestions
from whence.questions.why import WhyQuestions
from whence.session.batch import Batch, Delete, Insert, ignores_missing
from whence.session.clock import NOW
from whence.session.history import changes
from whence.session.session import Session
from whence.session.subscriptions import Callback, Subscription
from whence.session.waiting import WaitingEngine
from whence.sources.rows import read_rows
from whence.sources.text import decode

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.explain.explain import Explanation


class Database(ChangeQuestions, WhyQuestions, LookingQuestions):
    """Tables, views over them, and the changes of both. Threads may share it: calls take turns."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.RLock()
        self._closed = False
        self._in_change = False

    def execute(
        self, sql: str | bytes, *, name: str = "<sql>", directory: str | os.PathLike[str] = "."
    ) -> Commit | None:
        """Run SQL statements, separated by `;`, and return the commit of the last one, if it did anything.

        Nothing runs unless all of the text can be understood; then each statement is a commit of its own. `name` is
        what errors call the text; files that it mentions are looked for in `directory`.
        """
        from whence.lang.sql.parse import parse_sql
        from whence.session.statements import apply_statement

        text = _program(sql, name)
        with self._changing() as session:
            statements = parse_sql(text, session.definitions.catalog(), name)
            if not statements:
                raise ParseError("the program is empty")
            commit = None
            for statement in statements:
                commit = apply_statement(session, statement, Path(directory))
            return commit

    def rules(self, text: str | bytes, *, name: str = "<rules>", directory: str | os.PathLike[str] = ".") -> Commit:
        """Add a Datalog program: relations with rules become views, facts and `.input` files rows of tables."""
        from whence.lang.datalog.parse import parse_datalog
        from whence.session.rules import apply_rules

        text = _program(text, name)
        with self._changing() as session:
            return apply_rules(session, parse_datalog(text, name), Path(directory))

    def function(self, name: str, function: Callable[..., object], *, returns: str | Type) -> None:
        """Make a Python function callable in SQL and rules. It gets None for NULL, and must be deterministic."""
        with self._changing() as session:
            session.register(name, function, returns)

    def insert(self, relation: str, rows: object) -> Commit:
        """Add rows to a table: tuples, dicts, an Arrow table or a data frame."""
        table = self._table(relation)
        return self._commit([Insert(table, read_rows(rows, table))])

    def delete(self, relation: str, rows: object, *, missing: Literal["error", "ignore"] = "error") -> Commit:
        """Take rows out of a table, one copy for each row given. Rows that are not there are an error, or ignored."""
        table = self._table(relation)
        return self._commit([Delete(table, read_rows(rows, table), ignores_missing(missing))])

    def batch(self) -> Batch:
        """Several changes as one commit: `with db.batch() as batch: batch.insert(...); batch.delete(...)`."""
        with self._reading():
            return Batch(self._table, self._commit)

    def advance(self, moment: object = NOW) -> Commit:
        """Move time forward, and drop the rows whose time to live has passed.

        Without a moment, or with "now", it is the time on the wall, in UTC.
        """
        with self._changing() as session:
            return session.advance(moment)

    def rows(self, relation: str) -> set[Row]:
        """The rows of a table or view, each once."""
        with self._reading() as session:
            counts = session.engine.counts(session.definitions.relation(relation).name)
            return {row for row, count in counts.items() if count > 0}

    def table(self, relation: str) -> pa.Table:
        """The rows of a table or view, sorted, with duplicates."""
        from whence.session.arrow import contents_table

        with self._reading() as session:
            found = session.definitions.relation(relation)
            return contents_table(found, session.engine.counts(found.name))

    def df(self, relation: str) -> Any:
        """The rows of a table or view as a Spark DataFrame, if the database is on Spark."""
        with self._reading() as session:
            session.definitions.relation(relation)
        raise UnsupportedError(
            "only a database on Spark has DataFrames", hint="table() gives an Arrow table, which pandas and others take"
        )

    def query(self, sql: str | bytes, *, limit: int | None = None, timeout: float | None = None) -> pa.Table:
        """The answer to a SELECT over tables and views: its first `limit` rows, unless it takes `timeout` seconds."""
        from whence.session.arrow import any_order_table
        from whence.session.query import run_query

        text = decode(sql, "<query>", ParseError) if isinstance(sql, bytes) else sql
        with self._reading() as session:

            def table(relation: Relation) -> pa.Table:
                return any_order_table(relation, session.engine.counts(relation.name))

            return run_query(text, session.definitions, table, limit, timeout)

    def changes(self, relation: str, since: int | None = None) -> pa.Table:
        """What was inserted and deleted by the commits after version `since`, or by all of them.

        The changes of old versions are forgotten (see `connect`); to ask for them is an error.
        """
        from whence.session.arrow import changes_table

        if isinstance(since, bool) or not isinstance(since, int | None):
            raise TypeMismatchError(f"since is the version of a commit, a number, not {since!r}")
        with self._reading() as session:
            found = session.definitions.relation(relation)
            return changes_table(found, changes(found, session.history.since(found.name, since or 0)))

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
            engine = session.engine
            if isinstance(engine, WaitingEngine):
                # A view that waits has no plan, and says what it waits for when its rows are asked for.
                engine.counts(name)
                engine = engine.engine
            return explain(name, definitions.analysis, definitions.functions, engine, analyze=analyze)

    def catalog(self) -> Catalog:
        """The tables and views that there are, with their columns, and the registered functions."""
        with self._reading() as session:
            return session.definitions.catalog()

    @property
    def version(self) -> int:
        """The version of the latest commit; 0 before the first."""
        return self._session.version

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
        with self._lock:
            if not self._closed:
                self._closed = True
                self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        if not self._lock.acquire(timeout=time_left()):
            raise OutOfTimeError("the database is busy with a commit or with another question", hint="ask again later")
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

    @contextmanager
    def _changing(self) -> Iterator[Session]:
        with self._reading():
            if self._in_change:
                raise StateError(
                    "the database is in the middle of a change",
                    hint="a function that views call must not change the database",
                )
        try:
            with self._reading() as session:
                self._in_change = True
                try:
                    yield session
                finally:
                    self._in_change = False
        finally:
            # Outside of the lock, so that subscribers may wait for other users of the database; and also after an
            # error, because the statements before a failing one have happened.
            self._session.subscriptions.deliver()

    def _table(self, relation: str) -> Relation:
        with self._reading() as session:
            return session.definitions.table(relation)

    def _commit(self, changes: list[Insert | Delete]) -> Commit:
        with self._changing() as session:
            for change in changes:
                if session.definitions.table(change.relation.name) != change.relation:
                    raise StateError(f"table {change.relation.name!r} has changed since its rows were read")
            session.expect(changes)
            draft = session.draft()
            for change in changes:
                change.add_to(draft)
            return session.commit(draft)


def _program(text: object, name: str) -> str:
    """The text of a program, which must not be empty."""
    if isinstance(text, bytes):
        text = decode(text, name, ParseError)
    if not isinstance(text, str):
        raise TypeMismatchError(f"a program is text, not a {type(text).__name__}")
    if not text.strip():
        raise ParseError("the program is empty")
    return text
