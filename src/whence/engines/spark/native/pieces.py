"""Columns with what has to be known of them to build further ones."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyspark.sql.functions as F
from pyspark.sql import Column

from whence.engines.spark.errors import failure
from whence.engines.spark.types import spark_type
from whence.errors import EvaluationError
from whence.functions.resolve import Resolved
from whence.functions.text import timestamp_text
from whence.model.terms import Call, Constant
from whence.model.types import DATE, NULL, TIMESTAMP, ArrayType, Type, Value


@dataclass(frozen=True, slots=True)
class Piece:
    """A column, its type, and the size of its expression: where a value is checked, it is written down twice."""

    column: Column
    kind: Type
    size: int = 1


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A call of a built-in function whose arguments have been widened to what it resolved to."""

    call: Call
    resolved: Resolved
    arguments: Sequence[Piece]

    def constant(self, position: int) -> Constant | None:
        """The argument at that place, if it is written as a constant."""
        argument = self.call.arguments[position]
        return argument if isinstance(argument, Constant) else None

    def plain(self, column: Column) -> Piece:
        """The call's value, which holds each argument once."""
        size = 1 + sum(argument.size for argument in self.arguments)
        return Piece(column.cast(spark_type(self.resolved.result)), self.resolved.result, size)

    def checked(self, column: Column, wrong: Column, message: str) -> Piece:
        """The call's value, unless `wrong` is TRUE of it; NULL is never wrong."""
        size = 2 + 2 * sum(argument.size for argument in self.arguments)
        kind = spark_type(self.resolved.result)
        value = F.when(wrong, failed(EvaluationError(message)).cast(kind)).otherwise(column.cast(kind))
        return Piece(value, self.resolved.result, size)


Builder: TypeAlias = Callable[[NativeCall], Piece | None]


def failed(error: EvaluationError) -> Column:
    """A column whose values cannot be computed. It raises where a value is asked for, and nowhere else."""
    return F.raise_error(F.lit(failure(error)))


def literal(value: Value, kind: Type) -> Column:
    """The value as a column of exactly that type."""
    if isinstance(kind, ArrayType) and isinstance(value, tuple):
        return F.array(*(literal(element, kind.element) for element in value)).cast(spark_type(kind))
    if kind == DATE and isinstance(value, datetime.date):
        # As text: on their own, PySpark and Java take early dates by another calendar, and times for local ones.
        return F.lit(value.isoformat()).cast(spark_type(kind))
    if kind == TIMESTAMP and isinstance(value, datetime.datetime):
        return F.lit(timestamp_text(value)).cast(spark_type(kind))
    return F.lit(value) if kind == NULL else F.lit(value).cast(spark_type(kind))
