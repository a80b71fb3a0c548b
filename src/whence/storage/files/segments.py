"""The columns of stored state, as Spark and Arrow know them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from whence.errors import InternalError, StateError
from whence.model.schema import Column
from whence.model.types import TYPES, ArrayType, DecimalType, Type
from whence.model.types import StructType as WhenceStruct
from whence.model.types.intervals import DAY_TIME
from whence.session.functions import parse_type
from whence.storage.files.files import Files
from whence.storage.files.manifest import Segment
from whence.storage.sqlite.files import damaged

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_BY_ARROW = {kind.arrow(): kind for kind in (*TYPES, DAY_TIME)}


def columns_of_frame(schema: StructType) -> tuple[Column, ...]:
    return tuple(
        Column(field.name, parse_type(field.dataType.simpleString()), field.nullable) for field in schema.fields
    )


def columns_of_arrow(schema: pa.Schema) -> tuple[Column, ...]:
    return tuple(Column(field.name, _type(field.type), field.nullable) for field in schema)


def frame_schema(columns: tuple[Column, ...]) -> StructType:
    from pyspark.sql.types import StructField, StructType

    from whence.engines.spark.types import spark_type

    return StructType([StructField(column.name, spark_type(column.type), column.nullable) for column in columns])


def _type(kind: pa.DataType) -> Type:
    if pa.types.is_decimal128(kind):
        return DecimalType(kind.precision, kind.scale)
    if pa.types.is_list(kind):
        return ArrayType(_type(kind.value_type))
    if pa.types.is_struct(kind):
        return WhenceStruct([(field.name, _type(field.type)) for field in kind])
    if kind not in _BY_ARROW:
        raise InternalError(f"no column has the Arrow type {kind}")
    return _BY_ARROW[kind]


SEGMENTS = "segments"
# The column that tells how often a row is there, or how that has changed.
COUNT = "n"


def new_segment_path(epoch: int) -> str:
    """A path that nobody else takes. It tells in which epoch it was taken."""
    return f"{SEGMENTS}/{epoch:020}-{secrets.token_hex(8)}"


def segment_epoch(name: str) -> int:
    epoch = name.partition("-")[0]
    return int(epoch) if epoch.isdecimal() else 0


def write_segment(files: Files, frame: DataFrame, path: str) -> Segment:
    """Write a frame in one job."""
    from pyspark.sql import Observation, functions

    counted = Observation()
    observed = [functions.count(functions.lit(1)).alias("rows")]
    if COUNT in frame.columns:
        observed += [functions.min(COUNT).alias("least"), functions.max(COUNT).alias("most")]
    writer = frame.observe(counted, *observed).write
    with disk_errors(files, path):
        writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(files.uri(path))
        files.sync(path)
        found = counted.get
        bounds = None if found.get("least") is None else (int(found["least"]), int(found["most"]))
        return Segment(path, int(found["rows"]), _size(files, path), bounds)


# Rows of a table that lie together in a file, of which each has the least and the greatest value of its columns.
ROW_GROUP = 1 << 17


def write_table(spark: SparkSession | None, files: Files, table: pa.Table, path: str) -> Segment:
    """Write rows of this process: without a job, where the files are on this machine."""
    if files.directory is None:
        from whence.engines.spark.types import arrow_frame

        assert spark is not None
        return write_segment(files, arrow_frame(spark, table), path)
    with disk_errors(files, path):
        files.make_directory(path)
        parquet.write_table(
            table, files.directory / path / "part-00000.parquet", row_group_size=ROW_GROUP, write_page_checksum=True
        )
        files.sync(path)
        bounds = None
        if COUNT in table.column_names and table.num_rows:
            found = compute.min_max(table.column(COUNT)).as_py()
            bounds = found["min"], found["max"]
        return Segment(path, table.num_rows, _size(files, path), bounds)


def read_segment(spark: SparkSession, files: Files, segment: Segment, columns: tuple[Column, ...]) -> DataFrame:
    """A frame over a segment. Spark asks no file for its schema, and runs no job before the frame is used."""
    return read_segments(spark, files, [segment], columns)


def read_segments(
    spark: SparkSession, files: Files, segments: Sequence[Segment], columns: tuple[Column, ...]
) -> DataFrame:
    """One frame over several segments."""
    frames = []
    for chosen, alike in groupby(sorted(segments, key=_chosen), _chosen):
        several = list(alike)
        stored = {several[0].in_files(column.name): column for column in columns}
        schema = frame_schema(tuple(replace(column, name=name) for name, column in stored.items()))
        reader = spark.read.schema(schema).option("parquet.page.verify-checksum.enabled", "true")
        frame = reader.parquet(*[files.uri(segment.path) for segment in several])
        if chosen:
            frame = frame.selectExpr(*[f"{several[0].in_files(column.name)} AS {column.name}" for column in columns])
        frames.append(frame)
    return reduce(lambda some, more: some.unionByName(more), frames)


def _chosen(segment: Segment) -> tuple[int, ...]:
    return segment.columns or ()


def as_written(segment: Segment, names: Sequence[str], table: pa.Table) -> pa.Table:
    """The columns of a segment, of what one of its files holds."""
    return table.select([segment.in_files(name) for name in names]).rename_columns(list(names))


def check_segment(files: Files, segment: Segment) -> None:
    """Raises if files are missing or cut off. Parquet has checksums for what is in them."""
    found = _size(files, segment.path)
    if found != segment.bytes:
        raise damaged(files.root, f"{segment.path} has {found} bytes, and {segment.bytes} were written")


def _size(files: Files, path: str) -> int:
    """Of all files with rows. Hadoop hides others by their names."""
    total = 0
    for entry in files.entries(path):
        if entry.is_directory:
            total += _size(files, f"{path}/{entry.name}")
        elif not entry.name.startswith((".", "_")):
            total += entry.size
    return total


@contextmanager
def disk_errors(files: Files, path: str) -> Iterator[None]:
    """What a disk or a store says is for the user; whatever else goes wrong in a job is for who made the frame."""
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except OSError as error:
        raise _not_written(files, str(error)) from error
    except Py4JJavaError as error:
        _remove(files, path)
        reason = _disk_reason(error)
        if reason is None:
            raise
        raise _not_written(files, reason) from error
    except BaseException:
        _remove(files, path)
        raise


def _remove(files: Files, path: str) -> None:
    # What cannot be removed now is collected another time.
    with suppress(OSError):
        files.delete(path)


def _not_written(files: Files, reason: str) -> StateError:
    return StateError(
        f"rows could not be written to {files.root}: {reason}",
        hint="nothing has happened; the database can be read as before",
    )


def _disk_reason(error: Py4JJavaError) -> str | None:
    """The message of the first java.io.IOException among the causes."""
    cause = error.java_exception
    while cause is not None:
        kind = cause.getClass()
        while kind is not None:
            if kind.getName() == "java.io.IOException":
                return str(cause.getMessage())
            kind = kind.getSuperclass()
        cause = cause.getCause()
    return None
