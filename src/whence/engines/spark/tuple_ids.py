"""Spark's `xxhash64` in this process: the same number for the same values of the same types.

Spark starts from 42 and goes from column to column; each hash is the seed of the next. NULL leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NewType, TypeAlias

import pyspark.sql.functions as F
from pyspark.sql import Column
from xxhash import xxh64_intdigest

from whence.engines.spark.types import spark_type
from whence.incremental.plan import Pattern
from whence.model.schema import Relation
from whence.model.types import INT, DecimalType, IntegerType, Row, Type, Value
from whence.model.types.decimals import rescale

# A value other than NULL as the bytes that Spark hashes; of one with others in it, those of one after the other.
Packer: TypeAlias = Callable[[Any], bytes]
Pieces: TypeAlias = Callable[[Any], Iterator[bytes]]

# The number of a tuple, 64 bits of a hash with a sign.
TupleId = NewType("TupleId", int)

SEED = 42


def text_hash(text: str) -> int:
    """The hash of a string that comes first."""
    return xxh64_intdigest(text.encode(), SEED)


def signed(number: int) -> TupleId:
    """A hash as Spark has it, in a BIGINT."""
    return TupleId(number - (1 << 64) if number >> 63 else number)


RowId: TypeAlias = Callable[[Row], TupleId]

# The whole support of rows that no proof holds for, and of rows for which nobody has kept what theirs rests on.
UNPROVED, UNKNOWN = TupleId(0), TupleId(1)


def tuple_id(relation: str, columns: Sequence[Column]) -> Column:
    """The number of the row with these values, which have the types of the relation's columns."""
    return F.xxhash64(F.lit(relation), *columns)


def absence_id(pattern: Pattern, relation: Relation, keys: Sequence[Column]) -> Column:
    """The number of a pattern's keys. They need not have the types of the columns that they are compared with.

    A key that its column cannot hold is no row's, so that it may go by any number.
    """
    parts: list[Column] = []
    for (position, kind), key in zip(_places(pattern, relation), keys, strict=True):
        parts += (F.lit(position), key.try_cast(spark_type(kind)))
    return F.xxhash64(F.lit(f"!{pattern.relation}"), *parts)


def row_ids(name: str, relation: Relation) -> RowId:
    """Gives rows of the relation the numbers that `tuple_id` gives them."""
    start = text_hash(name)
    columns = [_hashed(column.type) for column in relation.columns]

    def number(row: Row) -> TupleId:
        hashed = start
        for value, (pack, pieces) in zip(row, columns, strict=True):
            if value is None:
                continue
            if pack is not None:
                hashed = xxh64_intdigest(pack(value), hashed)
            elif pieces is not None:
                for piece in pieces(value):
                    hashed = xxh64_intdigest(piece, hashed)
        return TupleId(hashed - (1 << 64) if hashed >> 63 else hashed)

    return number


def absence_ids(pattern: Pattern, relation: Relation) -> RowId:
    """Gives keys the numbers that `absence_id` gives them, as far as the columns can hold them."""
    start = text_hash(f"!{pattern.relation}")
    places = [
        (INT.spark_bytes(position), _holder(kind), *_hashed(kind)) for position, kind in _places(pattern, relation)
    ]

    def number(key: Row) -> TupleId:
        hashed = start
        for value, (position, hold, pack, pieces) in zip(key, places, strict=True):
            hashed = xxh64_intdigest(position, hashed)
            held = value if value is None or hold is None else hold(value)
            if held is None:
                continue
            for piece in (pack(held),) if pack is not None else pieces(held) if pieces is not None else ():
                hashed = xxh64_intdigest(piece, hashed)
        return signed(hashed)

    return number


def _hashed(kind: Type) -> tuple[Packer | None, Pieces | None]:
    """What makes bytes of a value: all at once, or of one with others in it piece by piece."""
    return (None, kind.spark_pieces) if kind.inner else (kind.spark_bytes, None)


def _places(pattern: Pattern, relation: Relation) -> list[tuple[int, Type]]:
    """The columns that the keys of a pattern are compared with, and the types in which that is done."""
    return [*((position, relation.columns[position].type) for position in pattern.positions), *pattern.widened]


def _holder(kind: Type) -> Callable[[Any], Value] | None:
    """Makes of a number the equal one of that type, or None or any other where there is none equal.

    Nothing but numbers is compared across types.
    """
    if isinstance(kind, DecimalType):
        rescaled = rescale(kind)
        return lambda value: rescaled(Decimal(value))
    if isinstance(kind, IntegerType):
        limits = kind.limits
        return lambda value: int(value) if int(value) in limits else None
    return float if kind.python is float else None
