"""The rows of a relation in Python workers of Spark: what `format("whence")` reads with the option `view`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructField, StructType

from whence.engines.spark.registry import COUNTS, latest
from whence.engines.spark.types import spark_type
from whence.model.schema import Relation
from whence.model.types import ArrayType, Type
from whence.model.types import StructType as WhenceStruct
from whence.sources.rows import zoneless
from whence.spark.stored_rows import added_up
from whence.storage.files.database_files import StoredVersion
from whence.storage.files.files import Files
from whence.storage.files.manifest import Segment
from whence.storage.files.segments import COUNT, as_written


class RowFiles(InputPartition):
    """Files of rows that one task reads, each with the segment that it is of."""

    def __init__(self, files: Sequence[tuple[Segment, str]]) -> None:
        super().__init__(None)
        self.files = files


class RowsReader(DataSourceReader):
    """Each file is a task where no row depends on another file; else one task adds all of them up."""

    def __init__(self, files: Files, stored: StoredVersion) -> None:
        self._files = files
        self._stored = stored

    def partitions(self) -> Sequence[InputPartition]:
        files = [(segment, path) for segment in self._stored.table.segments for path in self._paths(segment)]
        if self._is_apart:
            return [RowFiles([file]) for file in files] or [RowFiles([])]
        return [RowFiles(files)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RowFiles)
        relation, kind = self._stored.relation, self._stored.table.kind
        columns = [(column.name, column.type.arrow()) for column in self._stored.table.columns]
        schema = pa.schema(columns)
        tables = [self._table(*file, schema.names).cast(schema) for file in partition.files]
        if not self._is_apart:
            tables += [log.cast(schema) for log in self._stored.logs]
        rows = pa.concat_tables([schema.empty_table(), *tables])
        if kind == COUNTS:
            counted = rows if self._is_apart else added_up(rows, relation)
        else:
            known = rows if self._is_apart else latest(rows, relation)
            known = known.filter(known.column(schema.names[relation.arity]).is_valid())
            counted = known.select(schema.names[: relation.arity]).append_column(
                COUNT, pa.repeat(pa.scalar(1, pa.int64()), known.num_rows)
            )
        yield from _copies(self._before(_as_seen(counted, relation)), relation).to_batches()

    @property
    def _is_apart(self) -> bool:
        """Whether every file tells by itself which rows are there."""
        stored = self._stored
        if stored.logs or stored.later:
            return False
        counts = [segment.counts for segment in stored.table.segments if segment.rows]
        is_plain = stored.is_table or not stored.relation.distinct
        if len(counts) <= 1 and not any(segment.repeats for segment in stored.table.segments):
            return True
        return is_plain and all(each is not None and each[0] > 0 for each in counts)

    def _before(self, rows: pa.Table) -> pa.Table:
        """What the rows were before later changes."""
        relation, parts = self._stored.relation, []
        for part in self._stored.later:
            changes = part.changes
            if isinstance(changes, Segment):
                found = [self._table(changes, path, rows.column_names) for path in self._paths(changes)]
                changes = pa.concat_tables(found)
                if relation.distinct:
                    one = pa.scalar(1, pa.int64())
                    least = compute.min_element_wise(changes.column(COUNT), one)
                    changes = changes.set_column(changes.schema.get_field_index(COUNT), COUNT, least)
            changes = changes.select(rows.column_names).cast(rows.schema)
            at = changes.schema.get_field_index(COUNT)
            parts.append(changes.set_column(at, rows.schema.field(at), compute.negate(changes.column(COUNT))))
        return added_up(pa.concat_tables([rows, *parts]), relation) if parts else rows

    def _paths(self, segment: Segment) -> list[str]:
        entries = self._files.entries(segment.path)
        return [f"{segment.path}/{each.name}" for each in entries if not each.name.startswith((".", "_"))]

    def _table(self, segment: Segment, path: str, names: Sequence[str]) -> pa.Table:
        data = pa.BufferReader(self._files.read(path))
        return as_written(segment, names, zoneless(parquet.read_table(data, coerce_int96_timestamp_unit="us")))


def rows_schema(relation: Relation) -> StructType:
    return StructType([StructField(column.name, spark_type(column.type)) for column in relation.columns])


def _as_seen(counted: pa.Table, relation: Relation) -> pa.Table:
    there = counted.filter(compute.greater(counted.column(COUNT), 0))
    if not relation.distinct:
        return there
    at = there.schema.get_field_index(COUNT)
    return there.set_column(at, there.schema.field(at), pa.repeat(pa.scalar(1, pa.int64()), there.num_rows))


def _copies(counted: pa.Table, relation: Relation) -> pa.Table:
    """Every row as often as it is there, as Spark wants it."""
    counts = counted.column(COUNT).to_numpy()
    repeated = counted.take(pa.array(np.repeat(np.arange(len(counts)), np.maximum(counts, 0))))
    fields = [pa.field(f"c{at}", _expected(column.type)) for at, column in enumerate(relation.columns)]
    named = repeated.select([field.name for field in fields]).cast(pa.schema(fields))
    return named.rename_columns(list(relation.column_names))


def _expected(kind: Type) -> pa.DataType:
    """Spark wants the elements of a list to be called so."""
    if isinstance(kind, ArrayType):
        return pa.list_(pa.field("element", _expected(kind.element)))
    if isinstance(kind, WhenceStruct):
        return pa.struct([pa.field(name, _expected(each)) for name, each in kind.fields])
    return kind.arrow()
