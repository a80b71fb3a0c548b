"""States as frames, for work that takes whole relations: what readers see of them, and how two of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import and_

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from whence.algebra import deltas
from whence.engines.spark.types import arrow_frame, column_names, rows_from_arrow, rows_to_arrow, with_columns
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import CountedDelta, Delta


def delta_frame(spark: SparkSession, relation: Relation, delta: Delta) -> DataFrame:
    """A change as a frame of rows and counts."""
    if isinstance(delta, FrameDelta):
        return delta.frame
    counts = {"n": pa.array(delta.values(), pa.int64())}
    return arrow_frame(spark, with_columns(rows_to_arrow(list(delta), relation), counts))


def overlaid(relation: Relation, base: DataFrame | None, overlay: DataFrame, known: str) -> DataFrame:
    """The rows of a state, each once. What is known of them is in the column `known`, and perhaps in others.

    Counts, in a column `n`, add up. Anything else in the overlay replaces what the base has of a row, and NULL means
    that the row is gone.
    """
    if known == "n":
        return _added_up(relation, overlay if base is None else base.unionByName(overlay))
    there = overlay.where(F.col(known).isNotNull())
    if base is None:
        return there
    names = column_names(relation.arity)
    changed = overlay.select(names)
    matches = [
        base[name].eqNullSafe(changed[name]) if column.nullable else base[name] == changed[name]
        for name, column in zip(names, relation.columns, strict=True)
    ]
    return base.join(F.broadcast(changed), reduce(and_, matches, F.lit(True)), "left_anti").unionByName(there)


def summed(relation: Relation, parts: Sequence[DataFrame]) -> DataFrame:
    """Frames of rows and counts added up; a row that comes to nothing is left out."""
    frame = parts[0]
    if len(parts) == 1:
        return frame
    for part in parts[1:]:
        frame = frame.unionByName(part)
    return _added_up(relation, frame)


def _added_up(relation: Relation, frame: DataFrame) -> DataFrame:
    return frame.groupBy(*column_names(relation.arity)).agg(F.sum("n").alias("n")).where("n <> 0")


def present(frame: DataFrame) -> DataFrame:
    """The rows of a set, each once."""
    return frame.where("n > 0").withColumn("n", F.lit(1).cast("bigint"))


def as_seen(frame: DataFrame, relation: Relation) -> DataFrame:
    """A state as its readers see it: sets once, and supports not at all."""
    if "support" in frame.columns:
        return frame.drop("support").withColumn("n", F.lit(1).cast("bigint"))
    return present(frame) if relation.distinct else frame


def difference(relation: Relation, before: DataFrame, after: DataFrame) -> DataFrame:
    """What has to be added to one frame of rows and counts to make it the other."""
    return summed(relation, [after, before.withColumn("n", -F.col("n"))])


def matching(frame: DataFrame, keys: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows of a frame that hold a key in these columns, which have the same names in both."""
    return _compared(frame, keys, names, "left_semi")


def without(frame: DataFrame, keys: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows of a frame that do not."""
    return _compared(frame, keys, names, "left_anti")


def _compared(frame: DataFrame, keys: DataFrame, names: Sequence[str], how: str) -> DataFrame:
    wanted = keys.select(*(F.col(name).alias(f"r_{name}") for name in names))
    same = [F.col(name).eqNullSafe(F.col(f"r_{name}")) for name in names]
    return frame.join(wanted, reduce(and_, same, F.lit(True)), how)


class FrameDelta(CountedDelta):
    """A change that is too large for the driver, and stays on the cluster until it is read row by row.

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


class StoredDelta(FrameDelta):
    """All rows of a bag from nothing, as they lie in kept frames, where one can be several times, and over them."""

    def __init__(
        self, relation: Relation, frame: DataFrame, rows: int, stored: Sequence[DataFrame], overlay: Mapping[Row, int]
    ) -> None:
        super().__init__(relation, frame, rows)
        self.stored = stored
        self.overlay = overlay

    @cached_property
    def totals(self) -> tuple[int, int]:
        together = reduce(DataFrame.unionAll, [frame.select("n") for frame in self.stored])
        (sums,) = together.agg(F.sum("n")).collect()
        return sums[0] + sum(self.overlay.values()), 0


class SingleRows(StoredDelta):
    """The same where every row of the frames is there once, so that it is known how many there are."""

    @cached_property
    def totals(self) -> tuple[int, int]:
        return self.rows - len(self.overlay) + sum(self.overlay.values()), 0


class DriverDelta(FrameDelta):
    """A change of many rows that is in this process as columns, and on storage as a kept frame.

    `table` has c0, c1, ... and `n`, each row once.
    """

    def __init__(self, relation: Relation, table: pa.Table, kept: DataFrame) -> None:
        super().__init__(relation, kept, table.num_rows, kept)
        self.table = table

    @cached_property
    def totals(self) -> tuple[int, int]:
        counts = self.table.column("n").to_numpy()
        coming = int(counts[counts > 0].sum())
        return coming, coming - int(counts.sum())

    @cached_property
    def _rows(self) -> dict[Row, int]:
        return dict(zip(rows_from_arrow(self.table, self.relation), self.table.column("n").to_pylist(), strict=True))


def negated(delta: Delta) -> Delta:
    if isinstance(delta, FrameDelta):
        return FrameDelta(delta.relation, delta.frame.withColumn("n", -F.col("n")), delta.rows)
    return deltas.negated(delta)
