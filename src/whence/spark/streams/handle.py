"""Streams that run: one handle for all of them, with the face of Spark's StreamingQuery."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import quote

from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.errors import first_line, spark_errors
from whence.errors import DataError, StateError, TypeMismatchError
from whence.model.schema import Relation
from whence.session.session import Session
from whence.spark.column_load import ColumnChecks
from whence.spark.home import StorageHome
from whence.spark.streams.attachment import Attachment, attachment, quarantines
from whence.spark.streams.intake import Intake, Progress
from whence.spark.streams.large_batch import LargeBatches
from whence.spark.streams.records import Quarantine
from whence.storage.files.files import open_files
from whence.storage.files.store import Storage

# Between two looks of a batch that waits for its turn whether it is to stop.
POLL_SECONDS = 0.05
AVAILABLE_NOW = "available now"


class _StoppedError(Exception):
    """A batch that came too late: it is replayed at the next start."""


class Stream:
    """One query of Spark's. A batch that is being taken is never interrupted, and so never half undone."""

    def __init__(self, intake: Intake, taken: Callable[[Progress], None], failed: Callable[[Exception], None]) -> None:
        self.relation = intake.attachment.relation.name
        self._intake = intake
        self._taken = taken
        self._failed = failed
        self._at_work = threading.Lock()
        self.is_stopping = False
        self._query: StreamingQuery | None = None

    @property
    def query(self) -> StreamingQuery:
        assert self._query is not None
        return self._query

    def start(self, checkpoint: str, trigger: str | None) -> None:
        writer: DataStreamWriter = self._intake.attachment.frame.writeStream.option("checkpointLocation", checkpoint)
        if trigger == AVAILABLE_NOW:
            writer = writer.trigger(availableNow=True)
        elif trigger is not None:
            with spark_errors(DataError, f"{trigger!r} is no trigger"):
                writer = writer.trigger(processingTime=trigger)
        with spark_errors(StateError, f"the stream for {self.relation!r} cannot be started"):
            self._query = writer.foreachBatch(self._take).start()

    def stop(self) -> None:
        """Wait for the batch that is being taken, and take no other."""
        self.is_stopping = True
        with self._at_work:
            if self._query is not None:
                self._query.stop()

    def _take(self, batch: DataFrame, number: int) -> None:
        with self._turn():
            try:
                progress = self._intake.take(batch, number)
            except Exception as error:
                self._failed(error)
                raise
        if progress is not None:
            self._taken(progress)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        while not self._at_work.acquire(timeout=POLL_SECONDS):
            if self.is_stopping:
                raise _StoppedError
        try:
            if self.is_stopping:
                raise _StoppedError
            yield
        finally:
            self._at_work.release()


class RunningStreams:
    """All streams of a database, from `start` until they are stopped, done, or one of them fails, which stops all."""

    def __init__(self, intakes: Sequence[Intake], checkpoint: Callable[[str], str], trigger: str | None) -> None:
        if trigger is not None and not isinstance(trigger, str):
            raise TypeMismatchError(
                f"trigger is a text, not a {type(trigger).__name__}", hint=f'like "10 seconds", or "{AVAILABLE_NOW}"'
            )
        self._streams = [Stream(intake, self._taken, self._fail) for intake in intakes]
        self._failure: Exception | None = None
        self._progress: Progress | None = None
        self._running = len(self._streams)
        self._counting = threading.Lock()
        self._done = threading.Event()
        try:
            for stream in self._streams:
                stream.start(checkpoint(stream.relation), trigger)
        except BaseException:
            self._stop_all()
            raise
        for stream in self._streams:
            # They end with the process if nobody stops them.
            threading.Thread(target=self._watch, args=(stream,), name=f"whence-{stream.relation}", daemon=True).start()

    @property
    def isActive(self) -> bool:  # noqa: N802 - as Spark spells it
        return not self._done.is_set()

    @property
    def lastProgress(self) -> Progress | None:  # noqa: N802 - as Spark spells it
        """The last micro-batch that was committed."""
        return self._progress

    @property
    def status(self) -> dict[str, dict[str, Any]]:
        """What Spark says about each stream, by the table it feeds."""
        return {stream.relation: dict(stream.query.status) for stream in self._streams}

    def exception(self) -> Exception | None:
        """Why the streams have stopped, if one of them failed."""
        return self._failure

    def stop(self) -> None:
        """Finish the batches that are being taken, and take no others. They can be started again from there."""
        self._stop_all()
        self._done.wait()

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 - as Spark spells it
        """Wait until no stream runs; False if that takes longer. Raises what made one fail."""
        is_over = self._done.wait(timeout)
        if is_over and self._failure is not None:
            raise self._failure
        return is_over

    def processAllAvailable(self) -> None:  # noqa: N802 - as Spark spells it
        """Wait until all that has come so far is committed. Raises what made a stream fail."""
        for stream in self._streams:
            try:
                stream.query.processAllAvailable()
            except StreamingQueryException as error:
                self._fail(_failure(stream, error))
        if self._failure is not None:
            self._done.wait()
            raise self._failure

    def _taken(self, progress: Progress) -> None:
        self._progress = progress

    def _fail(self, error: Exception) -> None:
        """What was noticed first is the cause of all else."""
        if self._failure is None:
            self._failure = error

    def _watch(self, stream: Stream) -> None:
        try:
            stream.query.awaitTermination()
        except StreamingQueryException as error:
            if not stream.is_stopping:
                self._fail(_failure(stream, error))
                self._stop_all()
        except (Py4JError, OSError) as error:
            # Nothing is left to be stopped.
            self._fail(StateError(f"Spark has gone away: {error}"))
        with self._counting:
            self._running -= 1
            if not self._running:
                self._done.set()

    def _stop_all(self) -> None:
        for stream in self._streams:
            stream.stop()


