"""Columns that Spark computes itself: casts, comparisons, logic and choices."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyspark.sql.functions as F
from pyspark.sql import Column

from whence.engines.spark.errors import failure
from whence.engines.spark.types import spark_type
from whence.errors import EvaluationError
from whence.functions.resolve import Resolved
from whence.functions.widening import as_decimal, is_exact, is_integer
from whence.model.terms import Call, Constant
from whence.model.types import BIGINT, DOUBLE, NULL, TIMESTAMP, ArrayType, DecimalType, MapType, StructType, Type, Value


@dataclass(frozen=True, slots=True)
class ColumnExpression:
    """A column, its type, and the size of its expression: where a value is checked, it is written down twice."""

    column: Column
    kind: Type
    size: int = 1


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A call of a built-in function whose arguments have been widened to what it resolved to."""

    call: Call
    resolved: Resolved
    arguments: Sequence[ColumnExpression]

    def constant(self, position: int) -> Constant | None:
        """The argument at that place, if it is written as a constant."""
        argument = self.call.arguments[position]
        return argument if isinstance(argument, Constant) else None

    def plain(self, column: Column) -> ColumnExpression:
        """The call's value, which holds each argument once."""
        size = 1 + sum(argument.size for argument in self.arguments)
        return ColumnExpression(column.cast(spark_type(self.resolved.result)), self.resolved.result, size)

    def checked(self, column: Column, wrong: Column, message: str) -> ColumnExpression:
        """The call's value, unless `wrong` is TRUE of it; NULL is never wrong."""
        size = 2 + 2 * sum(argument.size for argument in self.arguments)
        kind = spark_type(self.resolved.result)
        value = F.when(wrong, failed(EvaluationError(message)).cast(kind)).otherwise(column.cast(kind))
        return ColumnExpression(value, self.resolved.result, size)


Builder: TypeAlias = Callable[[NativeCall], ColumnExpression | None]


def failed(error: EvaluationError) -> Column:
    """A column whose values cannot be computed. It raises where a value is asked for, and nowhere else."""
    return F.raise_error(F.lit(failure(error)))


def literal(value: Value, kind: Type) -> Column:
    """The value as a column of exactly that type."""
    if isinstance(kind, ArrayType) and isinstance(value, tuple):
        return F.array(*(literal(element, kind.element) for element in value)).cast(spark_type(kind))
    if isinstance(kind, MapType) and isinstance(value, tuple):
        return F.map_from_entries(literal(value, kind.entries))
    if isinstance(kind, StructType) and isinstance(value, tuple):
        fields = zip(kind.fields, value, strict=True)
        return F.struct(*(literal(each, inner).alias(name) for (name, inner), each in fields)).cast(spark_type(kind))
    if kind == NULL:
        return F.lit(value)
    return F.lit(None if value is None else kind.to_spark(value)).cast(spark_type(kind))


_EXACT = ("INT", "BIGINT", "DECIMAL", "BOOLEAN")
# Left to Python: text that is read, because Spark reads more kinds of it; DOUBLE as text or DECIMAL, because the digits
# depend on the version of Java; numbers as TIMESTAMP, because Spark's years go beyond 9999; and TIMESTAMP as a fraction
# of seconds, because Spark rounds it twice.
_SAME = frozenset(
    {
        *((source, target) for source in _EXACT for target in ("INT", "BIGINT", "DECIMAL", "DOUBLE", "STRING")),
        *((source, "BOOLEAN") for source in ("INT", "BIGINT", "DECIMAL", "DOUBLE")),
        ("DOUBLE", "INT"),
        ("DATE", "TIMESTAMP"),
        ("DATE", "STRING"),
        ("TIMESTAMP", "DATE"),
        ("TIMESTAMP", "STRING"),
    }
)
# Where Spark leaves out the fraction of a DECIMAL, or changes its sign, it rounds to so many digits first.
EXACT_DIGITS = 34
# No BIGINT is as large, and Spark would take the largest one instead.
BEYOND_BIGINT = 2.0**63


def cast(piece: ColumnExpression, target: Type) -> ColumnExpression | None:
    """The piece as `target`; None where Spark would convert some values differently."""
    if piece.kind == target:
        return piece
    if piece.kind == TIMESTAMP and is_integer(target):
        # Only a moment has a number of seconds in Spark.
        return ColumnExpression(piece.column.cast("timestamp").cast(spark_type(target)), target, piece.size)
    if _is_same(piece.kind, target):
        return ColumnExpression(piece.column.cast(spark_type(target)), target, piece.size)
    if (piece.kind, target) == (DOUBLE, BIGINT):
        too_large = (piece.column >= BEYOND_BIGINT) | (piece.column < -BEYOND_BIGINT)
        failing = failed(EvaluationError("a DOUBLE is out of the range of BIGINT"))
        return ColumnExpression(
            F.when(too_large, failing.cast("bigint")).otherwise(piece.column.cast("bigint")), BIGINT, 2 * piece.size
        )
    return None


