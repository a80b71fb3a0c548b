"""The rows of a relation as Spark scans them: segments of Parquet, and over them what has changed since.

Nothing here asks who wrote the files, so that a writer and its readers elsewhere see the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as compute
import pyspark.sql.functions as functions
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.frames import as_seen, overlaid, present, summed
from whence.engines.spark.registry import COUNTS, latest
from whence.engines.spark.types import arrow_frame, column_names, public_sql, rows_from_arrow, with_columns
from whence.model.schema import Column, Relation
from whence.spark.bulk_load import joined
from whence.spark.filtered_rows import bag_after, derived_set_after, replaced, set_after
from whence.storage.files.files import Files
from whence.storage.files.manifest import Segment
from whence.storage.files.segments import read_segments

# Of rows that have gone, so many are handed to all tasks of a scan.
MOST_GONE = 500_000


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows and counts. Each row is there `once`; with `single`, each count is 1."""

    frame: DataFrame
    once: bool = True
    single: bool = True

    def named(self, relation: Relation) -> DataFrame:
        """Every row as often as it is there, under the names of the columns."""
        frame = self.frame
        if not self.single:
            copies = functions.sequence(functions.lit(1), functions.col("n").cast("int"))
            frame = frame.where("n > 0").withColumn("n", functions.explode(copies))
        return frame.select(
            [
                functions.expr(public_sql(f"c{at}", column.type)).alias(column.name)
                for at, column in enumerate(relation.columns)
            ]
        )


@dataclass(frozen=True, slots=True)
class StoredRows:
    """A state as it is stored. The overlay has each row once, and its columns are those of the segments.

    Of a set that `is_table`, no row is in several places at once.
    """

    relation: Relation
    kind: str
    columns: tuple[Column, ...]
    segments: Sequence[Segment]
    overlay: pa.Table
    is_table: bool

    def counted(self, spark: SparkSession, files: Files) -> Counted:
        base = read_segments(spark, files, self.segments, self.columns) if self.segments else None
        found = None if base is None else self._filtered(spark, base) or self._scanned(spark, files, base)
        if found is not None:
            return found
        relation = self.relation
        if base is None or len(self.segments) > 1 or self.overlay.num_rows or self._repeats:
            known = "n" if self.kind == COUNTS else self.columns[relation.arity].name
            base = overlaid(relation, base, arrow_frame(spark, self.overlay), known)
        return Counted(as_seen(base, relation), single=relation.distinct)

    def with_changes(self, changes: pa.Table) -> StoredRows:
        """A bag after changes of its counts."""
        more = changes.select(self.overlay.column_names).cast(self.overlay.schema)
        return replace(self, overlay=added_up(pa.concat_tables([self.overlay, more]), self.relation))

    def _filtered(self, spark: SparkSession, base: DataFrame) -> Counted | None:
        """The rows as a scan that knows what has changed; None if that is too much, or rows lie in several places."""
        relation, overlay = self.relation, self.overlay
        counts = [each.counts for each in self.segments if each.rows]
        is_apart = relation.distinct and (self.is_table or self.kind != COUNTS)
        if self._repeats or not overlay.num_rows or (len(counts) > 1 and not is_apart):
            return None
        if self.kind != COUNTS:
            there = overlay.filter(overlay.column(self.columns[relation.arity].name).is_valid())
            added = with_columns(there.select(column_names(relation.arity)), {"n": _ones(there.num_rows)})
            return _set(replaced(spark, relation, as_seen(base, relation), overlay, added))
        if any(each is None or each[0] < 0 for each in counts):
            return None
        if self.is_table and relation.distinct:
            return _set(set_after(spark, relation, base, overlay))
        if relation.distinct:
            found = derived_set_after(spark, relation, base, overlay)
            return _set(None if found is None else present(found))
        single = all(each is None or each[1] == 1 for each in counts)
        bag = bag_after(spark, relation, base, overlay, single=single)
        most = compute.max(overlay.column("n")).as_py()
        return None if bag is None else Counted(bag, once=most < 0, single=single and most <= 1)

    @property
    def _repeats(self) -> bool:
        return any(segment.repeats for segment in self.segments)

    def _scanned(self, spark: SparkSession, files: Files, base: DataFrame) -> Counted | None:
        """The rows as a scan of the base, with what has changed beside it; None where all rows have to be added up.

        Rows that have gone at some time are few, and only these are added up: in a table, and in a bag, any other row
        is as often there as each part says.
        """
        relation, ranges = self.relation, [each.counts for each in self.segments if each.rows]
        if self.kind != COUNTS or (relation.distinct and not self.is_table) or None in ranges:
            return None
        bounds = [each for each in ranges if each is not None]
        once = relation.distinct or (len(ranges) + bool(self.overlay.num_rows) <= 1 and not self._repeats)
        overlay = arrow_frame(spark, self.overlay) if self.overlay.num_rows else None
        together = base if overlay is None else base.unionByName(overlay)
        if overlay is not None:
            changed = compute.min_max(self.overlay.column("n")).as_py()
            bounds = [*bounds, (changed["min"], changed["max"])]
        if min([least for least, _ in bounds], default=1) > 0:
            is_single = max([most for _, most in bounds], default=1) == 1
            return Counted(together, once, single=relation.distinct or is_single)
        with_gone = [each for each in self.segments if each.counts is not None and each.counts[0] < 0]
        if sum(segment.rows for segment in with_gone) > MOST_GONE:
            return None
        parts = [read_segments(spark, files, with_gone, self.columns)] if with_gone else []
        parts += [] if overlay is None else [overlay]
        gone = functions.broadcast(reduce(DataFrame.unionByName, parts).where("n < 0").drop("n").distinct())
        touched = summed(relation, [joined(together, gone, relation, "left_semi"), together.limit(0)])
        return Counted(joined(together, gone, relation, "left_anti").unionByName(touched), once, relation.distinct)


