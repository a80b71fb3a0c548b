"""A database whose rows are on a Spark cluster, with the face of every database and a little more."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from typing import Literal

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.columns.arrow import ArrowRows
from whence.database.database import Database
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.errors import spark_errors, unreadable_file
from whence.engines.spark.pages import DEFAULT_PAGING, Paging
from whence.errors import DataError, ParseError, StateError, UnsupportedError
from whence.explain.explain import Explanation
from whence.interrupts import held, interruptible, steady_context
from whence.lang.sql.parameters import Parameters
from whence.model.schema import Relation
from whence.model.types import Type
from whence.model.updates import Commit
from whence.session.batch import BatchChange
from whence.session.changes import ignores_missing
from whence.session.draft import Draft
from whence.session.journal import KEEP_VERSIONS
from whence.session.lifetimes import Clock
from whence.session.listings import is_listing
from whence.session.query import Query
from whence.session.session import Session
from whence.sources.keys import are_key_columns, are_keys, check_has_key, key_relation
from whence.sources.text_files import decode
from whence.spark import bulk_load
from whence.spark.bulk_keys import deleted_by_key, upserted
from whence.spark.bulk_load import BulkChecks, BulkDraft, few_rows
from whence.spark.column_load import ColumnChecks
from whence.spark.decorators import MaterializedView, Pipeline
from whence.spark.explain import explain_on_spark
from whence.spark.export import Export
from whence.spark.home import StorageHome
from whence.spark.journal import ClusterJournal, open_session
from whence.spark.lifetimes import UPCOMING
from whence.spark.publication import Publisher
from whence.spark.query import SparkQuery
from whence.spark.sessions import check_running, own_session
from whence.spark.source import register
from whence.spark.streams.handle import RunningStreams, Streams
from whence.spark.udfs import publish_function
from whence.storage.files.database_files import later_changes
from whence.storage.files.files import open_files
from whence.storage.files.store import Storage
from whence.storage.sqlite.files import damaged

_NOT_HAPPENED = "it has not happened, and can be tried again"


class SparkDatabase(Database):
    """Tables and views on Spark. `spark.sql` sees them under their names, as they are after the last commit."""

    def __init__(
        self,
        spark: SparkSession,
        root: str | None,
        maintenance: str = "auto",
        limits: RecursionLimits = DEFAULT_LIMITS,
        keep_versions: int = KEEP_VERSIONS,
        paging: Paging = DEFAULT_PAGING,
    ) -> None:
        own = own_session(spark)
        with held():
            storage = Storage.open(own, root, keep_versions)
            try:
                home = StorageHome(storage)
                engine = SparkEngine(own, home, maintenance, limits, paging)
                definitions = storage.definitions()
                journal = ClusterJournal(storage, home, engine, definitions)
                session = interruptible(lambda: open_session(engine, journal, storage, home, definitions))
            except BaseException:
                storage.close()
                raise
        super().__init__(session)
        self._engine, self._journal, self._home = engine, journal, home
        self._bulk, self._columns = BulkChecks(engine, home), ColumnChecks(engine)
        self._publisher = Publisher(spark, engine, storage, home)
        self._spark, self._own, self._storage = spark, own, storage
        self._streams = Streams(spark, storage, engine, home, self._changing, is_kept=root is not None)
        self._exports: list[Export] = []
        # Nobody wants views of files that are gone. At the end of the process there is no Spark any more.
        self._forgotten = weakref.finalize(self, _in_background, self._publisher.withdraw_all)
        self._forgotten.atexit = False
        register(spark)
        self._publish()

    def df(self, relation: str, *, version: int | None = None) -> DataFrame:
        """The rows of a table or view as they are now, copies included, as a DataFrame of the user's session.

        With a `version`, as they were then: `connect(keep_versions=...)` tells for how many of the last commits.
        """
        with self._reading() as session:
            found = session.definitions.relation(relation)
            later = later_changes(self._storage.files, self._storage.current, found, version)
            return self._publisher.frame(found, later)

    def function(self, name: str, function: Callable[..., object], *, returns: str | Type) -> None:
        super().function(name, function, returns=returns)
        publish_function(self._spark, self._session.definitions.functions[name.lower()])

    def prepare_query(self, sql: str | bytes, params: Parameters | None = None) -> Query:
        text = decode(sql, "<query>", ParseError) if isinstance(sql, bytes) else sql
        if is_listing(text):
            return super().prepare_query(text, params)
        return SparkQuery(text, params, self._reading, self._publisher)

    def explain(self, relation: str, *, analyze: bool = False) -> Explanation:
        with self._reading() as session:
            name = session.definitions.relation(relation).name
            # A view that waits for a function has no plan, and says so.
            session.counts(name)
            return explain_on_spark(name, session.definitions.analysis, self._engine, analyze=analyze)

    def insert(self, relation: str, rows: object) -> Commit:
        given = self._given(relation, rows)
        done = self._in_columns(relation, given, self._columns.inserted)
        if done is not None:
            return done
        if not isinstance(rows, DataFrame) or _are_few(given, self._table(relation)):
            return super().insert(relation, given)
        with self._changing() as session:
            table = session.definitions.table(relation)
            with self._engine.phase(table.name, "check the rows that come"):
                draft = self._bulk.inserted(rows, table, session.clock)
            return session.commit(draft)

    def delete(self, relation: str, rows: object, *, missing: Literal["error", "ignore"] = "error") -> Commit:
        given, ignored = self._given(relation, rows), ignores_missing(missing)
        done = self._in_columns(relation, given, self._columns.deleted, by_key=self._columns.deleted_by_key)
        if done is not None:
            return done
        if not isinstance(rows, DataFrame) or _are_few(given):
            return super().delete(relation, given, missing=missing)
        with self._changing() as session:
            table = session.definitions.table(relation)
            with self._engine.phase(table.name, "look up the rows that go"):
                if table.key and are_key_columns(rows.columns, table):
                    draft = deleted_by_key(rows, table, session.clock, self._engine, self._bulk, ignore_missing=ignored)
                else:
                    draft = self._bulk.deleted(rows, table, session.clock, ignore_missing=ignored)
            return session.commit(draft)

    def upsert(self, relation: str, rows: object) -> Commit:
        given = self._given(relation, rows)
        done = self._in_columns(relation, given, self._columns.upserted)
        if done is not None:
            return done
        if not isinstance(rows, DataFrame) or _are_few(given):
            return super().upsert(relation, given)
        with self._changing() as session:
            table = session.definitions.table(relation)
            check_has_key(table, "no row can take the place of another")
            with self._engine.phase(table.name, "look up the rows that are replaced"):
                draft = upserted(rows, table, session.clock, self._engine, self._bulk)
            return session.commit(draft)

    def attach(
        self,
        relation: str,
        stream: DataFrame,
        *,
        changes: str | None = None,
        bad: Literal["stop", "quarantine"] = "stop",
        quarantine: str | os.PathLike[str] | None = None,
        missing: Literal["error", "ignore"] = "error",
        advance: str | None = None,
    ) -> None:
        """Let a streaming DataFrame feed a table, from `start` on. Each micro-batch is one commit, and happens once.

        `changes` names the column that tells what to do with a row: `insert`, `delete`, `update_preimage` or
        `update_postimage`. It is `_change_type` where there is one, and else all rows are inserted. Within a batch
        they have no order: what goes makes room for what comes.
        Bad rows stop the stream, and nothing of their batch happens; or they are set aside, with the reason, as lines
        of JSON in the directory `quarantine`. `missing` is about deletes of rows that are not there.
        With `advance`, a length of time, event time follows the newest row of the table at that distance.
        """
        with self._reading() as session:
            self._streams.attach(
                session.definitions.table(relation),
                stream,
                changes=changes,
                bad=bad,
                quarantine=None if quarantine is None else os.fspath(quarantine),
                missing=missing,
                advance=advance,
            )

    def detach(self, relation: str) -> None:
        """The table's stream does not feed it any more. Where it stopped is remembered."""
        with self._reading() as session:
            self._streams.detach(session.definitions.table(relation))

    def start(self, *, trigger: str | None = None, checkpoint: str | os.PathLike[str] | None = None) -> RunningStreams:
        """Run all attached streams, from where they stopped.

        `trigger` is "10 seconds" for a batch in so long a time, "available now" for all that is there and no more, or
        None for one batch after the other. Checkpoints are kept with the database, or in the directory `checkpoint`.
        """
        with self._reading():
            pass
        # Outside of the lock, which the first batches need.
        return self._streams.start(trigger, None if checkpoint is None else os.fspath(checkpoint))

    def export(
        self,
        relation: str,
        path: str | os.PathLike[str],
        *,
        format: Literal["json", "parquet"] = "json",  # noqa: A002 - as Spark calls it
    ) -> Export:
        """Write the changes of a table or view to a directory, a file for each version that changed it.

        First come all that are kept, after the newest that is there already. The handle's `cancel()` ends it.
        """
        with self._reading() as session:
            files = open_files(self._spark, os.fspath(path))
            export = Export(
                session.definitions.relation(relation), files, format, self._own, self._storage, self._reading
            )
        export.catch_up()
        self._exports.append(export)
        return export

    def define(self, *views: MaterializedView) -> None:
        """Define views that are functions: see `whence.materialized_view`. Their order does not matter."""
        Pipeline(*views).define(self)

    def close(self) -> None:
        # A batch that is being taken needs the lock to come to its end.
        self._streams.stop()
        with self._lock:
            if self._forgotten.detach() is not None:
                self._publisher.withdraw_all()
            super().close()

    def _given(self, relation: str, rows: object) -> object:
        """Rows as they were handed over; those of a frame if they are few enough for this process, and else None."""
        if not isinstance(rows, DataFrame):
            return rows
        check_running(self._spark)
        with (
            self._engine.phase(relation, "bring the rows that come"),
            spark_errors(DataError, f"the rows of the DataFrame for {relation!r} cannot be computed"),
        ):
            return few_rows(rows, in_columns=True)

    def _in_columns(
        self,
        relation: str,
        given: object,
        change: Callable[[ArrowRows, Clock], BulkDraft | None],
        by_key: Callable[[ArrowRows, Relation, Clock], BulkDraft | None] | None = None,
    ) -> Commit | None:
        """The commit of a change of many rows; None if they have to be taken another way."""
        if not isinstance(given, pa.Table | list) or len(given) < self._engine.many_rows:
            return None
        with self._changing() as session:
            table, clock = session.definitions.table(relation), session.clock
            if by_key is not None and table.key and are_keys(given, table):
                keys = self._columns.rows(given, table, key_relation(table))
                draft = None if keys is None else by_key(keys, table, clock)
            else:
                rows = self._columns.rows(given, table)
                draft = None if rows is None else change(rows, clock)
            return None if draft is None else session.commit(draft)

    def _draft(self, session: Session, changes: Sequence[BatchChange]) -> Draft:
        draft = self._columns.batched(changes, session.clock)
        return super()._draft(session, changes) if draft is None else draft

    @steady_context
    def _reading(self) -> Generator[Session, None, None]:
        with super()._reading() as session:
            check_running(self._spark)
            try:
                with spark_errors(StateError, "Spark could not do its part"):
                    yield session
            except (PySparkException, Py4JError) as error:
                raise self._damaged(error) from error

    def _damaged(self, error: PySparkException | Py4JError) -> StateError:
        """Spark could not read a file of the state."""
        file = unreadable_file(error) or ""
        owners = (
            name.partition("#")[0]
            for name, table in self._storage.current.tables.items()
            if any(file.startswith(segment.path) for segment in table.segments)
        )
        of = f", which holds rows of {owner!r}," if (owner := next(owners, None)) else ""
        return damaged(self._storage.files.root, f"{file}{of} cannot be read")

    @steady_context
    def _changing(self) -> Generator[Session, None, None]:
        try:
            with super()._changing() as session:
                try:
                    with spark_errors(StateError, "Spark could not do its part of the change", _NOT_HAPPENED):
                        yield session
                finally:
                    registry = self._engine.registry
                    self._home.retain(frame for name in registry.names() for frame in registry.kept_frames(name))
                    self._publish()
        finally:
            # Outside of the lock, and also after an error, as subscribers are called.
            self._exports = [export for export in self._exports if export.active]
            for export in self._exports:
                export.follow()

    def _publish(self) -> None:
        """Let the user's session see what has changed."""
        relations = self._session.definitions.visible
        for name, change in self._journal.changed.take().items():
            # A view that waits for a function has no rows yet.
            if name in relations and name in self._engine.registry:
                self._publisher.publish(relations[name], change)
            else:
                self._publisher.withdraw(name)


