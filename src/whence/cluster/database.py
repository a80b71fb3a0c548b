"""A database whose rows are on a Spark cluster, with the face of every database and a little more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from whence.cluster.bulk import BulkChecks
from whence.cluster.decorators import MaterializedView, Pipeline
from whence.cluster.explaining import explain_on_spark
from whence.cluster.exporting import Export
from whence.cluster.home import StorageHome
from whence.cluster.publishing import Publisher
from whence.cluster.querying import query_on_spark
from whence.cluster.session import ClusterSession
from whence.cluster.source import WhenceSource, register
from whence.cluster.streaming.running import RunningStreams
from whence.cluster.streams import Streams
from whence.database import Database
from whence.engines.reference.fixpoint import DEFAULT_LIMITS, Limits
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.errors import failed_jobs
from whence.engines.spark.paging import DEFAULT_PAGING, Paging
from whence.engines.spark.storage.files import open_files
from whence.engines.spark.storage.store import Storage
from whence.errors import ParseError
from whence.explain.explain import Explanation
from whence.model.updates import Commit
from whence.session.batch import ignores_missing
from whence.session.history import KEEP_VERSIONS
from whence.session.session import Session
from whence.sources.text import decode

# What the database's own session needs to say the same as every other engine.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # The older format for times has no statistics to skip files by.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


class SparkDatabase(Database):
    """Tables and views on Spark. `spark.sql` sees them under their names, as they are after the last commit."""

    def __init__(
        self,
        spark: SparkSession,
        root: str | None,
        maintenance: str = "auto",
        limits: Limits = DEFAULT_LIMITS,
        keep_versions: int = KEEP_VERSIONS,
        paging: Paging = DEFAULT_PAGING,
    ) -> None:
        own = spark.newSession()
        for name, value in SETTINGS.items():
            own.conf.set(name, value)
        storage = Storage.open(own, root, keep_versions)
        try:
            home = StorageHome(storage)
            engine = SparkEngine(own, home, maintenance, limits, paging)
            session = ClusterSession(engine, storage, home, keep_versions)
        except BaseException:
            storage.close()
            raise
        super().__init__(session)
        self._cluster = session
        self._home = home
        self._bulk = BulkChecks(engine, home)
        self._publisher = Publisher(spark, engine, storage, home)
        self._spark, self._own, self._storage = spark, own, storage
        self._streams = Streams(spark, storage.files, engine, home, self._changing, is_kept=root is not None)
        self._exports: list[Export] = []
        register(spark, WhenceSource)
        self._publish()

    def df(self, relation: str) -> DataFrame:
        """The rows of a table or view as they are now, copies included, as a DataFrame of the user's session."""
        with self._reading() as session:
            return self._publisher.frame(session.definitions.relation(relation))

    def query(self, sql: str | bytes, *, limit: int | None = None, timeout: float | None = None) -> pa.Table:
        text = decode(sql, "<query>", ParseError) if isinstance(sql, bytes) else sql
        with self._reading() as session:
            return query_on_spark(text, session.definitions, self._publisher, limit, timeout)

    def explain(self, relation: str, *, analyze: bool = False) -> Explanation:
        with self._reading() as session:
            name = session.definitions.relation(relation).name
            # A view that waits for a function has no plan, and says so.
            session.engine.counts(name)
            return explain_on_spark(name, session.definitions.analysis, self._cluster.spark_engine, analyze=analyze)

    def insert(self, relation: str, rows: object) -> Commit:
        if not isinstance(rows, DataFrame):
            return super().insert(relation, rows)
        small = self._bulk.small(rows)
        if small is not None:
            return super().insert(relation, small)
        with self._changing() as session:
            table = session.definitions.table(relation)
            return session.commit(self._bulk.inserted(rows, table, session.clock))

    def delete(self, relation: str, rows: object, *, missing: Literal["error", "ignore"] = "error") -> Commit:
        if not isinstance(rows, DataFrame):
            return super().delete(relation, rows, missing=missing)
        small = self._bulk.small(rows)
        if small is not None:
            return super().delete(relation, small, missing=missing)
        with self._changing() as session:
            table = session.definitions.table(relation)
            ignored = ignores_missing(missing)
            return session.commit(self._bulk.deleted(rows, table, session.clock, ignore_missing=ignored))

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
            if not self._closed:
                self._publisher.withdraw_all()
        super().close()

    @contextmanager
    def _changing(self) -> Iterator[Session]:
        try:
            with super()._changing() as session:
                try:
                    with failed_jobs():
                        yield session
                finally:
                    registry = self._cluster.spark_engine.registry
                    self._home.retain(frame for name in registry.names() for frame in registry.kept_frames(name))
                    self._publish()
        finally:
            # Outside of the lock, and also after an error, as subscribers are called.
            self._exports = [export for export in self._exports if export.active]
            for export in self._exports:
                export.follow()

    def _publish(self) -> None:
        """Let the user's session see what has changed."""
        relations = self._cluster.definitions.visible
        for name, change in self._cluster.take_changed().items():
            # A view that waits for a function has no rows yet.
            if name in relations and name in self._cluster.spark_engine.registry:
                self._publisher.publish(relations[name], change)
            else:
                self._publisher.withdraw(name)
