"""The streams that feed a database's tables: which they are, and whether they run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from urllib.parse import quote

from pyspark.sql import SparkSession

from whence.cluster.home import StorageHome
from whence.cluster.streaming.attaching import Attachment, attachment, quarantines
from whence.cluster.streaming.intake import Intake
from whence.cluster.streaming.large import LargeBatches
from whence.cluster.streaming.quarantine import Quarantine
from whence.cluster.streaming.running import RunningStreams
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.storage.files import Files, open_files
from whence.errors import StateError
from whence.model.schema import Relation
from whence.session.session import Session

# Below the root of a database.
CHECKPOINTS = "streams"
QUARANTINE = "quarantine"


class Streams:
    """`is_kept` tells whether the database's files outlive it."""

    def __init__(
        self,
        spark: SparkSession,
        files: Files,
        engine: SparkEngine,
        home: StorageHome,
        changing: Callable[[], AbstractContextManager[Session]],
        *,
        is_kept: bool,
    ) -> None:
        self._spark = spark
        self._files = files
        self._large = LargeBatches(engine, home)
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
            Intake(each, self._changing, self._large, self._quarantine(each)) for each in self._attached.values()
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
