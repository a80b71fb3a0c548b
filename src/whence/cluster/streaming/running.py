"""Streams that run: one handle for all of them, with the face of Spark's StreamingQuery."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from whence.cluster.streaming.intake import Intake, Progress
from whence.errors import StateError, TypeMismatchError

# How long a batch that waits for its turn does not notice that it is to stop, in seconds.
PATIENCE = 0.05
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
            writer = writer.trigger(processingTime=trigger)
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
        while not self._at_work.acquire(timeout=PATIENCE):
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
                self._fail(error)
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
                self._fail(error)
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
