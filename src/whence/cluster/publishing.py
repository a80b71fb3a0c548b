"""Relations as frames and temporary views of the user's own Spark session."""

from __future__ import annotations

from functools import reduce

import pyspark.sql.functions as functions
from pyspark.sql import DataFrame, SparkSession

from whence.cluster.home import StorageHome
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import as_seen
from whence.engines.spark.storage.segments import read_segment
from whence.engines.spark.storage.store import Storage
from whence.model.schema import Relation


class Publisher:
    """Shows a database's relations to a session that is not its own."""

    def __init__(self, spark: SparkSession, engine: SparkEngine, storage: Storage, home: StorageHome) -> None:
        self._spark = spark
        self._engine = engine
        self._storage = storage
        self._home = home
        self._views: set[str] = set()

    def frame(self, relation: Relation) -> DataFrame:
        """The rows, copies included, under the names of their columns, as they are now."""
        registry = self._engine.registry
        columns = registry.codec(relation.name).columns
        parts = [
            read_segment(self._spark, self._storage.files, self._home.segment(frame), columns)
            for frame in registry.kept_frames(relation.name)
        ]
        base = reduce(DataFrame.unionByName, parts) if parts else None
        seen = as_seen(registry.frame_in(self._spark, relation.name, base), relation)
        if not relation.distinct:
            copies = functions.sequence(functions.lit(1), functions.col("n").cast("int"))
            seen = seen.where("n > 0").withColumn("n", functions.explode(copies))
        return seen.select([functions.col(f"c{at}").alias(name) for at, name in enumerate(relation.column_names)])

    def publish(self, relation: Relation) -> None:
        """Let `spark.sql` see the relation as it is now."""
        self.frame(relation).createOrReplaceTempView(_quoted(relation.name))
        self._views.add(relation.name)

    def withdraw(self, name: str) -> None:
        if name in self._views:
            self._spark.catalog.dropTempView(_quoted(name))
            self._views.discard(name)

    def withdraw_all(self) -> None:
        for name in list(self._views):
            self.withdraw(name)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
