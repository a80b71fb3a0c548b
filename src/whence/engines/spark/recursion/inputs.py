"""The relations below a recursive component, at hand for all its rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Observation

from whence.engines.spark.recursion.checkpoints import Checkpoint, checkpoint
from whence.engines.spark.tuple_ids import tuple_id
from whence.engines.spark.types import column_names
from whence.model.schema import Relation

# Up to so many rows go to every executor. A frame is then kept in the driver, where sending it takes no job of its own.
SMALL = 10_000


class Inputs:
    """Frames of the rows that are there, with the number of each as `id`.

    `owing` tells that there are rows with a count below zero, so that presence is not all there is to know.
    """

    def __init__(
        self, names: Iterable[str], relations: Mapping[str, Relation], frames: Mapping[str, DataFrame]
    ) -> None:
        self._frames: dict[str, DataFrame] = {}
        self._kept: dict[str, Checkpoint] = {}
        self._rows: dict[str, int] = {}
        self.owing = False
        for name in names:
            self._prepare(relations[name], frames[name])

    def __getitem__(self, name: str) -> DataFrame:
        return self._frames[name]

    def rows(self, name: str) -> int:
        return self._rows[name]

    def is_small(self, name: str) -> bool:
        return name not in self._kept

    def release(self) -> None:
        for kept in self._kept.values():
            kept.release()

    def _prepare(self, relation: Relation, frame: DataFrame) -> None:
        columns = column_names(relation.arity)
        counted = Observation()
        present = frame
        if not relation.distinct:
            present = frame.observe(counted, F.min("n").alias("least")).where("n > 0")
        rows = present.select(*columns, tuple_id(relation.name, [F.col(name) for name in columns]).alias("id"))
        kept = checkpoint(rows)
        self._rows[relation.name] = kept.rows
        if not relation.distinct:
            self.owing = self.owing or (counted.get["least"] or 0) < 0
        if kept.rows > SMALL:
            self._kept[relation.name] = kept
            self._frames[relation.name] = kept.frame
        else:
            local = frame.sparkSession.createDataFrame(kept.frame.toArrow(), rows.schema)
            self._frames[relation.name] = F.broadcast(local)
            kept.release()