def _failure(stream: Stream, error: StreamingQueryException) -> StateError:
    """What Spark itself stopped a stream for. Of what stopped a batch, the error is known already."""
    return StateError(
        f"the stream for {stream.relation!r} has failed: {first_line(error)}",
        hint="start() goes on from the last batch that was committed",
    )


# Below the root of a database.
CHECKPOINTS = "streams"
QUARANTINE = "quarantine"


class Streams:
    """`is_kept` tells whether the database's files outlive it."""

    def __init__(
        self,
        spark: SparkSession,
        storage: Storage,
        engine: SparkEngine,
        home: StorageHome,
        changing: Callable[[], AbstractContextManager[Session]],
        *,
        is_kept: bool,
    ) -> None:
        self._spark = spark
        self._storage = storage
        self._files = storage.files
        self._large, self._columns = LargeBatches(engine, home), ColumnChecks(engine)
        self._changing = changing
        self._is_kept = is_kept
        self._attached: dict[str, Attachment] = {}
        self._running: RunningStreams | None = None

    def attach(
        self,
        relation: Relation,
        frame: object,
        *,
        changes: str | None,
        bad: str,
        quarantine: str | None,
        missing: str,
        advance: str | None,
    ) -> None:
        self._check_at_rest("attached")
        if relation.name in self._attached:
            raise StateError(
                f"table {relation.name!r} has a stream already",
                hint=f"attach the union of the two, or db.detach({relation.name!r}) first",
            )
        if quarantines(bad, quarantine) and quarantine is None:
            quarantine = self._default_quarantine(relation)
        self._attached[relation.name] = attachment(
            relation, frame, changes=changes, quarantine=quarantine, missing=missing, advance=advance
        )

    def detach(self, relation: Relation) -> None:
        self._check_at_rest("detached")
        if self._attached.pop(relation.name, None) is None:
            raise StateError(f"table {relation.name!r} has no stream")

    def start(self, trigger: str | None, checkpoint: str | None) -> RunningStreams:
        self._check_at_rest("started")
        if not self._attached:
            raise StateError("there is no stream to start", hint='attach one: db.attach("table", spark.readStream...)')
        directory = self._files.uri(CHECKPOINTS) if checkpoint is None else checkpoint.rstrip("/")
        intakes = [
            Intake(each, self._changing, self._storage, self._large, self._columns, self._quarantine(each))
            for each in self._attached.values()
        ]
        self._running = RunningStreams(intakes, lambda name: f"{directory}/{_directory(name)}", trigger)
        return self._running

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()

    def _check_at_rest(self, done: str) -> None:
        if self._running is not None and self._running.isActive:
            raise StateError(f"streams are running, and no other can be {done}", hint="stop() them first")

    def _quarantine(self, attached: Attachment) -> Quarantine | None:
        if attached.quarantine is None:
            return None
        return Quarantine(open_files(self._spark, attached.quarantine), attached.relation)

    def _default_quarantine(self, relation: Relation) -> str:
        if not self._is_kept:
            raise StateError(
                "this database goes away when it is closed, and bad rows must not",
                hint="name a directory for them: quarantine='...'",
            )
        return f"{self._files.root}/{QUARANTINE}/{_directory(relation.name)}"


def _directory(name: str) -> str:
    """A name that is one in every file system."""
    return quote(name, safe="")
