"""A database's change feeds as a data source of Spark: `spark.readStream.format("whence")`.

Spark runs this in processes of its own, which read the files of the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructField, StructType

from whence.cluster.reading import FeedFiles, Piece
from whence.engines.spark.storage.manifest import Log
from whence.engines.spark.types import arrow_type, spark_type
from whence.errors import DataError, StateError
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, STRING, TIMESTAMP

STAMPS = (Column("_change_type", STRING), Column("_commit_version", BIGINT), Column("_commit_timestamp", TIMESTAMP))
VERSION = "version"


class Pieces(InputPartition):
    """What one task reads."""

    def __init__(self, relation: Relation, pieces: Sequence[Piece]) -> None:
        super().__init__(None)
        self.relation = relation
        self.pieces = pieces


class WhenceSource(DataSource):
    """Options: `path` is the root of a database, `relation` a table or view, `since` a version (0 if not given)."""

    @classmethod
    def name(cls) -> str:
        return "whence"

    def schema(self) -> StructType:
        return _schema(self._feed().relation())

    def reader(self, schema: StructType) -> DataSourceReader:
        return FeedReader(self._feed(), schema, self._since())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - as Spark spells it
        return FeedStreamReader(self._feed(), schema, self._since())

    def _feed(self) -> FeedFiles:
        return FeedFiles(self._option("path"), self._option("relation"))

    def _option(self, name: str) -> str:
        value = self.options.get(name)
        if not value:
            raise DataError(f"the source whence needs the option {name!r}", hint=f'.option("{name}", "...")')
        return value

    def _since(self) -> int:
        since = self.options.get("since", "0")
        if not since.isdecimal():
            raise DataError(f"the option 'since' is a version, and not {since!r}")
        return int(since)


class _Planner:
    """Which task reads what."""

    def __init__(self, feed: FeedFiles, schema: StructType, since: int) -> None:
        self._feed = feed
        self._schema = schema
        self._since = since

    def _plan(self, since: int, until: int) -> list[Pieces]:
        relation = self._feed.relation()
        if _schema(relation) != self._schema:
            raise StateError(
                f"{relation.name!r} has other columns now than when its changes were first read",
                hint="read them anew, with a new checkpoint",
            )
        pieces = self._feed.pieces(relation, since, until)
        small = [piece for piece in pieces if isinstance(piece.changes, Log)]
        parts = [[piece] for piece in pieces if not isinstance(piece.changes, Log)]
        return [Pieces(relation, part) for part in ([small, *parts] if small else parts)]

    def _read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        # Where there is nothing to read, Spark reads that.
        if not isinstance(partition, Pieces):
            return
        relation = partition.relation
        fields = [pa.field(column.name, arrow_type(column.type)) for column in (*relation.columns, *STAMPS)]
        for piece in partition.pieces:
            table = self._feed.read(relation, piece)
            # A TIMESTAMP is a moment in UTC.
            arrays = [column.cast(field.type) for column, field in zip(table.columns, fields, strict=True)]
            yield from pa.Table.from_arrays(arrays, schema=pa.schema(fields)).to_batches()


class FeedReader(_Planner, DataSourceReader):
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
    columns = (*relation.columns, *STAMPS)
    return StructType([StructField(column.name, spark_type(column.type)) for column in columns])


def register(spark: SparkSession, source: type[DataSource]) -> None:
    """Let a session read with the source's name. A session that was made from one which can, can already."""
    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
