"""What stands beside a row, as columns: counts, supports, the totals of a group; and these back from columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from whence.engines.spark.exact_sums import total_type
from whence.engines.spark.supported import Support
from whence.engines.spark.types import rows_from_arrow, rows_to_arrow, with_columns
from whence.functions.widening import is_integer
from whence.incremental.counting.folds import Fold, LinearFold
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, ArrayType, DecimalType, Row, Type

P = TypeVar("P")

# Of a group: how many bindings it has, and for each of its linear folds how many values, and their total.
Totals: TypeAlias = tuple[int, tuple[tuple[int, Any], ...]]

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


class TotalsPayload:
    """`kinds` are the types that the linear folds of the group add up."""

    def __init__(self, kinds: Sequence[tuple[int, Type | None]]) -> None:
        self._kinds = kinds

    @property
    def columns(self) -> tuple[Column, ...]:
        found = [Column("bindings", BIGINT)]
        for number, kind in self._kinds:
            found += (Column(f"f{number}_count", BIGINT), Column(f"f{number}_total", _kind_of_total(kind)))
        return tuple(found)

    def encode(self, known: Sequence[Totals | None]) -> dict[str, pa.Array]:
        columns = {"bindings": pa.array([None if each is None else each[0] for each in known], pa.int64())}
        for place, (number, kind) in enumerate(self._kinds):
            pairs = [None if each is None else each[1][place] for each in known]
            columns[f"f{number}_count"] = pa.array([None if pair is None else pair[0] for pair in pairs], pa.int64())
            totals = [None if pair is None else _written(pair[1], kind) for pair in pairs]
            columns[f"f{number}_total"] = pa.array(totals, _kind_of_total(kind).arrow())
        return columns

    def decode(self, table: pa.Table) -> Iterable[Totals]:
        folded = [
            list(
                zip(
                    table.column(f"f{number}_count").to_pylist(),
                    [_read(total, kind) for total in table.column(f"f{number}_total").to_pylist()],
                    strict=True,
                )
            )
            for number, kind in self._kinds
        ]
        bindings: list[int] = table.column("bindings").to_pylist()
        return [(count, tuple(fold[at] for fold in folded)) for at, count in enumerate(bindings)]


def totals_payload(folds: Sequence[tuple[Fold, Type | None]]) -> TotalsPayload:
    """For the folds of a view, each with the type that it adds up; a count adds up nothing."""
    return TotalsPayload([(number, kind) for number, (fold, kind) in enumerate(folds) if isinstance(fold, LinearFold)])


def _kind_of_total(kind: Type | None) -> Type:
    assert kind is not None, "only count<*> has no argument, and it is no fold"
    return total_type(kind)


def _written(total: Any, kind: Type | None) -> Any:
    if isinstance(kind, DecimalType):
        return total
    return Decimal(total) if kind is None or is_integer(kind) else str(total)


def _read(total: Any, kind: Type | None) -> Any:
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
