"""Rows as lines of JSON that Spark reads back as they were, whatever time zone its session has."""

from __future__ import annotations

import datetime
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as parquet
from pyspark.sql import SparkSession

from whence.errors import DataError, StateError, WhenceError
from whence.model.schema import Relation
from whence.model.updates import Version
from whence.session.contents import changes_table
from whence.session.journal import changes
from whence.session.session import Session
from whence.storage.files.feeds import FeedPart, feed_entries, feed_frame
from whence.storage.files.files import Files
from whence.storage.files.manifest import Segment
from whence.storage.files.store import Storage


def json_lines(records: Iterable[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(_plain(record), ensure_ascii=False) + "\n" for record in records).encode()


def _plain(value: object) -> object:
    match value:
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case datetime.datetime():
            if value.tzinfo is None:
                return value.isoformat()
            return f"{value.astimezone(datetime.UTC).replace(tzinfo=None).isoformat()}Z"
        case datetime.date():
            return value.isoformat()
        case Decimal():
            # A number would lose its digits in most readers.
            return str(value)
    return value


FORMATS = ("json", "parquet")
# Spark passes over files with such a name.
ABOUT = "_whence.json"

logger = logging.getLogger("whence")


class Export:
    """A directory that follows a relation, one whole file after the other, until `cancel()`.

    A file that cannot be written is tried again at the next commit, and no later one is written before it.
    """

    def __init__(
        self,
        relation: Relation,
        files: Files,
        form: str,
        spark: SparkSession,
        storage: Storage,
        reading: Callable[[], AbstractContextManager[Session]],
    ) -> None:
        if form not in FORMATS:
            raise DataError(f'format is "json" or "parquet", not {form!r}')
        self._relation = relation
        self._files = files
        self._form = form
        self._spark = spark
        self._storage = storage
        self._reading = reading
        self._writing = threading.Lock()
        self.active = True
        # The newest version of which a file is there.
        self.version = self._open()
        # Up to this version there is nothing to write.
        self._seen = self.version

    def cancel(self) -> None:
        """No more files."""
        self.active = False

    def follow(self) -> None:
        """Write what there is, and leave what cannot be written for another time."""
        try:
            self.catch_up()
        except (WhenceError, OSError) as error:
            logger.error("the changes of %r do not get to %s: %s", self._relation.name, self._files.root, error)

    def catch_up(self) -> None:
        """Write the changes of all versions that are not there yet. Raises where some of them are forgotten."""
        # A thread that finds the lock taken leaves its changes to the one that has it, which looks again when done.
        while self.active and self._seen < self._storage.current.version and self._writing.acquire(blocking=False):
            try:
                self._write_new()
            finally:
                self._writing.release()

    def _write_new(self) -> None:
        with self._reading() as session:
            newest = session.version
            relation = session.definitions.find(self._relation.name)
            if relation is None or relation.columns != self._relation.columns:
                self.active = False
                raise StateError(
                    f"{self._relation.name!r} has gone, or has other columns now",
                    hint="export it to another directory",
                )
            parts = self._storage.feed(self._relation.name, self.version)
            tables: dict[Version, list[pa.Table]] = {}
            for part in parts:
                tables.setdefault(part.version, []).append(self._table(part))
        for version, found in tables.items():
            # One that is there is the same.
            self._files.create(f"{version:020}.{self._form}", self._encoded(pa.concat_tables(found)))
            self.version = version
        self._seen = newest

    def _table(self, part: FeedPart) -> pa.Table:
        if isinstance(part.changes, Segment):
            found = feed_frame(self._spark, self._storage.files, self._relation, [part]).toArrow()
            return found.cast(changes_table(self._relation, ()).schema)
        entries = feed_entries(self._spark, self._storage.files, self._relation, [part])
        return changes_table(self._relation, changes(self._relation, entries))

    def _encoded(self, table: pa.Table) -> bytes:
        if self._form == "json":
            return json_lines(table.to_pylist())
        sink = pa.BufferOutputStream()
        parquet.write_table(table, sink)
        return bytes(sink.getvalue())

    def _open(self) -> Version:
        """Make the directory that of this relation, or see that it is; the newest version that it has."""
        about = {
            "relation": self._relation.name,
            "format": self._form,
            "columns": {column.name: str(column.type) for column in self._relation.columns},
        }
        names = {entry.name for entry in self._files.entries("")}
        if not names:
            self._files.make_directory("")
            self._files.create(ABOUT, json.dumps(about).encode())
            return Version(0)
        if ABOUT not in names:
            raise StateError(
                f"{self._files.root} holds other files, and no changes",
                hint="choose a directory that is empty, or does not exist yet",
            )
        if json.loads(self._files.read(ABOUT)) != about:
            raise StateError(
                f"{self._files.root} holds changes of another relation, or in another form",
                hint="choose another directory",
            )
        versions = [int(stem) for name in names if (stem := name.partition(".")[0]).isdecimal()]
        newest = Version(max(versions, default=0))
        if newest > self._storage.current.version:
            raise StateError(
                f"{self._files.root} has changes of version {newest}, and the database is at version "
                f"{self._storage.current.version}",
                hint="these are changes of another database; choose another directory",
            )
        return newest
