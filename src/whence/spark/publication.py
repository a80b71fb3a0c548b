"""What has changed in a state since its segments were written, as a data source of Spark.

It is read when a query runs, from the commits. A view that is made of it shows every commit without being told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyspark.sql.functions as functions
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta, as_seen, delta_frame, overlaid, summed
from whence.engines.spark.registry import COUNTS
from whence.engines.spark.types import arrow_frame, column_names, rows_from_arrow, spark_type
from whence.errors import StateError
from whence.model.schema import Column, Relation
from whence.model.types import ArrayType, Type
from whence.model.updates import Delta
from whence.spark.bulk_load import joined
from whence.spark.decorators import quoted
from whence.spark.home import StorageHome
from whence.spark.sessions import is_running
from whence.spark.source import DatabaseFiles, register
from whence.storage.files.commits import read_logs
from whence.storage.files.segments import frame_schema, read_segments
from whence.storage.files.store import Storage

_BETWEEN = ","


class OverlaySource(DataSource):
    """Options: `path` is the root of a database, `state` one of its states, and `segments` those that it lies over."""

    @classmethod
    def name(cls) -> str:
        return "whence_overlay"

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - the caller knows the columns
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
    return kind.arrow()


def _latest(overlay: pa.Table, columns: tuple[Column, ...]) -> pa.Table:
    """The last that is known of each row."""
    own = tuple(column for column in columns if column.name.startswith("c"))
    last = {row: at for at, row in enumerate(rows_from_arrow(overlay, Relation("rows", own)))}
    return overlay.take(pa.array(last.values(), pa.int64()))


# Of rows that have gone, so many are handed to all tasks of a scan.
MOST_GONE = 500_000
# So many small changes are put on top of a view before it is made again.
MOST_CHANGES = 30
LARGE_CHANGE = 1_000


@dataclass(frozen=True, slots=True)
class _View:
    """A published view: the segments below it, and frames of its rows at some version and of the changes since.

    A view that `follows` the commits shows later changes too.
    """

    segments: list[DataFrame]
    parts: list[DataFrame]
    follows: bool = False


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
        self._mark = object()

    def frame(self, relation: Relation) -> DataFrame:
        """The rows, copies included, under the names of their columns, as they are now."""
        return _named(self._counted(self.spark, relation), relation)

    def publish(self, relation: Relation, change: Delta | None) -> None:
        """Let `spark.sql` see the relation as it is now. `change` is what is different since it last did, if known."""
        segments = self._engine.registry.kept_frames(relation.name)
        view = self._views.get(relation.name)
        if view is not None and view.segments != segments:
            view = None
        if view is not None and view.follows:
            return
        if self._storage.files.directory is not None and self._engine.registry[relation.name].overlay_rows:
            self._show(relation, _View(list(segments), [self._following(relation)], follows=True))
            return
        is_large = isinstance(change, FrameDelta) or (change is not None and len(change) > LARGE_CHANGE)
        if view is None or len(view.parts) > MOST_CHANGES or change is None or is_large:
            parts = [self._counted(self.spark, relation)]
        else:
            # A few rows more are quicker to hand to Spark than everything that has changed since the last compaction.
            parts = [*view.parts, delta_frame(self.spark, relation, change)]
        self._show(relation, _View(list(segments), parts))

    def publish_in(self, spark: SparkSession, relation: Relation) -> None:
        """Let a session of our own see the relation as it is now, with a moment for every TIMESTAMP."""
        named = _named(self._counted(spark, relation), relation)
        # In a session whose zone is UTC they are the same, and Spark casts more types to moments and back.
        as_moments = [
            functions.col(quoted(column.name)).cast(_with_moments(column.type)).alias(column.name)
            for column in relation.columns
        ]
        named.select(as_moments).createOrReplaceTempView(quoted(relation.name))

    def withdraw(self, name: str) -> None:
        """Unless another database shows a relation under that name by now."""
        owners = _OWNERS.get(self.spark, {})
        if self._views.pop(name, None) is not None and owners.get(name.lower()) is self._mark:
            del owners[name.lower()]
            if is_running(self.spark):
                # Unlike what makes a view, this takes the name as it is.
                self.spark.catalog.dropTempView(name)

    def withdraw_all(self) -> None:
        for name in list(self._views):
            self.withdraw(name)

    def _show(self, relation: Relation, view: _View) -> None:
        self._views[relation.name] = view
        _OWNERS.setdefault(self.spark, {})[relation.name.lower()] = self._mark
        _named(summed(relation, view.parts), relation).createOrReplaceTempView(quoted(relation.name))

    def _counted(self, spark: SparkSession, relation: Relation) -> DataFrame:
        base = self._base(spark, relation)
        parts = None if base is None else self._scanned(spark, relation, base)
        if parts is not None:
            return parts
        return as_seen(self._engine.registry.frame_in(spark, relation.name, base), relation)

    def _scanned(self, spark: SparkSession, relation: Relation, base: DataFrame) -> DataFrame | None:
        """The rows as a scan of the base, with what has changed beside it; None where all rows have to be added up.

        Rows that have gone at some time are few, and only these are added up: in a table, and in a bag, any other row
        is as often there as each part says.
        """
        registry, name = self._engine.registry, relation.name
        if registry.codec(name).kind != COUNTS or (relation.distinct and not self._engine.is_table(name)):
            return None
        least = [(frame, self._home.least_count(frame)) for frame in registry.kept_frames(name)]
        if any(each is None for _, each in least):
            return None
        overlay = arrow_frame(spark, registry.overlay_table(name))
        together = base.unionByName(overlay)
        changed = [count for count in registry[name].overlay_rows.values() if count is not None]
        with_gone = [self._home.segment(frame) for frame, each in least if each is not None and each < 0]
        if not with_gone and min(changed, default=1) > 0:
            return together
        if sum(segment.rows for segment in with_gone) > MOST_GONE:
            return None
        parts = [overlay.where("n < 0")]
        if with_gone:
            columns = registry.codec(name).columns
            parts.append(read_segments(spark, self._storage.files, with_gone, columns).where("n < 0"))
        gone = functions.broadcast(reduce(DataFrame.unionByName, parts).drop("n").distinct())
        touched = summed(relation, [joined(together, gone, relation, "left_semi"), overlay.limit(0)])
        return joined(together, gone, relation, "left_anti").unionByName(touched)

    def _following(self, relation: Relation) -> DataFrame:
        """The rows as they are whenever they are looked at, until there are other segments."""
        registry, name = self._engine.registry, relation.name
        segments = [self._home.segment(frame).path for frame in registry.kept_frames(name)]
        root, codec = str(self._storage.files.directory), registry.codec(name)
        overlay = overlay_frame(self.spark, root, name, codec.columns, segments)
        base = self._base(self.spark, relation)
        if codec.kind == COUNTS:
            return as_seen(overlaid(relation, base, overlay, codec.known), relation)
        return _newest(relation, base, overlay, codec.known)

    def _base(self, spark: SparkSession, relation: Relation) -> DataFrame | None:
        registry = self._engine.registry
        segments = [self._home.segment(frame) for frame in registry.kept_frames(relation.name)]
        columns = registry.codec(relation.name).columns
        return read_segments(spark, self._storage.files, segments, columns) if segments else None


def _named(counted: DataFrame, relation: Relation) -> DataFrame:
    """Every row as often as it is there, under the names of the columns."""
    if not relation.distinct:
        copies = functions.sequence(functions.lit(1), functions.col("n").cast("int"))
        counted = counted.where("n > 0").withColumn("n", functions.explode(copies))
    return counted.select([functions.col(f"c{at}").alias(name) for at, name in enumerate(relation.column_names)])


def _newest(relation: Relation, base: DataFrame | None, overlay: DataFrame, known: str) -> DataFrame:
    """The rows of which something is known, where an overlay replaces what a base has. The overlay is read once.

    It can be another one the next time it is read.
    """
    is_there = functions.col(known).isNotNull().alias("is_there")
    parts = [
        part.select(*column_names(relation.arity), is_there, functions.lit(age).alias("age"))
        for age, part in enumerate((base, overlay))
        if part is not None
    ]
    rows = reduce(DataFrame.unionAll, parts).groupBy(*column_names(relation.arity))
    newest = rows.agg(functions.max_by("is_there", "age").alias("is_there")).where("is_there")
    return newest.withColumn("n", functions.lit(1).cast("bigint"))


def _with_moments(kind: Type) -> str:
    return spark_type(kind).simpleString().replace("timestamp_ntz", "timestamp")