def _set(frame: DataFrame | None) -> Counted | None:
    return None if frame is None else Counted(frame)


def _ones(count: int) -> pa.Array:
    return pa.repeat(pa.scalar(1, pa.int64()), count)


def overlay_of(kind: str, relation: Relation, logs: pa.Table) -> pa.Table:
    """What logs come to, each row once."""
    return added_up(logs, relation) if kind == COUNTS else latest(logs, relation)


def added_up(changes: pa.Table, relation: Relation) -> pa.Table:
    """The sums of changes of counts, without those that come to nothing."""
    names = column_names(relation.arity)
    if not names or any(pa.types.is_nested(changes.schema.field(name).type) for name in names):
        # Arrow cannot tell such rows apart.
        return _added_up_in_python(changes, relation)
    sums = changes.group_by(names).aggregate([("n", "sum")]).rename_columns([*names, "n"])
    return sums.filter(compute.not_equal(sums.column("n"), 0)).cast(changes.schema)


def _added_up_in_python(changes: pa.Table, relation: Relation) -> pa.Table:
    rows, counts = rows_from_arrow(changes, relation), changes.column("n").to_pylist()
    totals: dict[object, int] = {}
    places: dict[object, int] = {}
    for place, (row, count) in enumerate(zip(rows, counts, strict=True)):
        totals[row] = totals.get(row, 0) + count
        places.setdefault(row, place)
    kept = [row for row, total in totals.items() if total]
    found = changes.take(pa.array([places[row] for row in kept], pa.int64()))
    at = changes.schema.get_field_index("n")
    return found.set_column(at, changes.schema.field(at), pa.array([totals[row] for row in kept], pa.int64()))


def with_few_changes(spark: SparkSession, relation: Relation, counted: Counted, changes: pa.Table) -> Counted:
    """The rows after changes of their counts, each of another row."""
    found = None
    if relation.distinct:
        found = set_after(spark, relation, counted.frame, changes)
    return _set(found) or with_changes(relation, counted, arrow_frame(spark, changes), few=True)


def with_changes(relation: Relation, counted: Counted, changes: DataFrame, *, few: bool) -> Counted:
    """The rows after changes of their counts, each of another row: `changes` has c0, c1, ... and `n`, never 0."""
    gone, added = changes.where("n < 0"), changes.where("n > 0")
    if few:
        gone = functions.broadcast(gone)
    if not counted.once:
        together = counted.frame.unionByName(changes)
        touched = summed(relation, [joined(together, gone.drop("n"), relation, "left_semi"), together.limit(0)])
        kept = joined(counted.frame, gone.drop("n"), relation, "left_anti")
        return Counted(kept.unionByName(added).unionByName(touched), once=False, single=relation.distinct)
    if counted.single:
        kept = joined(counted.frame, gone.drop("n"), relation, "left_anti")
    else:
        lost = gone.withColumnRenamed("n", "lost")
        kept = joined(counted.frame, lost, relation, "left")
        kept = kept.withColumn("n", functions.expr("n + coalesce(lost, 0)")).drop("lost").where("n > 0")
    # A row that comes can be there already: in a bag.
    return Counted(kept.unionByName(added), once=relation.distinct, single=relation.distinct)
