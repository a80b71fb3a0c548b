"""Numbers that stay within their type: ranges, DECIMAL rounding, and the errors for what does not fit."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from functools import lru_cache

from whence.errors import EvaluationError
from whence.functions.text import shown
from whence.model.types import BIGINT, INT, DecimalType, Type

RANGES = {INT: range(-(2**31), 2**31), BIGINT: range(-(2**63), 2**63)}

# Wide enough that the product of two DECIMAL(38)s is exact and a quotient is rounded once, when it gets its scale.
CONTEXT = decimal.Context(prec=160, rounding=decimal.ROUND_HALF_UP)


@lru_cache(maxsize=1024)
def rescale(kind: DecimalType) -> Callable[[decimal.Decimal], decimal.Decimal | None]:
    """A function that rounds half up to the scale of `kind` and gives None where the precision does not suffice."""
    exponent = decimal.Decimal(1).scaleb(-kind.scale)
    zero = decimal.Decimal(0).quantize(exponent)
    limit = decimal.Decimal(10) ** (kind.precision - kind.scale)

    def apply(value: decimal.Decimal) -> decimal.Decimal | None:
        # The first test keeps an exponent of thousands away from quantize, which could not write it out.
        if not -limit < value < limit:
            return None
        if value.same_quantum(exponent):
            return value or zero  # there is no negative zero
        result = CONTEXT.quantize(value, exponent)
        if not result:
            return zero
        return result if -limit < result < limit else None

    return apply


def exact_decimal(value: float) -> decimal.Decimal:
    """The shortest decimal that reads back as `value`: 0.1 is 0.1, as in Spark."""
    return decimal.Decimal(repr(value))


def finite(result: float, expression: Callable[[], str]) -> float:
    """`result` without a negative zero; NaN and Infinity are errors."""
    if math.isfinite(result):
        return result + 0.0
    raise EvaluationError(f"{expression()} is not a finite DOUBLE")


def misfit(expression: str, kind: Type) -> EvaluationError:
    """The error for a result outside its type."""
    hint = (
        "convert an operand to BIGINT first"
        if kind == INT
        else "convert an operand to DOUBLE for an approximate result"
    )
    return EvaluationError(f"{expression} does not fit {kind}", hint=hint)


def infix(left: object, operator: str, right: object) -> str:
    return f"{shown(left)} {operator} {shown(right)}"
