"""States as frames, for work that takes whole relations: what readers see of them, and how two of them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.state import Counted, Known
from whence.engines.spark.types import frame_schema, rows_from_arrow, rows_to_arrow, with_columns
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import CountedDelta, Delta


def column_names(relation: Relation) -> list[str]:
    return [f"c{number}" for number in range(relation.arity)]


def delta_frame(spark: SparkSession, relation: Relation, delta: Delta) -> DataFrame:
    """A change as a frame of rows and counts."""
    if isinstance(delta, FrameDelta):
        return delta.frame
    return spark.createDataFrame(
        with_columns(rows_to_arrow(list(delta), relation), {"n": pa.array(delta.values(), pa.int64())})
    )


def counted_frame(spark: SparkSession, state: Counted, base: DataFrame | None, *, is_unique: bool) -> DataFrame:
    """The rows of a state over its base and how often each is there, once for each row.

    `is_unique` tells whether the base has each row once already.
    """
    parts = [] if base is None else [base]
    if state.overlay.counts or base is None:
        parts.append(delta_frame(spark, state.relation, state.overlay.counts))
    return summed(state.relation, parts) if is_unique or len(parts) > 1 else _added_up(state.relation, parts[0])


def summed(relation: Relation, parts: Sequence[DataFrame]) -> DataFrame:
    """Frames of rows and counts added up; a row that comes to nothing is left out."""
    frame = parts[0]
    if len(parts) == 1:
        return frame
    for part in parts[1:]:
        frame = frame.unionByName(part)
    return _added_up(relation, frame)


def _added_up(relation: Relation, frame: DataFrame) -> DataFrame:
    return frame.groupBy(*column_names(relation)).agg(F.sum("n").alias("n")).where("n <> 0")


def present(frame: DataFrame) -> DataFrame:
    """The rows of a set, each once."""
    return frame.where("n > 0").withColumn("n", F.lit(1).cast("bigint"))


def as_seen(frame: DataFrame, relation: Relation) -> DataFrame:
    """A state as its readers see it: sets once, and supports not at all."""
    if "support" in frame.columns:
        return frame.drop("support").withColumn("n", F.lit(1).cast("bigint"))
    return present(frame) if relation.distinct else frame


def known_frame(
    spark: SparkSession,
    state: Known[Any],
    frame: DataFrame | None,
    encode: Callable[[Mapping[Row, Any]], pa.Table],
) -> DataFrame:
    """The rows of a state over its base with what is known of them, which `encode` writes as columns beside the row."""
    there = {row: known for row, known in state.overlay.items() if known is not None}
    if frame is None:
        return spark.createDataFrame(encode(there))
    if not state.overlay:
        return frame
    changed = spark.createDataFrame(rows_to_arrow(list(state.overlay), state.relation), frame_schema(state.relation))
    matches = [
        frame[f"c{number}"].eqNullSafe(changed[f"c{number}"])
        if column.nullable
        else frame[f"c{number}"] == changed[f"c{number}"]
        for number, column in enumerate(state.relation.columns)
    ]
    kept = frame.join(F.broadcast(changed), matches, "left_anti")
    return kept.unionByName(spark.createDataFrame(encode(there))) if there else kept


def difference(relation: Relation, before: DataFrame, after: DataFrame) -> DataFrame:
    """What has to be added to one frame of rows and counts to make it the other."""
    return summed(relation, [after, before.withColumn("n", -F.col("n"))])


class FrameDelta(CountedDelta):
    """A change that is too large for the driver, and stays on the cluster until somebody reads it row by row.

    `kept` is the frame on storage that it was made from, if it needs no other.
    """

    def __init__(self, relation: Relation, frame: DataFrame, rows: int, kept: DataFrame | None = None) -> None:
        self.relation = relation
        self.frame = frame
        self.rows = rows
        self.kept = kept

    @cached_property
    def totals(self) -> tuple[int, int]:
        came = F.sum(F.when(F.col("n") > 0, F.col("n")))
        went = F.sum(F.when(F.col("n") < 0, -F.col("n")))
        (sums,) = self.frame.agg(came, went).collect()
        return sums[0] or 0, sums[1] or 0

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        rows = self._rows
        return [list(column) for column in zip(*rows, strict=True)], list(rows.values())

    def __getitem__(self, row: Row) -> int:
        return self._rows[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __bool__(self) -> bool:
        return True

    @cached_property
    def _rows(self) -> dict[Row, int]:
        table = self.frame.toArrow()
        return dict(zip(rows_from_arrow(table, self.relation), table.column("n").to_pylist(), strict=True))


def negated(delta: Delta) -> Delta:
    if isinstance(delta, FrameDelta):
        return FrameDelta(delta.relation, delta.frame.withColumn("n", -F.col("n")), delta.rows)
    return {row: -count for row, count in delta.items()}


def added(*deltas: Delta) -> Delta:
    """Changes one after the other, as one."""
    total: dict[Row, int] = {}
    for delta in deltas:
        for row, count in delta.items():
            total[row] = total.get(row, 0) + count
    return {row: count for row, count in total.items() if count}
