"""A database's change feeds as a data source of Spark: `spark.readStream.format("whence")`.

Spark runs this in processes of its own, which read the files of the database beside the process that writes them,
without a lock and without Spark.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from whence.algebra.deltas import add_to
from whence.engines.spark.types import column_names, rows_from_arrow, spark_type
from whence.errors import DataError, StateError, UnsupportedError
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Version
from whence.session.contents import changes_table
from whence.session.journal import Entry, changes
from whence.sources.rows import zoneless
from whence.spark.rows_source import RowsReader, rows_schema
from whence.storage.files.commits import read_logs
from whence.storage.files.database_files import DatabaseFiles, StoredVersion
from whence.storage.files.files import Files, worker_files
from whence.storage.files.manifest import Log, Manifest, Segment
from whence.storage.files.segments import COUNT, as_written


@dataclass(frozen=True, slots=True)
class FeedPiece:
    """What a commit changed, or one file of it."""

    version: Version
    timestamp: datetime.datetime
    changes: Log | Segment
    file: str | None = None


class FeedFiles(DatabaseFiles):
    """The feed of one relation."""

    def __init__(self, files: Files, name: str) -> None:
        super().__init__(files)
        self._name = name

    def relation(self) -> Relation:
        return self.manifest().program.restore().relation(self._name)

    def pieces(self, relation: Relation, since: int, until: int) -> list[FeedPiece]:
        """The changes after one version and up to another. Raises where some of them are forgotten."""
        manifest = self.manifest()
        self._check_kept(manifest, relation, since)
        return [
            piece
            for feed in manifest.feeds
            if since < feed.version <= until and relation.name in feed.changes
            for piece in self._parts(relation, FeedPiece(feed.version, feed.timestamp, feed.changes[relation.name]))
        ]

    def read(self, relation: Relation, piece: FeedPiece) -> pa.Table:
        """The changes row by row, as `changes_table` has them."""
        try:
            if isinstance(piece.changes, Log):
                table = read_logs(self.files, [piece.changes])[piece.changes]
            else:
                table = self._segment(relation, piece.changes, piece.file)
        except (StateError, FileNotFoundError):
            self._check_kept(self.manifest(), relation, piece.version - 1)
            raise
        if relation.distinct:
            # The files may be those of its state, which count derivations.
            table = table.set_column(table.schema.get_field_index(COUNT), COUNT, compute.sign(table.column(COUNT)))
        if piece.file is not None:
            return _by_column(relation, table, piece)
        delta: dict[Row, int] = {}
        add_to(delta, zip(rows_from_arrow(table, relation), table.column(COUNT).to_pylist(), strict=True))
        return changes_table(relation, changes(relation, [Entry(piece.version, piece.timestamp, delta)]))

    def _check_kept(self, manifest: Manifest, relation: Relation, since: int) -> None:
        forgotten = manifest.forgotten.get(relation.name, 0)
        if since < forgotten:
            raise StateError(
                f"the changes of {relation.name!r} are there from version {forgotten + 1} on; older ones are forgotten",
                hint=f'read those with .option("since", {forgotten}) or later, '
                "or keep more with connect(keep_versions=...)",
            )

    def _parts(self, relation: Relation, piece: FeedPiece) -> Iterator[FeedPiece]:
        """A large change in parts that can be read side by side. The two images of an update stay together."""
        if isinstance(piece.changes, Log) or relation.key:
            yield piece
            return
        for entry in self.files.entries(piece.changes.path):
            if not entry.name.startswith((".", "_")):
                yield replace(piece, file=entry.name)

    def _segment(self, relation: Relation, segment: Segment, file: str | None) -> pa.Table:
        names = [entry.name for entry in self.files.entries(segment.path)] if file is None else [file]
        tables = [
            parquet.read_table(
                pa.BufferReader(self.files.read(f"{segment.path}/{name}")), coerce_int96_timestamp_unit="us"
            )
            for name in names
            if not name.startswith((".", "_"))
        ]
        return as_written(segment, [*column_names(relation.arity), COUNT], zoneless(pa.concat_tables(tables)))


def _by_column(relation: Relation, table: pa.Table, piece: FeedPiece) -> pa.Table:
    """Changes of a relation without a key, in any order."""
    counts = table.column(COUNT)
    kinds = compute.if_else(compute.greater(counts, 0), "insert", "delete")
    stamps = changes_table(relation, [((None,) * relation.arity, "", piece.version, piece.timestamp)])
    columns = [table.column(f"c{at}").cast(stamps.schema.field(at).type) for at in range(relation.arity)]
    columns += [kinds, *(pa.repeat(stamps.column(name)[0], len(counts)) for name in stamps.column_names[-2:])]
    copies = np.repeat(np.arange(len(counts)), np.abs(counts.to_numpy()))
    return pa.Table.from_arrays(columns, names=stamps.column_names).take(pa.array(copies))


# When a commit happened is a moment, unlike a TIMESTAMP.
STAMPS = (
    StructField("_change_type", StringType()),
    StructField("_commit_version", LongType()),
    StructField("_commit_timestamp", TimestampType()),
)
VERSION = "version"
# What Spark's settings for Hadoop begin with.
_HADOOP = "spark.hadoop."


class TaskPieces(InputPartition):
    """What one task reads."""

    def __init__(self, relation: Relation, pieces: Sequence[FeedPiece]) -> None:
        super().__init__(None)
        self.relation = relation
        self.pieces = pieces


class WhenceSource(DataSource):
    """Options: `path` is the root of a database, and `view` one of its tables or views, whose rows are read, at a
    `version` if one is given; or `relation` is one of them, whose changes are read, those after `since` (0).
    """

    # What Hadoop was told beside its files, where a session has such.
    properties: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def name(cls) -> str:
        return "whence"

    def schema(self) -> StructType:
        if "view" in self.options:
            return rows_schema(self._rows().relation)
        return _schema(self._feed().relation())

    def reader(self, schema: StructType) -> DataSourceReader:
        if "view" in self.options:
            return RowsReader(self._files(), self._rows())
        return ChangesReader(self._feed(), schema, self._number("since", 0))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - as Spark spells it
        if "view" in self.options:
            raise UnsupportedError(
                "the rows of a view are not a stream, and its changes are",
                hint='.option("relation", ...) reads those',
            )
        return FeedStreamReader(self._feed(), schema, self._number("since", 0))

    def _files(self) -> Files:
        return worker_files(self._option("path"), self.properties)

    def _feed(self) -> FeedFiles:
        return FeedFiles(self._files(), self._option("relation"))

    def _rows(self) -> StoredVersion:
        version = self._number("version", None) if "version" in self.options else None
        return DatabaseFiles(self._files()).contents(self._option("view"), version)

    def _option(self, name: str) -> str:
        value = self.options.get(name)
        if not value:
            raise DataError(f"the source whence needs the option {name!r}", hint=f'.option("{name}", "...")')
        return value

    def _number(self, name: str, otherwise: int | None) -> int:
        given = self.options.get(name, str(otherwise))
        if not given.isdecimal():
            raise DataError(f"the option {name!r} is a version, and not {given!r}")
        return int(given)


class _Planner:
    """Which task reads what."""

    def __init__(self, feed: FeedFiles, schema: StructType, since: int) -> None:
        self._feed = feed
        self._schema = schema
        self._since = since

    def _plan(self, since: int, until: int) -> list[TaskPieces]:
        relation = self._feed.relation()
        if _schema(relation) != self._schema:
            raise StateError(
                f"{relation.name!r} has other columns now than when its changes were first read",
                hint="read them anew, with a new checkpoint",
            )
        pieces = self._feed.pieces(relation, since, until)
        small = [piece for piece in pieces if isinstance(piece.changes, Log)]
        parts = [[piece] for piece in pieces if not isinstance(piece.changes, Log)]
        return [TaskPieces(relation, part) for part in ([small, *parts] if small else parts)]

    def _read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        # Where there is nothing to read, Spark reads that.
        if not isinstance(partition, TaskPieces):
            return
        for piece in partition.pieces:
            table = self._feed.read(partition.relation, piece)
            # For Spark, every column that a source has can be NULL.
            yield from table.cast(pa.schema([field.with_nullable(True) for field in table.schema])).to_batches()


class ChangesReader(_Planner, DataSourceReader):
    """All changes after a version."""

    def partitions(self) -> Sequence[InputPartition]:
        return self._plan(self._since, self._feed.newest())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._read(partition)


class FeedStreamReader(_Planner, DataSourceStreamReader):
    """Changes as they come. A version is an offset."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - as Spark spells it
        return {VERSION: self._since}

    def latestOffset(self, *_: object) -> dict[str, int]:  # noqa: N802 - as Spark spells it
        return {VERSION: max(self._since, self._feed.newest())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return self._plan(start[VERSION], end[VERSION])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._read(partition)


def _schema(relation: Relation) -> StructType:
    own = [StructField(column.name, spark_type(column.type)) for column in relation.columns]
    return StructType([*own, *STAMPS])


def register(spark: SparkSession) -> None:
    """Let a session read with `format("whence")`. A session that was made from one which can, can already."""
    told = spark.sparkContext.getConf().getAll()
    properties = {name.removeprefix(_HADOOP): value for name, value in told if name.startswith(_HADOOP)}
    source = type("SessionSource", (WhenceSource,), {"properties": properties}) if properties else WhenceSource
    # Spark looks for the name in the session that is active, and so it would find that of another one.
    spark.createDataFrame([], "nothing INT")
    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
