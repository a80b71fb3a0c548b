"""A database whose rows are on a Spark cluster, with the face of every database and a little more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from whence.cluster.bulk import BulkChecks, BulkDraft
from whence.cluster.home import StorageHome
from whence.cluster.publishing import Publisher
from whence.cluster.session import ClusterSession
from whence.database import Database
from whence.engines.reference.fixpoint import DEFAULT_LIMITS, Limits
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.paging import DEFAULT_PAGING, Paging
from whence.engines.spark.storage.store import Storage
from whence.model.updates import Commit
from whence.session.batch import Delete, Insert, ignores_missing
from whence.session.history import KEEP_VERSIONS
from whence.session.session import Session

# What the database's own session needs to say the same as every other engine.
SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}


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
        self._bulk = BulkChecks(engine, home)
        self._publisher = Publisher(spark, engine, storage, home)
        self._publish()

    def df(self, relation: str) -> DataFrame:
        """The rows of a table or view as they are now, copies included, as a DataFrame of the user's session."""
        with self._reading() as session:
            return self._publisher.frame(session.definitions.relation(relation))

    def insert(self, relation: str, rows: object) -> Commit:
        if not isinstance(rows, DataFrame):
            return super().insert(relation, rows)
        small = self._bulk.small(rows)
        if small is not None:
            return super().insert(relation, small)
        with self._changing() as session:
            table = session.definitions.table(relation)
            return session.commit(BulkDraft(self._bulk.inserted(rows, table), session.clock))

    def delete(self, relation: str, rows: object, *, missing: Literal["error", "ignore"] = "error") -> Commit:
        if not isinstance(rows, DataFrame):
            return super().delete(relation, rows, missing=missing)
        small = self._bulk.small(rows)
        if small is not None:
            return super().delete(relation, small, missing=missing)
        with self._changing() as session:
            table = session.definitions.table(relation)
            delta = self._bulk.deleted(rows, table, ignore_missing=ignores_missing(missing))
            return session.commit(BulkDraft(delta, session.clock))

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._publisher.withdraw_all()
        super().close()

    @contextmanager
    def _changing(self) -> Iterator[Session]:
        try:
            with super()._changing() as session:
                yield session
        finally:
            if not self._closed:
                self._publish()

    def _commit(self, changes: list[Insert | Delete]) -> Commit:
        self._cluster.expect(changes)
        return super()._commit(changes)

    def _publish(self) -> None:
        """Let the user's session see what has changed."""
        relations = self._cluster.definitions.visible
        for name in self._cluster.take_changed():
            if name in relations:
                self._publisher.publish(relations[name])
            else:
                self._publisher.withdraw(name)
