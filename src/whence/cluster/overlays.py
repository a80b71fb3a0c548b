"""What has changed in a state since its segments were written, as a data source of Spark.

It is read when a query runs, from the commits. A view that is made of it shows every commit without being told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from whence.cluster.reading import DatabaseFiles
from whence.cluster.source import register
from whence.engines.spark.registry import COUNTS
from whence.engines.spark.storage.chain import read_logs
from whence.engines.spark.storage.columns import frame_schema
from whence.engines.spark.types import arrow_type, rows_from_arrow
from whence.errors import StateError
from whence.model.schema import Column, Relation
from whence.model.types import ArrayType, Type

_BETWEEN = ","


class OverlaySource(DataSource):
    """Options: `path` is the root of a database, `state` one of its states, and `segments` those that it lies over."""

    @classmethod
    def name(cls) -> str:
        return "whence_overlay"

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - whoever asks knows the columns
        options = self.options
        return OverlayReader(DatabaseFiles(options["path"]), options["state"], options["segments"])


class OverlayReader(DataSourceReader):
    def __init__(self, database: DatabaseFiles, state: str, segments: str) -> None:
        self._database = database
        self._state = state
        self._segments = segments

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - there is only one
        table = self._database.manifest().tables.get(self._state)
        if table is None or _BETWEEN.join(segment.path for segment in table.segments) != self._segments:
            raise StateError(
                f"{self._state!r} was written anew while a query was about to read it", hint="run the query again"
            )
        found = read_logs(self._database.files, table.logs)
        fields = [pa.field(column.name, _expected(column.type), column.nullable) for column in table.columns]
        schema = pa.schema(fields)
        overlay = pa.concat_tables([schema.empty_table(), *(found[log].cast(schema) for log in table.logs)])
        yield from (overlay if table.kind == COUNTS else _latest(overlay, table.columns)).to_batches()


def overlay_frame(
    spark: SparkSession, root: str, state: str, columns: tuple[Column, ...], segments: Sequence[str]
) -> DataFrame:
    """What lies over the segments of a state, whenever it is looked at."""
    register(spark, OverlaySource)
    reader = spark.read.format(OverlaySource.name()).schema(frame_schema(columns))
    return reader.option("path", root).option("state", state).option("segments", _BETWEEN.join(segments)).load()


def _expected(kind: Type) -> pa.DataType:
    """Spark wants the elements of a list to be called so."""
    if isinstance(kind, ArrayType):
        return pa.list_(pa.field("element", _expected(kind.element)))
    return arrow_type(kind)


def _latest(overlay: pa.Table, columns: tuple[Column, ...]) -> pa.Table:
    """The last that is known of each row."""
    own = tuple(column for column in columns if column.name.startswith("c"))
    last = {row: at for at, row in enumerate(rows_from_arrow(overlay, Relation("rows", own)))}
    return overlay.take(pa.array(last.values(), pa.int64()))
