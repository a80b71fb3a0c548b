"""A database's relations as views of the user's session: Spark's own scan of the base, and what has changed since.

A commit adds a file to what a view reads and tells Spark nothing. In a moment without commits the view is replaced by
one that knows these changes, so that a query has no more jobs than over a table of Parquet; the next commit puts the
former view back.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from weakref import WeakKeyDictionary

import pyspark.sql.functions as functions
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta
from whence.engines.spark.row_conditions import MOST_ROWS
from whence.engines.spark.types import spark_type
from whence.model.schema import Relation
from whence.model.types import Type
from whence.model.updates import Delta
from whence.spark.decorators import quoted
from whence.spark.home import StorageHome
from whence.spark.idle_work import IdleWork
from whence.spark.pending_changes import FEW_ROWS, MOST_FILES, PUBLISHED, Base, PendingChanges, change_table
from whence.spark.reader import before
from whence.spark.sessions import is_running
from whence.spark.stored_rows import Counted, StoredRows, added_up, with_few_changes
from whence.storage.files.feeds import FeedPart
from whence.storage.files.files import Files, LocalFiles
from whence.storage.files.store import READER_SECONDS, Storage

# A larger change is a reason to make a view again.
LARGE_CHANGE = 10_000
# So long nothing may happen before views are told what has happened. A commit of one row takes less.
IDLE_SECONDS = 0.05
# Whether Spark sees that a time in Parquet has no zone.
_TIMES_IN_PARQUET = "spark.sql.parquet.inferTimestampNTZ.enabled"


@dataclass(frozen=True, slots=True)
class _View:
    """A published view: the segments below it, its rows at some version, and the changes since."""

    segments: list[DataFrame]
    stored: StoredRows
    counted: Counted
    base: Base | None = None
    pending: PendingChanges | None = None
    # What Spark has for the view which reads files.
    definition: JavaObject | None = None


# Which database shows a relation under a name of a session, by its mark: the last one that did.
_OWNERS: WeakKeyDictionary[SparkSession, dict[str, object]] = WeakKeyDictionary()


class Publisher:
    """Shows a database's relations to sessions that are not its own."""

    def __init__(self, spark: SparkSession, engine: SparkEngine, storage: Storage, home: StorageHome) -> None:
        self.spark = spark
        self._engine = engine
        self._storage = storage
        self._home = home
        self._views: dict[str, _View] = {}
        # Files that no view reads any more but perhaps a query, and since when.
        self._unneeded: list[tuple[float, str]] = []
        self._mark = object()
        self._files = _unsynced(storage.files)
        self._files.delete(PUBLISHED)
        self._numbers: Iterator[int] = count()
        self._token = secrets.token_hex(4)
        # Whether the session lets SQL name files.
        self._follows = True
        # Views that know all changes, and what Spark has for them.
        self._settled: dict[str, JavaObject] = {}
        # What frames of relations as they are now are made of.
        self._frames: dict[str, DataFrame] = {}
        self._lock = threading.Lock()
        self._idle = IdleWork(self._settle, IDLE_SECONDS)

    def frame(self, relation: Relation, later: Sequence[FeedPart] = ()) -> DataFrame:
        """The rows, copies included, under the names of their columns, as they are now or were before some changes."""
        if not later and relation.name in self._frames:
            # Each frame has columns of its own, or a join of two would not tell them apart.
            return self._frames[relation.name].toDF(*relation.column_names)
        counted = self._stored(relation).counted(self.spark, self._storage.files)
        frame = before(self.spark, self._storage.files, relation, counted, later).named(relation)
        if not later:
            self._frames[relation.name] = frame
        return frame

    def publish(self, relation: Relation, change: Delta | None) -> None:
        """Let `spark.sql` see the relation as it is now. `change` is what is different since it last did, if known."""
        with self._lock:
            self._frames.pop(relation.name, None)
            segments = self._engine.registry.kept_frames(relation.name)
            view = self._views.get(relation.name)
            small = None if isinstance(change, FrameDelta) else change
            is_known = view is not None and view.segments == segments
            is_small = small is not None and len(small) <= LARGE_CHANGE
            if view and small is not None and is_known and is_small and self._follow(relation, view, small):
                self._idle.ask()
                return
            self._forget(relation.name)
            stored = self._stored(relation)
            counted = stored.counted(self.spark, self._storage.files)
            self._views[relation.name] = _View(list(segments), stored, counted)
            self._own(relation)
            frame = self._frames[relation.name] = counted.named(relation)
            frame.createOrReplaceTempView(quoted(relation.name))

    def _follow(self, relation: Relation, view: _View, change: Delta) -> bool:
        """Add a change to what the view shows, without telling Spark if that is possible."""
        if not self._follows or not relation.arity or relation.name in self._engine.registry.owing:
            return False
        table = change_table(relation, change)
        pending = view.pending
        takes_away = min(change.values(), default=1) < 0
        if not view.counted.once and takes_away:
            return False
        is_few = pending is not None and pending.count < MOST_FILES and pending.rows + len(change) <= FEW_ROWS
        if pending is not None and is_few and pending.takes_away >= takes_away:
            self._views[relation.name] = replace(view, pending=pending.with_change(table))
            self._unsettle(relation, view)
            return True
        path = f"{PUBLISHED}/{self._token}-{next(self._numbers)}"
        if self.spark.conf.get(_TIMES_IN_PARQUET, "true") != "true":
            return False
        if pending is None:
            self._files.make_directory(path)
            pending = PendingChanges(self._files, relation, path).with_change(table)
        else:
            pending = pending.merged_into(path, table)
        base = view.base or self._named_base(view)
        return self._show(relation, replace(view, base=base, pending=pending))

    def _named_base(self, view: _View) -> Base:
        """Only by a name can SQL text tell what it reads."""
        name = f"whence_{self._token}_{next(self._numbers)}"
        view.counted.frame.createOrReplaceGlobalTempView(name)
        database = self.spark.conf.get("spark.sql.globalTempDatabase") or "global_temp"
        return Base(f"{quoted(database)}.{name}", view.counted.single)

    def _show(self, relation: Relation, view: _View) -> bool:
        """False if this session does not take files for tables."""
        assert view.base is not None
        assert view.pending is not None
        name, former = relation.name, self._views[relation.name].pending
        text = f"CREATE OR REPLACE TEMPORARY VIEW {quoted(name)} AS {view.pending.sql(view.base)}"
        try:
            self.spark.sql(text)
        except AnalysisException:
            self._follows = False
            self._drop_base(view.base)
            self._files.delete(view.pending.path)
            return False
        self._own(relation)
        self._settled.pop(name, None)
        self._views[name] = replace(view, definition=self._shown(name))
        if former is not None:
            self._retire(former.path)
        return True

    def _settle(self) -> None:
        """Let views know their changes. A query then need not look for them, in files that it would have to list."""
        for name, view in list(self._views.items()):
            if view.pending is None or view.pending.rows > MOST_ROWS or name in self._settled:
                continue
            # A session can be stopped, and a database closed, at any moment.
            with suppress(PySparkException, Py4JError, OSError):
                frame = self._with_pending(view.pending, view).named(view.pending.relation)
                with self._lock:
                    if self._views.get(name) is view and self._shown(name) == view.definition:
                        frame.createOrReplaceTempView(quoted(name))
                        self._settled[name], self._frames[name] = self._shown(name), frame

    def _with_pending(self, pending: PendingChanges, view: _View) -> Counted:
        changes = added_up(pending.table(), pending.relation)
        if pending.relation.distinct:
            return with_few_changes(self.spark, pending.relation, view.counted, changes)
        return view.stored.with_changes(changes).counted(self.spark, self._storage.files)

    def _unsettle(self, relation: Relation, view: _View) -> None:
        """Back to what reads files, unless somebody else has taken the name or the view away."""
        settled = self._settled.pop(relation.name, None)
        if settled is not None and self._shown(relation.name) == settled:
            self._catalog.createTempView(relation.name, view.definition, True)

    def _shown(self, name: str) -> JavaObject | None:
        """What Spark has under a name. PySpark has no way to it, and to give it back takes no analysis."""
        found = self._catalog.getRawTempView(name)
        return found.get() if found.isDefined() else None

    @property
    def _catalog(self) -> JavaObject:
        return self.spark._jsparkSession.sessionState().catalog()  # noqa: SLF001 - see above

    def _retire(self, path: str) -> None:
        """They are small, and stay as long as segments do."""
        now = time.monotonic()
        self._unneeded.append((now, path))
        while self._unneeded[0][0] + READER_SECONDS < now:
            self._files.delete(self._unneeded.pop(0)[1])

    def _own(self, relation: Relation) -> None:
        _OWNERS.setdefault(self.spark, {})[relation.name.lower()] = self._mark

    def publish_in(self, spark: SparkSession, relation: Relation) -> None:
        """Let a session of our own see the relation as it is now, with a moment for every TIMESTAMP."""
        named = self._stored(relation).counted(spark, self._storage.files).named(relation)
        # In a session whose zone is UTC they are the same, and Spark casts more types to moments and back.
        as_moments = [
            functions.col(quoted(column.name)).cast(_with_moments(column.type)).alias(column.name)
            for column in relation.columns
        ]
        named.select(as_moments).createOrReplaceTempView(quoted(relation.name))

    def withdraw(self, name: str) -> None:
        """Unless another database shows a relation under that name by now."""
        with self._lock:
            self._withdraw(name)

    def _withdraw(self, name: str) -> None:
        owners = _OWNERS.get(self.spark, {})
        if self._forget(name) and owners.get(name.lower()) is self._mark:
            del owners[name.lower()]
            if is_running(self.spark):
                # Unlike what makes a view, this takes the name as it is.
                self.spark.catalog.dropTempView(name)

    def withdraw_all(self) -> None:
        self._idle.cancel()
        for name in list(self._views):
            self.withdraw(name)
        self._unneeded.clear()
        # Whoever opens the database next removes what is left.
        with suppress(OSError):
            self._files.delete(PUBLISHED)

    def _forget(self, name: str) -> bool:
        """Whether it was shown."""
        view = self._views.pop(name, None)
        self._settled.pop(name, None)
        self._frames.pop(name, None)
        if view is None:
            return False
        if view.pending is not None:
            self._retire(view.pending.path)
        if view.base is not None:
            self._drop_base(view.base)
        return True

    def _drop_base(self, base: Base) -> None:
        if is_running(self.spark):
            self.spark.catalog.dropGlobalTempView(base.name.rpartition(".")[2])

    def _stored(self, relation: Relation) -> StoredRows:
        registry, name = self._engine.registry, relation.name
        codec = registry.codec(name)
        segments = [self._home.segment(frame) for frame in registry.kept_frames(name)]
        overlay = registry.overlay_table(name)
        return StoredRows(relation, codec.kind, codec.columns, segments, overlay, self._engine.is_table(name))


def _unsynced(files: Files) -> Files:
    """What is published goes with its process, and need not survive more."""
    return files if files.directory is None else LocalFiles(files.directory, survives_power_loss=False)


def _with_moments(kind: Type) -> str:
    return spark_type(kind).simpleString().replace("timestamp_ntz", "timestamp")