def _are_few(given: object, coming_to: Relation | None = None) -> bool:
    """Whether rows of a frame are few enough to be looked at one by one, and to be kept in this process if they come to
    a table that they will leave.
    """
    most = bulk_load.TAKEN_AS_ROWS
    if coming_to is not None and coming_to.ttl is not None and bulk_load.rows_tell_all(coming_to):
        most = min(most, UPCOMING)
    return isinstance(given, pa.Table) and given.num_rows <= most


def _in_background(work: Callable[[], None]) -> None:
    """Garbage is collected at any moment, also while this thread is talking to Spark."""
    threading.Thread(target=work, name="whence-withdraw", daemon=True).start()


MAINTENANCE = ("auto", "absorption", "dred", "recompute")


def connect_spark(
    spark: object, path: str | None, maintenance: str, limits: RecursionLimits, keep_versions: int
) -> SparkDatabase:
    """`spark` is a session, or None to take the one there is, or a new one on this machine."""
    if maintenance not in MAINTENANCE:
        known = ", ".join(f'"{name}"' for name in MAINTENANCE)
        raise UnsupportedError(f"there is no maintenance {maintenance!r} on Spark", hint=f"there is {known}")
    if spark is None:
        spark = SparkSession.builder.appName("whence").getOrCreate()
    if not isinstance(spark, SparkSession):
        raise UnsupportedError(
            f"a {type(spark).__name__} of Spark Connect cannot be used",
            hint="whence needs a SparkSession in its own process",
        )
    check_running(spark)
    use_this_python(spark)
    return SparkDatabase(spark, path, maintenance, limits, keep_versions)


def use_this_python(spark: SparkSession) -> None:
    """Let workers on this machine run the Python that has whence, which need not be the first one on the PATH."""
    context = spark.sparkContext
    if (context.master or "").startswith("local[") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
