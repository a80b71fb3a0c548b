"""Relations of a database that another process writes, at one version and without its lock."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as compute
import pyspark.sql.functions as functions
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.types import arrow_frame, column_names
from whence.errors import StateError, UnsupportedError
from whence.model.schema import Relation
from whence.spark.sessions import check_running
from whence.spark.stored_rows import Counted, StoredRows, added_up, overlay_of, with_changes, with_few_changes
from whence.storage.files.database_files import DatabaseFiles, StoredVersion
from whence.storage.files.feeds import FeedPart, segment_changes
from whence.storage.files.files import Files, open_files
from whence.storage.files.manifest import Segment
from whence.storage.files.segments import COUNT


def read(spark: SparkSession, path: str | os.PathLike[str], relation: str, version: int | None = None) -> DataFrame:
    """The rows of a table or view, copies included, as they are in the last commit or were at a version.

    The database is in a directory, or wherever Spark reaches. Its writer is not asked and not held up; it keeps the
    files that a frame reads for ten minutes after it needs them no more.
    """
    session: object = spark
    if not isinstance(session, SparkSession):
        raise UnsupportedError(
            f"a {type(session).__name__} of Spark Connect cannot be used",
            hint="whence needs a SparkSession in its own process",
        )
    check_running(spark)
    try:
        files = open_files(spark, os.fspath(path))
        stored = DatabaseFiles(files).contents(relation, version)
    except OSError as error:
        raise StateError(f"the database in {os.fspath(path)} cannot be read: {error}") from error
    return _counted(spark, files, stored).named(stored.relation)


def _counted(spark: SparkSession, files: Files, stored: StoredVersion) -> Counted:
    relation, table = stored.relation, stored.table
    empty = pa.schema([pa.field(each.name, each.type.arrow(), each.nullable) for each in table.columns]).empty_table()
    overlay = empty
    if stored.logs:
        overlay = overlay_of(table.kind, relation, pa.concat_tables([log.cast(empty.schema) for log in stored.logs]))
    rows = StoredRows(relation, table.kind, table.columns, table.segments, overlay, stored.is_table)
    return before(spark, files, relation, rows.counted(spark, files), stored.later)


def before(
    spark: SparkSession, files: Files, relation: Relation, counted: Counted, later: Sequence[FeedPart]
) -> Counted:
    """The rows as they were before some changes."""
    small = [part.changes for part in later if not isinstance(part.changes, Segment)]
    large = [part.changes for part in later if isinstance(part.changes, Segment)]
    if not later:
        return counted
    frames = [segment_changes(spark, files, relation, each) for each in large]
    if small:
        total = added_up(pa.concat_tables(small, promote_options="default"), relation)
        if not large:
            at = total.schema.get_field_index(COUNT)
            undone = total.set_column(at, total.schema.field(at), compute.negate(total.column(COUNT)))
            return with_few_changes(spark, relation, counted, undone) if total.num_rows else counted
        frames.append(arrow_frame(spark, total))
    changes = reduce(DataFrame.unionByName, frames)
    sums = changes.groupBy(*column_names(relation.arity)).agg(functions.sum(COUNT).alias(COUNT))
    undone = sums.where(f"{COUNT} <> 0").withColumn(COUNT, -functions.col(COUNT))
    return with_changes(relation, counted, undone, few=False)
