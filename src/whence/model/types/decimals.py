"""DECIMAL(precision, scale): so many digits, and so many of them after the point."""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

from whence.model.types.base import BLANKS, NUMERIC, Converter, MisfitError, Type, a_class, cast_failure
from whence.model.types.numbers import NUMBER
from whence.model.types.strings import datalog_string

if TYPE_CHECKING:
    import pyarrow as pa

MAX_PRECISION = 38
# Spark hashes decimals with more digits than a long holds by their bytes.
LONG_DIGITS = 18
# Wide enough that the product of two DECIMAL(38)s is exact and a quotient is rounded once, when it gets its scale.
CONTEXT = decimal.Context(prec=160, rounding=decimal.ROUND_HALF_UP)

_LITERAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)", re.ASCII)


@dataclass(frozen=True, eq=False, repr=False)
class DecimalType(Type):
    precision: int
    scale: int

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__(
            f"DECIMAL({precision},{scale})", python=Decimal, arrow_name="decimal128", spark_name="DecimalType"
        )
        object.__setattr__(self, "precision", precision)
        object.__setattr__(self, "scale", scale)

    @cached_property
    def unit(self) -> Decimal:
        """Of the last digit."""
        return Decimal(1).scaleb(-self.scale)

    @cached_property
    def limit(self) -> Decimal:
        """What every value is below."""
        return Decimal(10) ** (self.precision - self.scale)

    def check(self, value: object) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, (Decimal, int)):
            hint = f"decimal.Decimal({str(value)!r}) is exact" if isinstance(value, (float, str)) else None
            raise MisfitError(f"it is {a_class(value)}, not a Decimal", hint)
        number = Decimal(value)
        if not number.is_finite():
            raise MisfitError("NaN and Infinity are no values", "use None for what is not known")
        result = rescale(self)(number)
        if result is None:
            raise MisfitError(f"it has more than {self.precision - self.scale} digits before the point")
        if result != number:
            raise MisfitError(f"it has more than {self.scale} digits after the point", "round it first")
        return result

    def is_plain(self, value: object) -> bool:
        return (
            type(value) is Decimal
            and value.same_quantum(self.unit)
            and -self.limit < value < self.limit
            and bool(value)
        )

    def are_plain(self, values: Sequence[Decimal]) -> bool:
        # The first test comes first, because NaN, which has no place in the order, fails it.
        if not all(map(CONTEXT.same_quantum, values, repeat(self.unit))):
            return False
        least = min(values)
        if not (-self.limit < least and max(values) < self.limit):
            return False
        # A zero may be a negative one.
        return least > 0 or not any(map(Decimal.is_signed, values)) or all(values)

    def to_text(self, value: Decimal) -> str:
        return format(value, "f")

    def from_literal(self, text: str) -> Decimal | None:
        value = decimal_from_literal(text)
        return value if value is not None and self.holds(value) else None

    def holds(self, value: Decimal) -> bool:
        """Whether the value is one of this type without rounding."""
        needed = smallest_decimal(value)
        return needed.scale <= self.scale and needed.precision - needed.scale <= self.precision - self.scale

    def to_sql(self, value: Decimal) -> str:
        text = f"{value:.{self.scale}f}"
        digits = len(re.sub(r"\D", "", text).lstrip("0"))
        natural = self.scale > 0 and max(digits, self.scale) == self.precision
        return text if natural else f"CAST('{text}' AS {self})"

    def to_datalog(self, value: Decimal) -> str:
        if smallest_decimal(value) == self:
            return self.to_datalog_element(value)
        return f"{datalog_string(format(value, 'f'))}::{self}"

    def to_datalog_element(self, value: Decimal) -> str:
        return f'DECIMAL "{value:f}"'

    def cast_from(self, source: Type) -> Converter | None:
        if source.python is str:
            return self._reading()
        return self.casting(exact_decimal if source.python is float else Decimal) if source.python in NUMERIC else None

    def casting(self, exact: Callable[[Any], Decimal]) -> Callable[[Any], Decimal]:
        """A cast that finds the exact number first, then rounds it half up to the scale."""
        fit = rescale(self)

        def convert(value: Any) -> Decimal:
            result = fit(exact(value))
            if result is None:
                raise cast_failure(value, self, ": it is out of range")
            return result

        return convert

    def _reading(self) -> Converter:
        fit = self.casting(lambda number: number)

        def convert(text: str) -> Decimal:
            found = NUMBER.fullmatch(text.strip(BLANKS))
            if found is None or found[2]:
                raise cast_failure(text, self, ": it is not a number")
            return fit(Decimal(found[1]))

        return convert

    def to_sqlite(self, value: Decimal) -> str:
        return format(value, "f")

    def from_sqlite(self, value: str) -> Decimal:
        return Decimal(value)

    def arrow(self) -> pa.DataType:
        import pyarrow

        return pyarrow.decimal128(self.precision, self.scale)

    def spark_bytes(self, value: Decimal) -> bytes:
        number = int(value.scaleb(self.scale, CONTEXT))
        if self.precision <= LONG_DIGITS:
            return number.to_bytes(8, "little", signed=True)
        # As Java writes a BigInteger: the fewest bytes, the sign included.
        return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


@lru_cache(maxsize=1024)
def rescale(kind: DecimalType) -> Callable[[Decimal], Decimal | None]:
    """A function that rounds half up to the scale of `kind` and gives None where the precision does not suffice."""
    exponent, limit = kind.unit, kind.limit
    zero = Decimal(0).quantize(exponent)

    def apply(value: Decimal) -> Decimal | None:
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


def exact_decimal(value: float) -> Decimal:
    """The shortest decimal that reads back as `value`: 0.1 is 0.1, as in Spark."""
    return Decimal(repr(value))


def smallest_decimal(value: Decimal) -> DecimalType:
    """The smallest type that holds a value as it is written: DECIMAL(3,2) for 3.50."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    return DecimalType(max(len(digits) + max(0, exponent), scale, 1), scale)


def decimal_from_literal(text: str) -> Decimal | None:
    return Decimal(text) if _LITERAL.fullmatch(text) else None
