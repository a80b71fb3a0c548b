"""Relations as frames and temporary views of the user's own Spark session."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import pyspark.sql.functions as functions
from pyspark.sql import DataFrame, SparkSession

from whence.cluster.home import StorageHome
from whence.cluster.overlays import overlay_frame
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta, as_seen, delta_frame, overlaid, summed
from whence.engines.spark.registry import COUNTS
from whence.engines.spark.storage.segments import read_segment
from whence.engines.spark.storage.store import Storage
from whence.engines.spark.types import column_names
from whence.model.schema import Relation
from whence.model.updates import Delta

# So many small changes are put on top of a view before it is made anew.
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


class Publisher:
    """Shows a database's relations to sessions that are not its own."""

    def __init__(self, spark: SparkSession, engine: SparkEngine, storage: Storage, home: StorageHome) -> None:
        self.spark = spark
        self._engine = engine
        self._storage = storage
        self._home = home
        self._views: dict[str, _View] = {}

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
        if view is None or len(view.parts) > MOST_CHANGES or change is None or _is_large(change):
            parts = [self._counted(self.spark, relation)]
        else:
            # A few rows more are quicker to hand to Spark than everything that has changed since the last compaction.
            parts = [*view.parts, delta_frame(self.spark, relation, change)]
        self._show(relation, _View(list(segments), parts))

    def publish_in(self, spark: SparkSession, relation: Relation) -> None:
        """Let another session see the relation as it is now."""
        _named(self._counted(spark, relation), relation).createOrReplaceTempView(_quoted(relation.name))

    def withdraw(self, name: str) -> None:
        if self._views.pop(name, None) is not None:
            self.spark.catalog.dropTempView(_quoted(name))

    def withdraw_all(self) -> None:
        for name in list(self._views):
            self.withdraw(name)

    def _show(self, relation: Relation, view: _View) -> None:
        self._views[relation.name] = view
        _named(summed(relation, view.parts), relation).createOrReplaceTempView(_quoted(relation.name))

    def _counted(self, spark: SparkSession, relation: Relation) -> DataFrame:
        base = self._base(spark, relation)
        return as_seen(self._engine.registry.frame_in(spark, relation.name, base), relation)

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
        columns = registry.codec(relation.name).columns
        parts = [
            read_segment(spark, self._storage.files, self._home.segment(frame), columns)
            for frame in registry.kept_frames(relation.name)
        ]
        return reduce(DataFrame.unionByName, parts) if parts else None


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


def _is_large(change: Delta) -> bool:
    return isinstance(change, FrameDelta) or len(change) > LARGE_CHANGE


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
