"""Comparisons, logic and choices. Spark evaluates no more of their arguments than ours do."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import pyspark.sql.functions as F
from pyspark.sql import Column

from whence.engines.spark.native.casts import cast, exact_cast, exact_type
from whence.engines.spark.native.pieces import Builder, NativeCall, Piece
from whence.engines.spark.types import spark_type
from whence.functions.widening import as_decimal, is_exact
from whence.model.types import NULL


def _alike(pieces: Sequence[Piece]) -> Sequence[Piece] | None:
    """The pieces in one type that changes none of them; None if there is no such type."""
    kinds = [piece.kind for piece in pieces if piece.kind != NULL]
    if len(set(kinds)) <= 1:
        return pieces
    if not all(map(is_exact, kinds)):
        return None
    common = exact_type(kinds)
    return None if common is None else [exact_cast(piece, common) for piece in pieces]


def _compare(compare: Callable[[Column, Column], Column]) -> Builder:
    def build(call: NativeCall) -> Piece | None:
        alike = _alike(call.arguments)
        if alike is None:
            return None
        left, right = alike
        return call.plain(compare(left.column, right.column))

    return build


def _equal(call: NativeCall) -> Piece:
    return _compare(operator.eq)(call) or call.plain(_equal_decimals(call))


def _same(call: NativeCall) -> Piece:
    same = _compare(Column.eqNullSafe)(call)
    if same is not None:
        return same
    left, right = call.arguments
    both_null = left.column.isNull() & right.column.isNull()
    return call.plain(F.coalesce(_equal_decimals(call), both_null))


def _equal_decimals(call: NativeCall) -> Column:
    """Equality of exact numbers that no DECIMAL holds together: the one of smaller scale must fit the other's type."""
    small, large = sorted(call.arguments, key=lambda piece: as_decimal(piece.kind).scale)
    fitting = small.column.try_cast(spark_type(as_decimal(large.kind)))
    return F.when(fitting.isNull() & small.column.isNotNull() & large.column.isNotNull(), False).otherwise(
        fitting == large.column
    )


def _in(call: NativeCall) -> Piece | None:
    alike = _alike(call.arguments)
    if alike is None:
        return None
    value, *options = (piece.column for piece in alike)
    return call.plain(value.isin(*options))


def _nullif(call: NativeCall) -> Piece | None:
    value, other = call.arguments
    widened = cast(value, other.kind)
    if widened is None:
        return None
    return Piece(
        F.when(widened.column == other.column, None).otherwise(value.column), value.kind, 2 * value.size + other.size
    )


def _case(call: NativeCall) -> Piece:
    *pairs, otherwise = (piece.column for piece in call.arguments)
    chosen = F.when(pairs[0], pairs[1])
    for condition, result in zip(pairs[2::2], pairs[3::2], strict=True):
        chosen = chosen.when(condition, result)
    return call.plain(chosen.otherwise(otherwise))


def _chain(combine: Callable[[Column, Column], Column]) -> Builder:
    def build(call: NativeCall) -> Piece:
        parts = [piece.column for piece in call.arguments]
        # As a flat tree: a generated condition can have more parts than Spark's stack is deep.
        while len(parts) > 1:
            pairs = [combine(left, right) for left, right in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + parts[len(pairs) * 2 :]
        return call.plain(parts[0])

    return build


def _of_all(function: Callable[..., Column]) -> Builder:
    return lambda call: call.plain(function(*(piece.column for piece in call.arguments)))


COMPARISON: dict[str, Builder] = {
    "=": _equal,
    "!=": lambda call: _compare(operator.ne)(call) or call.plain(~_equal_decimals(call)),
    "<": _compare(operator.lt),
    "<=": _compare(operator.le),
    ">": _compare(operator.gt),
    ">=": _compare(operator.ge),
    "<=>": _same,
    "in": _in,
    "greatest": _of_all(F.greatest),
    "least": _of_all(F.least),
    "and": _chain(operator.and_),
    "or": _chain(operator.or_),
    "not": lambda call: call.plain(~call.arguments[0].column),
    "isnull": lambda call: call.plain(call.arguments[0].column.isNull()),
    "isnotnull": lambda call: call.plain(call.arguments[0].column.isNotNull()),
    "if": _case,
    "case": _case,
    "coalesce": _of_all(F.coalesce),
    "nullif": _nullif,
}
