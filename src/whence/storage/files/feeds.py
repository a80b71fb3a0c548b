"""What commits changed, for those who look from outside: row by row, with the names that Spark has for change data."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from whence.algebra.deltas import add_to
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, Row
from whence.model.updates import Version
from whence.session.journal import Entry, check_kept
from whence.storage.files.commits import read_logs
from whence.storage.files.files import Files
from whence.storage.files.manifest import Log, Manifest, Segment
from whence.storage.files.segments import COUNT, frame_schema, read_segment

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_VERSION = "_commit_version"
_TIMESTAMP = "_commit_timestamp"
_TYPE = "_change_type"


@dataclass(frozen=True, slots=True)
class FeedPart:
    """What one commit changed in a relation: columns `c0`, `c1`, ... and `n`, in memory or in a segment."""

    version: Version
    timestamp: datetime.datetime
    changes: pa.Table | Segment


def read_feed(files: Files, manifest: Manifest, name: str, since: Version, keep_versions: int) -> list[FeedPart]:
    """The changes of a relation after a version. Raises where some of them are forgotten."""
    check_kept(name, since, manifest.forgotten.get(name, Version(0)), keep_versions)
    feeds = [feed for feed in manifest.feeds if feed.version > since and name in feed.changes]
    logs = read_logs(files, [each for feed in feeds if isinstance(each := feed.changes[name], Log)])
    return [
        FeedPart(feed.version, feed.timestamp, logs[change] if isinstance(change, Log) else change)
        for feed in feeds
        for change in (feed.changes[name],)
    ]


def feed_entries(spark: SparkSession, files: Files, relation: Relation, parts: Sequence[FeedPart]) -> list[Entry]:
    """The changes in memory."""
    from whence.engines.spark.types import rows_from_arrow

    entries = []
    for part in parts:
        changes = part.changes
        if isinstance(changes, Segment):
            changes = segment_changes(spark, files, relation, changes).toArrow()
        delta: dict[Row, int] = {}
        add_to(delta, zip(rows_from_arrow(changes, relation), changes.column(COUNT).to_pylist(), strict=True))
        entries.append(Entry(part.version, part.timestamp, delta))
    return entries


def feed_frame(spark: SparkSession, files: Files, relation: Relation, parts: Sequence[FeedPart]) -> DataFrame:
    """The changes row by row, under the names of the relation's columns.

    Where a key stays and its row changes, the old and the new row are the two images of an update.
    """
    from pyspark.sql import functions

    small: list[pa.Table] = []
    frames = []
    for part in parts:
        if isinstance(part.changes, Segment):
            frame = segment_changes(spark, files, relation, part.changes)
            stamps = {_VERSION: functions.lit(part.version), _TIMESTAMP: functions.lit(part.timestamp)}
            frames.append(frame.withColumns(stamps))
        else:
            small.append(_stamped(part.changes, part.version, part.timestamp))
    frames.append(_small(spark, relation, small))
    changes = reduce(lambda some, more: some.unionByName(more), frames).withColumn(_TYPE, _change_type(relation))
    copies = functions.sequence(functions.lit(1), functions.abs(COUNT))
    changes = changes.withColumn(COUNT, functions.explode(copies))
    named = [functions.col(f"c{at}").alias(name) for at, name in enumerate(relation.column_names)]
    return changes.select(*named, _TYPE, functions.col(_VERSION).cast("bigint").alias(_VERSION), _TIMESTAMP)


def segment_changes(spark: SparkSession, files: Files, relation: Relation, segment: Segment) -> DataFrame:
    """A large change: columns `c0`, `c1`, ... and `n`."""
    from pyspark.sql import functions

    frame = read_segment(spark, files, segment, _columns(relation))
    if not relation.distinct:
        return frame
    # It may be the state of a set, with the number of its rows' derivations. What goes can be copies from before it
    # was a set.
    return frame.withColumn(COUNT, functions.least(COUNT, functions.lit(1).cast("bigint")))


def _columns(relation: Relation) -> tuple[Column, ...]:
    own = (Column(f"c{at}", column.type, column.nullable) for at, column in enumerate(relation.columns))
    return (*own, Column(COUNT, BIGINT, nullable=False))


def _stamped(changes: pa.Table, version: Version, timestamp: datetime.datetime) -> pa.Table:
    return changes.append_column(_VERSION, pa.repeat(pa.scalar(version, pa.int64()), changes.num_rows)).append_column(
        _TIMESTAMP, pa.repeat(pa.scalar(timestamp, pa.timestamp("us", "UTC")), changes.num_rows)
    )


def _small(spark: SparkSession, relation: Relation, stamped: list[pa.Table]) -> DataFrame:
    from pyspark.sql.types import TimestampType

    # When a commit happened is a moment, unlike a TIMESTAMP.
    schema = frame_schema((*_columns(relation), Column(_VERSION, BIGINT))).add(_TIMESTAMP, TimestampType())
    if not stamped:
        return spark.createDataFrame([], schema)
    return spark.createDataFrame(pa.concat_tables([changes.select(schema.names) for changes in stamped]), schema)


def _change_type(relation: Relation) -> SparkColumn:
    from pyspark.sql import Window, functions

    goes = functions.col(COUNT) < 0
    plain = functions.when(goes, "delete").otherwise("insert")
    if not relation.key:
        return plain
    key = [f"c{relation.column_names.index(name)}" for name in relation.key]
    same = Window.partitionBy(_VERSION, *key)
    is_update = (functions.min(COUNT).over(same) < 0) & (functions.max(COUNT).over(same) > 0)
    image = functions.when(goes, "update_preimage").otherwise("update_postimage")
    return functions.when(is_update, image).otherwise(plain)
