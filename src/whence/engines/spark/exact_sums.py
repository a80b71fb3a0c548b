"""Sums without rounding, whatever the order in which the cluster adds.

Every DOUBLE is a whole number times a power of two. Those of about the same magnitude share a power, and their whole
numbers add up as integers; the few sums that remain, one for each magnitude, Python puts together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from operator import add

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.engines.spark.expressions import python_column
from whence.engines.spark.types import spark_type
from whence.functions.mathematics import misfit
from whence.functions.widening import as_decimal, is_integer
from whence.incremental.counting.totals import finish
from whence.model.types import BIGINT, DOUBLE, STRING, ArrayType, DecimalType, IntegerType, Type, Value
from whence.model.types.decimals import CONTEXT, MAX_PRECISION

# DOUBLEs whose binary exponents agree but for their last two bits have one magnitude. A logarithm is not exact, so that
# a value next to a power of 16 may come to its neighbours; there is room for that on both sides.
BITS = 4
DIGITS = 53
# The smallest DOUBLE is 2 to the minus this; totals count in units of it.
UNIT = 1074
# A DECIMAL of so many digits times a BIGINT is a DECIMAL of the same scale.
MULTIPLIED = MAX_PRECISION - 21
# Integers are added up in pieces of so many bits. Then a group may have 2 to the 41st copies of values; if it has more,
# Spark says that a BIGINT is too small.
PIECE = 22


def total_type(kind: Type) -> Type:
    """The type of a stored total over values of `kind`. That of DOUBLEs is a text, an integer of any length."""
    if isinstance(kind, DecimalType):
        return DecimalType(MAX_PRECISION, kind.scale)
    return DecimalType(MAX_PRECISION, 0) if is_integer(kind) else STRING


def exact_total(value: Column, kind: Type, copies: Column | None) -> Column:
    """The sum of exact numbers, each as often as it has copies."""
    if is_integer(kind):
        return _integer_total(value.cast("bigint"), kind, copies)
    number = as_decimal(kind)
    value = value.cast(spark_type(number))
    if copies is not None and number.precision <= MULTIPLIED:
        # Nearly always there is one, and a product of long DECIMALs takes longer than all the rest.
        product = value * copies.cast(spark_type(as_decimal(BIGINT)))
        value = F.when(copies == 1, value).otherwise(product)
    elif copies is not None:
        value = python_column(lambda: _times(number), [(value, number), (copies, BIGINT)], total_type(number))
    total = spark_type(total_type(number))
    return F.coalesce(F.sum(value).cast(total), F.lit(0).cast(total))


def _integer_total(value: Column, kind: IntegerType, copies: Column | None) -> Column:
    """The sum of integers, piece by piece in a BIGINT each: adding up DECIMALs takes Spark several times as long."""
    total = spark_type(total_type(kind))
    width = (-kind.limits.start).bit_length()
    pieces = []
    for shift in range(0, width, PIECE):
        piece = F.shiftright(value, shift)
        if shift + PIECE < width:
            piece = piece.bitwiseAND(F.lit((1 << PIECE) - 1).cast("bigint"))
        added = F.sum(piece if copies is None else piece * copies)
        pieces.append(added.cast("decimal(19,0)") * F.lit(str(1 << shift)).cast("decimal(14,0)"))
    return F.coalesce(reduce(add, pieces).cast(total), F.lit(0).cast(total))


def _times(kind: DecimalType) -> Callable[..., Value]:
    def times(value: Decimal, copies: int) -> Decimal:
        product = CONTEXT.multiply(value, copies)
        if len(product.as_tuple().digits) > MAX_PRECISION:
            raise misfit("a sum", kind)
        return product

    return times


def double_totals(frame: DataFrame, keys: Sequence[str], value: Column, copies: Column | None) -> DataFrame:
    """Per group, as `total`, the sum of the values that are not NULL. A group without any other than 0 may be left
    out; without keys there is one group, always.
    """
    counted = F.lit(1) if copies is None else copies
    magnitude = F.floor(F.log2(F.abs(value)) / float(BITS)).cast("int")
    sums = (
        frame.where(value != 0.0)
        .select(*keys, value.alias("value"), magnitude.alias("magnitude"), counted.alias("copies"))
        .groupBy(*keys, "magnitude")
        .agg(
            exact_total(_whole("value", "magnitude"), BIGINT, None if copies is None else F.col("copies")).alias("sum")
        )
    )
    # Only few and short ones: as text they can go to Python together.
    parts = F.collect_list(F.concat_ws("*", "sum", "magnitude"))
    total = python_column(lambda: _put_together, [(F.col("parts"), ArrayType(STRING))], STRING)
    return sums.groupBy(*keys).agg(parts.alias("parts")).select(*keys, total.alias("total"))


def _whole(value: str, magnitude: str) -> Column:
    """The whole number that a DOUBLE is in steps so small that every one of its magnitude is a whole number of them."""
    power = F.lit(DIGITS) - BITS * F.col(magnitude)
    half = F.shiftright(power, 1)
    # In two steps, as 2.0**1129 is no DOUBLE. Neither of them rounds.
    return (F.col(value) * F.pow(F.lit(2.0), half) * F.pow(F.lit(2.0), power - half)).cast("bigint")


def _put_together(parts: Sequence[str]) -> str:
    total = 0
    for part in parts:
        units, _, magnitude = part.partition("*")
        shift = UNIT - DIGITS + BITS * int(magnitude)
        total += int(units) << shift if shift >= 0 else int(units) >> -shift
    return str(total)


def text_total(totals: Column) -> Column:
    """What totals of DOUBLEs in an array, which are texts, come to together."""
    return python_column(lambda: _added, [(totals, ArrayType(STRING))], STRING)


def _added(totals: Sequence[str]) -> str:
    return str(sum(map(int, totals)))


def finished(function: str, argument: Type, result: Type, count: Column, total: Column) -> Column:
    """count, sum or avg from the number of values and their total, of a group that has values."""
    if function == "count":
        return count
    if function == "sum" and argument != DOUBLE:
        return total.cast(spark_type(result))
    kind = total_type(argument)
    return python_column(lambda: _finish(function, argument, result), [(count, BIGINT), (total, kind)], result)


def _finish(function: str, argument: Type, result: Type) -> Callable[..., Value]:
    of_total = finish(function, argument, result)
    read: Callable[[str | Decimal], int | Decimal] = int if not isinstance(argument, DecimalType) else Decimal
    return lambda count, total: of_total(count, read(total))
