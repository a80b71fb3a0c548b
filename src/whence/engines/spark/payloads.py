"""What stands beside a row, as columns: counts, supports, the totals of a group; and these back from columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from whence.engines.spark.exact_sums import total_type
from whence.engines.spark.supported import Support
from whence.engines.spark.types import (
    rows_from_arrow,
    rows_to_arrow,
    values_from_arrow,
    values_to_arrow,
    with_columns,
)
from whence.functions.widening import is_integer
from whence.incremental.counting.folds import ByValue, Collected, Extreme, Fold
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, ArrayType, DecimalType, Row, Type

P = TypeVar("P")

# Of a group: how many bindings it has, and for each of its folds what `FoldColumns` lists.
Totals: TypeAlias = tuple[int, tuple[tuple[Any, ...], ...]]

SUPPORT = pa.list_(pa.int64())


class Payload(Protocol[P]):
    """The columns for one kind of knowledge."""

    @property
    def columns(self) -> tuple[Column, ...]: ...

    def encode(self, known: Sequence[P | None]) -> dict[str, pa.Array]: ...

    def decode(self, table: pa.Table) -> Iterable[P]: ...


class CountPayload:
    columns = (Column("n", BIGINT),)

    def encode(self, known: Sequence[int | None]) -> dict[str, pa.Array]:
        return {"n": pa.array(known, pa.int64())}

    def decode(self, table: pa.Table) -> list[int]:
        return table.column("n").to_pylist()  # type: ignore[no-any-return]


class SupportPayload:
    columns = (Column("support", ArrayType(BIGINT)),)

    def encode(self, known: Sequence[Support | None]) -> dict[str, pa.Array]:
        return {"support": pa.array(known, SUPPORT)}

    def decode(self, table: pa.Table) -> Iterable[Support]:
        return map(tuple, table.column("support").to_pylist())


@dataclass(frozen=True, slots=True)
class FoldColumns:
    """What is kept of a fold beside the values that it may look up: a column for each part of its state.

    `kind` is the type that it adds up, or finds the best value of.
    """

    number: int
    parts: tuple[str, ...]
    kind: Type

    def columns(self) -> Iterator[Column]:
        for part in self.parts:
            yield Column(f"f{self.number}_{part}", {TOTAL: total_type(self.kind), BEST: self.kind}.get(part, BIGINT))

    def encode(self, known: Sequence[tuple[Any, ...] | None]) -> Iterator[tuple[str, pa.Array]]:
        for place, column in enumerate(self.columns()):
            values = [None if each is None else each[place] for each in known]
            if self.parts[place] == TOTAL:
                values = [None if total is None else _written(total, self.kind) for total in values]
            yield column.name, values_to_arrow(values, column.type)

    def decode(self, table: pa.Table) -> list[tuple[Any, ...]]:
        parts = []
        for part, column in zip(self.parts, self.columns(), strict=True):
            values: list[Any] = values_from_arrow(table.column(column.name), column.type)
            parts.append([_read(total, self.kind) for total in values] if part == TOTAL else values)
        return list(zip(*parts, strict=True))


COUNT, TOTAL, HELD, KINDS, BEST = "count", "total", "held", "kinds", "best"


def fold_columns(folds: Sequence[tuple[Fold, Type | None]]) -> tuple[FoldColumns, ...]:
    """For the folds of a view, each with the type of its values.

    Of values that are kept, `held` counts those that have copies, and `kinds` those that count.
    """
    found = []
    for number, (fold, kind) in enumerate(folds):
        assert kind is not None, "only count<*> has no argument, and it is no fold"
        match fold:
            case Extreme():
                parts: tuple[str, ...] = (HELD, BEST)
            case ByValue():
                parts = (HELD, KINDS, COUNT, TOTAL)
            case Collected():
                parts = (HELD,)
            case _:
                parts = (COUNT, TOTAL)
        found.append(FoldColumns(number, parts, kind))
    return tuple(found)


class TotalsPayload:
    def __init__(self, folds: Sequence[FoldColumns]) -> None:
        self.folds = folds

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column("bindings", BIGINT), *(column for fold in self.folds for column in fold.columns()))

    def encode(self, known: Sequence[Totals | None]) -> dict[str, pa.Array]:
        columns = {"bindings": pa.array([None if each is None else each[0] for each in known], pa.int64())}
        for place, fold in enumerate(self.folds):
            columns.update(fold.encode([None if each is None else each[1][place] for each in known]))
        return columns

    def decode(self, table: pa.Table) -> Iterable[Totals]:
        folded = [fold.decode(table) for fold in self.folds]
        bindings: list[int] = table.column("bindings").to_pylist()
        return [(count, tuple([fold[at] for fold in folded])) for at, count in enumerate(bindings)]


def _written(total: Any, kind: Type) -> Any:
    if isinstance(kind, DecimalType):
        return total
    return Decimal(total) if is_integer(kind) else str(total)


def _read(total: Any, kind: Type) -> Any:
    return total if isinstance(kind, DecimalType) else int(total)


@dataclass(frozen=True)
class Codec(Generic[P]):
    """Rows of a relation with what is known of each."""

    relation: Relation
    payload: Payload[P]
    kind: str

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Those of what `encode` makes."""
        own = (Column(f"c{at}", column.type, column.nullable) for at, column in enumerate(self.relation.columns))
        return (*own, *self.payload.columns)

    @cached_property
    def schema(self) -> pa.Schema:
        """The same for Arrow, with NULL everywhere."""
        return pa.schema([(column.name, column.type.arrow()) for column in self.columns])

    @property
    def known(self) -> str:
        """The column that is NULL where nothing is known."""
        return self.payload.columns[0].name

    def encode(self, rows: Mapping[Row, P | None]) -> pa.Table:
        """Columns `c0`, `c1`, ... and those of the payload; a payload of None is NULL in each."""
        return with_columns(rows_to_arrow(list(rows), self.relation), self.payload.encode(list(rows.values())))

    def decode(self, table: pa.Table) -> Iterable[tuple[Row, P]]:
        return zip(rows_from_arrow(table, self.relation), self.payload.decode(table), strict=True)

    def decode_log(self, table: pa.Table) -> list[tuple[Row, P | None]]:
        """The same where payloads of None may be among them, in their order."""
        is_there = table.column(self.known).is_valid()
        known = iter(self.payload.decode(table.filter(is_there)))
        rows = rows_from_arrow(table, self.relation)
        return [(row, next(known) if there else None) for row, there in zip(rows, is_there.to_pylist(), strict=True)]
