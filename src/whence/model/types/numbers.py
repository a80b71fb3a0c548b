"""Whole numbers, and REAL and DOUBLE, of which NaN, the infinities and a negative zero are no values."""

from __future__ import annotations

import decimal
import math
import re
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

from whence.model.types.base import (
    BLANKS,
    NUMERIC,
    Converter,
    MisfitError,
    Type,
    a_class,
    cast_failure,
    reading,
    unchanged,
)

# Three hundred digits are more than any type takes; Python refuses to read millions.
_INTEGER = re.compile(r"[+-]?\d{1,300}", re.ASCII)
_LEAST_NORMAL_REAL = 2.0**-126
# Enough for every 64-bit number in base two.
LONGEST_LITERAL = 80


@dataclass(frozen=True, eq=False, repr=False)
class IntegerType(Type):
    """Whole numbers of so many `bits`. `digits` is what Spark takes a DECIMAL to need that holds all of them, and
    `suffix` what makes a number in SQL one of this type.
    """

    _: KW_ONLY
    bits: int
    digits: int
    suffix: str = ""
    has_ordinal = True

    @cached_property
    def limits(self) -> range:
        return range(-(1 << self.bits - 1), 1 << self.bits - 1)

    def check(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            hint = "int() makes it one" if isinstance(value, (str, float, decimal.Decimal, bool)) else None
            raise MisfitError(f"it is {a_class(value)}, not an integer", hint)
        # For a subclass, such as an enumeration, `in` would go through the whole range one by one.
        number = value if type(value) is int else int.__int__(value)
        if number not in self.limits:
            raise MisfitError(f"it is not between {self.limits.start} and {self.limits.stop - 1}")
        return number

    def is_plain(self, value: object) -> bool:
        return type(value) is int and value in self.limits

    def are_plain(self, values: Sequence[int]) -> bool:
        limits = self.limits
        return min(values) >= limits.start and max(values) < limits.stop

    def from_literal(self, text: str) -> int | None:
        number = int(text) if _INTEGER.fullmatch(text) and len(text) <= LONGEST_LITERAL else None
        return number if number is not None and number in self.limits else None

    def to_sql(self, value: int) -> str:
        return str(value) if self.is_own_literal(value) else f"{value}{self.suffix}"

    def to_datalog(self, value: int) -> str:
        return repr(value) if self.is_own_literal(value) else f'{self.name} "{value}"'

    def is_own_literal(self, value: int) -> bool:
        """Whether the bare number is read as this type: a literal is an INT, and a BIGINT where it does not fit."""
        return self == (INT if value in INT.limits else BIGINT)

    def cast_from(self, source: Type) -> Converter | None:
        if source.python is str:
            return self._read
        if isinstance(source, IntegerType) and source.bits <= self.bits:
            return unchanged
        return self.casting(int) if source.python in NUMERIC else None

    def casting(self, whole: Callable[[Any], int]) -> Converter:
        """A cast that finds the whole number first, then checks the range."""
        limits = self.limits

        def convert(value: Any) -> int:
            result = whole(value)
            if result in limits:
                return result
            raise cast_failure(value, self, ": it is out of range")

        return convert

    def _read(self, text: str) -> int:
        digits = text.strip(BLANKS)
        if not _INTEGER.fullmatch(digits):
            raise cast_failure(text, self, ": it is not a whole number")
        result = int(digits)
        if result in self.limits:
            return result
        raise cast_failure(text, self, ": it is out of range")

    @property
    def family(self) -> str:
        return "INT"

    def ordinal(self, value: int) -> int:
        return value

    def spark_bytes(self, value: int) -> bytes:
        # Spark hashes what is shorter than an INT as one.
        return value.to_bytes(max(self.bits, INT.bits) // 8, "little", signed=True)


TINYINT = IntegerType(
    "TINYINT",
    bits=8,
    digits=3,
    suffix="Y",
    python=int,
    arrow_name="int8",
    spark_name="ByteType",
    sqlite="INTEGER",
    sqlglot=("TINYINT",),
    cast_functions=("tinyint",),
    wider="SMALLINT",
)
SMALLINT = IntegerType(
    "SMALLINT",
    bits=16,
    digits=5,
    suffix="S",
    python=int,
    arrow_name="int16",
    spark_name="ShortType",
    sqlite="INTEGER",
    sqlglot=("SMALLINT",),
    cast_functions=("smallint",),
    wider="INT",
)
INT = IntegerType(
    "INT",
    bits=32,
    digits=10,
    python=int,
    arrow_name="int32",
    spark_name="IntegerType",
    sqlite="INTEGER",
    sqlglot=("INT",),
    cast_functions=("int", "integer"),
    wider="BIGINT",
)
BIGINT = IntegerType(
    "BIGINT",
    bits=64,
    digits=20,
    suffix="L",
    python=int,
    arrow_name="int64",
    spark_name="LongType",
    sqlite="INTEGER",
    sqlglot=("BIGINT",),
    souffle=("NUMBER", "UNSIGNED"),
    cast_functions=("bigint", "long"),
)


_INFINITE = float("inf")
_SINGLE = struct.Struct("<f")
# A number as Spark reads it from text, and its suffix. DECIMAL reads the same without one.
NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?)([dDfF]?)", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, eq=False, repr=False)
class FloatingType(Type):
    """Numbers of 64 or 32 `bits` with a binary point. Values of the short one are floats that it has."""

    _: KW_ONLY
    bits: int = 64

    def nearest(self, value: float) -> float:
        """The number of this type next to a float; infinite where none is."""
        if self.bits == 64:
            return value
        try:
            single: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
        except OverflowError:
            return math.copysign(_INFINITE, value)
        return single

    def check(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (float, int, decimal.Decimal)):
            hint = "float() makes it one" if isinstance(value, str) else None
            raise MisfitError(f"it is {a_class(value)}, not a number", hint)
        try:
            number = float(value)
        except (OverflowError, ValueError):
            raise MisfitError("it is too large") from None
        if not math.isfinite(number):
            raise MisfitError("NaN and Infinity are no values", "use None for what is not known")
        if isinstance(value, int) and number != value:
            raise MisfitError(f"no {self} is exactly this integer", "float() rounds it")
        if not math.isfinite(self.nearest(number)):
            raise MisfitError("it is too large")
        return self.nearest(number) + 0.0  # there is no negative zero

    def is_plain(self, value: object) -> bool:
        # Neither NaN nor an infinity, and no zero, which may be a negative one.
        return self.bits == 64 and type(value) is float and (0 < value < _INFINITE or -_INFINITE < value < 0)

    def are_plain(self, values: Sequence[float]) -> bool:
        return self.bits == 64 and all(values) and all(map(math.isfinite, values))

    def to_text(self, value: float) -> str:
        """As the JVM writes doubles: 1.5, 0.001, 1.0E7, 1.0E-4, and 4.9E-324, with two digits where one would do."""
        if 0 < abs(value) < (sys.float_info.min if self.bits == 64 else _LEAST_NORMAL_REAL):
            two_digits = f"{value:.1e}"
            if self.nearest(float(two_digits)) == value:
                mantissa, _, exponent = two_digits.partition("e")
                return f"{mantissa}E{int(exponent)}"
        if 1e-3 <= abs(value) < 1e7 or value == 0:
            return format(self.shortest(value), "f")
        mantissa, _, exponent = f"{self.shortest(value).normalize():E}".partition("E")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"

    def shortest(self, value: float) -> decimal.Decimal:
        """The number with as few digits as tell it from all others of its type."""
        if self.bits == 64:
            return decimal.Decimal(repr(value))
        digits = next(
            text for text in (f"{value:.{count}g}" for count in range(1, 10)) if self.nearest(float(text)) == value
        )
        return decimal.Decimal(repr(float(digits)))

    def from_literal(self, text: str) -> float | None:
        return self._finite(float(text)) if _DOUBLE.fullmatch(text) else None

    def to_sql(self, value: float) -> str:
        text = repr(value)
        if self.bits == 32:
            return f"CAST({text} AS {self})"
        return text if "e" in text else f"{text}e0"

    def to_datalog(self, value: float) -> str:
        return f'{self.name} "{value!r}"' if self.bits == 32 else self.to_datalog_element(value)

    def to_datalog_element(self, value: float) -> str:
        return repr(float(value))

    def cast_from(self, source: Type) -> Converter | None:
        if source.python is str:
            return reading(self._read, self)
        if source.python not in NUMERIC:
            return None
        return float if self.bits == 64 else self._rounded

    def _rounded(self, value: Any) -> float:
        single = self.nearest(float(value))
        if not math.isfinite(single):
            raise cast_failure(value, self, ": it is out of range")
        return single + 0.0

    def _read(self, text: str) -> float | None:
        found = NUMBER.fullmatch(text)
        return None if found is None else self._finite(float(found[1]))

    def _finite(self, value: float) -> float | None:
        value = self.nearest(value) if math.isfinite(value) else value
        return value + 0.0 if math.isfinite(value) else None

    def spark_bytes(self, value: float) -> bytes:
        return struct.pack("<d" if self.bits == 64 else "<f", value)


# Spark's FLOAT. In Datalog `float` is Soufflé's, which has 64 bits, so that this one goes by SQL's other name.
REAL = FloatingType(
    "REAL",
    bits=32,
    python=float,
    arrow_name="float32",
    spark_name="FloatType",
    sqlite="REAL",
    sqlglot=("FLOAT",),
    cast_functions=("float",),
    wider="DOUBLE",
)
DOUBLE = FloatingType(
    "DOUBLE",
    python=float,
    arrow_name="float64",
    spark_name="DoubleType",
    sqlite="REAL",
    sqlglot=("DOUBLE",),
    souffle=("FLOAT",),
    cast_functions=("double",),
)
