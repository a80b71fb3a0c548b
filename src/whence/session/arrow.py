"""Rows as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from whence.model.schema import Relation
from whence.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Row,
    Type,
)
from whence.session.history import Change
from whence.session.paging import Columnar
from whence.session.sorting import row_order

_ARROW = {
    STRING: pa.string(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    DOUBLE: pa.float64(),
    BOOLEAN: pa.bool_(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us"),
}
# What Spark and Delta call the columns of change data.
_STAMP = (
    pa.field("_change_type", pa.string(), nullable=False),
    pa.field("_commit_version", pa.int64(), nullable=False),
    pa.field("_commit_timestamp", pa.timestamp("us", "UTC"), nullable=False),
)


def contents_table(relation: Relation, counts: Mapping[Row, int]) -> pa.Table:
    """The rows that are there, sorted, and each as often as it is there."""
    order = row_order(relation)
    there = sorted(((row, count) for row, count in counts.items() if count > 0), key=lambda found: order(found[0]))
    return _table(arrow_schema(relation), [row for row, count in there for _ in range(count)])


def any_order_table(relation: Relation, counts: Mapping[Row, int]) -> pa.Table:
    """The same rows, in whatever order is quickest."""
    if not isinstance(counts, Columnar):
        return contents_table(relation, counts)
    schema = arrow_schema(relation)
    arrays = [pa.array(values, field.type) for values, field in zip(counts.columns(), schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def changes_table(relation: Relation, changes: Iterable[Change]) -> pa.Table:
    schema = arrow_schema(relation)
    for field in _STAMP:
        schema = schema.append(field)
    return _table(schema, [(*row, *stamp) for row, *stamp in changes])


def arrow_schema(relation: Relation) -> pa.Schema:
    return pa.schema(
        [pa.field(column.name, arrow_type(column.type), nullable=column.nullable) for column in relation.columns]
    )


def arrow_type(kind: Type) -> pa.DataType:
    match kind:
        case DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case ArrayType():
            return pa.list_(arrow_type(kind.element))
    return _ARROW[kind]


def _table(schema: pa.Schema, rows: list[tuple[object, ...]]) -> pa.Table:
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)