def exact_cast(piece: ColumnExpression, target: Type) -> ColumnExpression:
    """The piece, whose type is an exact number's, as another one of these."""
    return ColumnExpression(piece.column.cast(spark_type(target)), target, piece.size)


def exact_type(kinds: list[Type]) -> DecimalType | None:
    """The DECIMAL that holds all values of these exact types as they are, if there is one."""
    decimals = [as_decimal(kind) for kind in kinds if is_exact(kind)]
    scale = max(kind.scale for kind in decimals)
    precision = scale + max(kind.precision - kind.scale for kind in decimals)
    return DecimalType(precision, scale) if precision <= 38 else None


def is_long(kind: Type) -> bool:
    """Whether it is a DECIMAL with more digits than Spark always keeps."""
    return isinstance(kind, DecimalType) and kind.precision > EXACT_DIGITS


def _is_same(source: Type, target: Type) -> bool:
    if source == target:
        return True
    if source.inner and type(source) is type(target):
        return len(source.inner) == len(target.inner) and all(map(_is_same, source.inner, target.inner))
    if is_long(source) and is_integer(target):
        return False
    return source == NULL or (_name(source), _name(target)) in _SAME


def _name(kind: Type) -> str:
    return kind.name.partition("(")[0]


def _alike(pieces: Sequence[ColumnExpression]) -> Sequence[ColumnExpression] | None:
    """The pieces in one type that changes none of them; None if there is no such type."""
    kinds = [piece.kind for piece in pieces if piece.kind != NULL]
    if len(set(kinds)) <= 1:
        return pieces
    if not all(map(is_exact, kinds)):
        return None
    common = exact_type(kinds)
    return None if common is None else [exact_cast(piece, common) for piece in pieces]


def _compare(compare: Callable[[Column, Column], Column]) -> Builder:
    def build(call: NativeCall) -> ColumnExpression | None:
        alike = _alike(call.arguments)
        if alike is None:
            return None
        left, right = alike
        return call.plain(compare(left.column, right.column))

    return build


def _equal(call: NativeCall) -> ColumnExpression:
    return _compare(operator.eq)(call) or call.plain(_equal_decimals(call))


def _same(call: NativeCall) -> ColumnExpression:
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


def _in(call: NativeCall) -> ColumnExpression | None:
    alike = _alike(call.arguments)
    if alike is None:
        return None
    value, *options = (piece.column for piece in alike)
    return call.plain(value.isin(*options))


def _nullif(call: NativeCall) -> ColumnExpression | None:
    value, other = call.arguments
    widened = cast(value, other.kind)
    if widened is None:
        return None
    return ColumnExpression(
        F.when(widened.column == other.column, None).otherwise(value.column), value.kind, 2 * value.size + other.size
    )


def _case(call: NativeCall) -> ColumnExpression:
    *pairs, otherwise = (piece.column for piece in call.arguments)
    chosen = F.when(pairs[0], pairs[1])
    for condition, result in zip(pairs[2::2], pairs[3::2], strict=True):
        chosen = chosen.when(condition, result)
    return call.plain(chosen.otherwise(otherwise))


def _chain(combine: Callable[[Column, Column], Column]) -> Builder:
    def build(call: NativeCall) -> ColumnExpression:
        parts = [piece.column for piece in call.arguments]
        # As a flat tree: a generated condition can have more parts than Spark's stack is deep.
        while len(parts) > 1:
            pairs = [combine(left, right) for left, right in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + parts[len(pairs) * 2 :]
        return call.plain(parts[0])

    return build


def spark_function(function: Callable[..., Column]) -> Builder:
    """A function of the same arguments in Spark."""
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
    "greatest": spark_function(F.greatest),
    "least": spark_function(F.least),
    "and": _chain(operator.and_),
    "or": _chain(operator.or_),
    "not": spark_function(operator.invert),
    "isnull": spark_function(Column.isNull),
    "isnotnull": spark_function(Column.isNotNull),
    "if": _case,
    "case": _case,
    "coalesce": spark_function(F.coalesce),
    "nullif": _nullif,
}
