"""The contents of relations for readers: rows in a stable order, a page of them, Arrow tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from whence.model.schema import Relation
from whence.model.types import Row, Type, Value

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.session.journal import Change


def row_order(relation: Relation) -> Callable[[Row], Any]:
    """What to sort a relation's rows by."""
    keys = [_nulls_first(column.type) for column in relation.columns]
    return lambda row: [key(value) for key, value in zip(keys, row, strict=True)]


def in_order(rows: Sequence[Row], relation: Relation) -> list[Row]:
    """Rows of a relation, sorted."""
    if any(column.type.sort_key is not None for column in relation.columns) or any(None in row for row in rows):
        return sorted(rows, key=row_order(relation))
    # Rows are then in the order of tuples, which Python compares several times as fast as keys are made.
    return sorted(rows)


def _nulls_first(kind: Type) -> Callable[[Any], Any]:
    inner = kind.sort_key
    if inner is None:
        return lambda value: (value is not None, value)
    return lambda value: (False, None) if value is None else (True, inner(value))


@runtime_checkable
class Paged(Protocol):
    """Contents that find some of their rows quicker than by going through all of them."""

    def page(self, bound: Mapping[int, Value], offset: int, limit: int) -> Sequence[tuple[Row, int]]:
        """Rows that have these values at these positions, and how often they are there."""


@runtime_checkable
class Columnar(Protocol):
    """A set whose columns are at hand sooner than its rows."""

    def columns(self) -> Sequence[Sequence[Value]]: ...


@runtime_checkable
class InArrow(Protocol):
    """Contents that Arrow can have as they are."""

    def arrow(self, *, is_sorted: bool) -> Sequence[pa.Array]:
        """The columns, with each row as often as it is there."""


@runtime_checkable
class Counted(Protocol):
    """Contents in which many rows can be looked up at once."""

    def of(self, rows: Collection[Row]) -> list[int]:
        """How often each of them is there."""


@runtime_checkable
class Estimated(Protocol):
    """Contents whose number of rows is known about right, and exactly only by bringing them."""

    @property
    def about(self) -> int: ...


def page(counts: Mapping[Row, int], bound: Mapping[int, Value], offset: int, limit: int) -> Sequence[tuple[Row, int]]:
    """Some rows, and how often they are there, in an order that stays the same until the next commit."""
    if isinstance(counts, Paged):
        return counts.page(bound, offset, limit)
    fits = _fits(bound)
    return list(islice(((row, n) for row, n in counts.items() if n > 0 and fits(row)), offset, offset + limit))


def counts_of(counts: Mapping[Row, int], rows: Collection[Row]) -> list[int]:
    """How often each of some rows is there, such as those of a change."""
    # Python asks a protocol anew for every object, and that takes longer than many commits.
    if isinstance(counts, dict | MappingProxyType) or not isinstance(counts, Counted):
        return [counts.get(row, 0) for row in rows]
    return counts.of(rows)


def size(relation: Relation, counts: Mapping[Row, int]) -> tuple[int, bool]:
    """How many rows there are, copies included, and whether that is exact."""
    if isinstance(counts, Estimated):
        return counts.about, False
    if relation.distinct:
        return len(counts), True
    return sum([n for n in counts.values() if n > 0]), True


def _fits(bound: Mapping[int, Value]) -> Callable[[Row], bool]:
    if not bound:
        return lambda _: True
    wanted = list(bound.items())
    return lambda row: all(row[position] == value for position, value in wanted)


def contents_table(relation: Relation, counts: Mapping[Row, int]) -> pa.Table:
    """The rows that are there, sorted, and each as often as it is there."""
    if isinstance(counts, InArrow):
        return _arrow_table(relation, counts.arrow(is_sorted=True))
    order = row_order(relation)
    there = sorted(((row, count) for row, count in counts.items() if count > 0), key=lambda found: order(found[0]))
    return _row_table(arrow_schema(relation), relation, [row for row, count in there for _ in range(count)])


def any_order_table(relation: Relation, counts: Mapping[Row, int]) -> pa.Table:
    """The same rows, in whatever order is quickest."""
    if isinstance(counts, InArrow):
        return _arrow_table(relation, counts.arrow(is_sorted=False))
    if not isinstance(counts, Columnar):
        return contents_table(relation, counts)
    return _column_table(arrow_schema(relation), relation, counts.columns())


def changes_table(relation: Relation, changes: Iterable[Change]) -> pa.Table:
    return _row_table(changes_schema(relation), relation, [(*row, *stamp) for row, *stamp in changes])


def changes_schema(relation: Relation) -> pa.Schema:
    """The columns of a relation's changes."""
    import pyarrow as pa

    # What Spark and Delta call the columns of change data.
    stamp = (
        pa.field("_change_type", pa.string(), nullable=False),
        pa.field("_commit_version", pa.int64(), nullable=False),
        pa.field("_commit_timestamp", pa.timestamp("us", "UTC"), nullable=False),
    )
    return pa.schema([*arrow_schema(relation), *stamp])


def arrow_schema(relation: Relation) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [pa.field(column.name, column.type.arrow(), nullable=column.nullable) for column in relation.columns]
    )


def _arrow_table(relation: Relation, arrays: Sequence[pa.Array]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_arrays(list(arrays), schema=arrow_schema(relation))


def _row_table(schema: pa.Schema, relation: Relation, rows: list[tuple[object, ...]]) -> pa.Table:
    return _column_table(schema, relation, [[row[at] for row in rows] for at in range(len(schema))])


def _column_table(schema: pa.Schema, relation: Relation, columns: Sequence[Sequence[object]]) -> pa.Table:
    """The columns of a relation, and those that the schema has after them."""
    import pyarrow as pa

    arrays = [column.type.to_arrow(values) for column, values in zip(relation.columns, columns, strict=False)]
    more = zip(columns[relation.arity :], list(schema)[relation.arity :], strict=True)
    arrays += [pa.array(values, field.type) for values, field in more]
    return pa.Table.from_arrays(arrays, schema=schema)
