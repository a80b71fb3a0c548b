"""CAST, where Spark's is ours."""

from __future__ import annotations

import pyspark.sql.functions as F

from whence.engines.spark.native.pieces import Piece, failed
from whence.engines.spark.types import spark_type
from whence.errors import EvaluationError
from whence.functions.widening import as_decimal, is_exact, is_integer
from whence.model.types import BIGINT, DOUBLE, NULL, ArrayType, DecimalType, Type

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
        ("TIMESTAMP", "INT"),
        ("TIMESTAMP", "BIGINT"),
        ("TIMESTAMP", "STRING"),
    }
)
# Where Spark leaves out the fraction of a DECIMAL, or changes its sign, it rounds to so many digits first.
EXACT_DIGITS = 34
# No BIGINT is as large, and Spark would take the largest one instead.
BEYOND_BIGINT = 2.0**63


def cast(piece: Piece, target: Type) -> Piece | None:
    """The piece as `target`; None where Spark would convert some values differently."""
    if piece.kind == target:
        return piece
    if _is_same(piece.kind, target):
        return Piece(piece.column.cast(spark_type(target)), target, piece.size)
    if (piece.kind, target) == (DOUBLE, BIGINT):
        too_large = (piece.column >= BEYOND_BIGINT) | (piece.column < -BEYOND_BIGINT)
        failing = failed(EvaluationError("a DOUBLE is out of the range of BIGINT"))
        return Piece(
            F.when(too_large, failing.cast("bigint")).otherwise(piece.column.cast("bigint")), BIGINT, 2 * piece.size
        )
    return None


def exact_cast(piece: Piece, target: Type) -> Piece:
    """The piece, whose type is an exact number's, as another one of these."""
    return Piece(piece.column.cast(spark_type(target)), target, piece.size)


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
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return source == target or _is_same(source.element, target.element)
    if is_long(source) and is_integer(target):
        return False
    return source == NULL or (_name(source), _name(target)) in _SAME


def _name(kind: Type) -> str:
    return kind.name.partition("(")[0]
