"""Numbers for what supports are made of: input rows, and keys that no row has.

A number is a 64-bit hash, the same on the cluster and in this process. That two things share one does no harm: rows are
proved again without need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import pyspark.sql.functions as F
from pyspark.sql import Column

from whence.engines.spark.hashing import hash_int, hasher, signed, text_hash
from whence.engines.spark.types import spark_type
from whence.functions.numeric import RANGES, rescale
from whence.incremental.plan import Pattern
from whence.model.schema import Relation
from whence.model.types import DOUBLE, DecimalType, Row, Type, Value

RowId: TypeAlias = Callable[[Row], int]

# The whole support of rows that no proof holds for, and of rows for which nobody has kept what theirs rests on.
UNPROVED, UNKNOWN = 0, 1


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
    hashers = [hasher(column.type) for column in relation.columns]

    def number(row: Row) -> int:
        hashed = start
        for value, following in zip(row, hashers, strict=True):
            if value is not None:
                hashed = following(value, hashed)
        return signed(hashed)

    return number


def absence_ids(pattern: Pattern, relation: Relation) -> RowId:
    """Gives keys the numbers that `absence_id` gives them, as far as the columns can hold them."""
    start = text_hash(f"!{pattern.relation}")
    places = [(position, _holder(kind), hasher(kind)) for position, kind in _places(pattern, relation)]

    def number(key: Row) -> int:
        hashed = start
        for value, (position, hold, following) in zip(key, places, strict=True):
            hashed = hash_int(position, hashed)
            held = value if value is None or hold is None else hold(value)
            if held is not None:
                hashed = following(held, hashed)
        return signed(hashed)

    return number


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
    if kind in RANGES:
        limits = RANGES[kind]
        return lambda value: int(value) if int(value) in limits else None
    return float if kind == DOUBLE else None
