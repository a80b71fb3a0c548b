"""The types a column can have, by their Spark SQL names, and the Python values that carry them.

    STRING str   INT, BIGINT int   DOUBLE float   DECIMAL(p,s) decimal.Decimal   BOOLEAN bool
    DATE datetime.date   TIMESTAMP datetime.datetime without time zone   ARRAY<T> tuple

Every column can also hold None unless it is declared NOT NULL. NaN is no value.
"""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | decimal.Decimal | bool | datetime.date | datetime.datetime
Value: TypeAlias = "Scalar | tuple[Value, ...] | None"
Row: TypeAlias = "tuple[Value, ...]"


@dataclass(frozen=True)
class Type:
    """A type without parameters."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class DecimalType(Type):
    precision: int
    scale: int

    def __init__(self, precision: int, scale: int) -> None:
        object.__setattr__(self, "name", f"DECIMAL({precision},{scale})")
        object.__setattr__(self, "precision", precision)
        object.__setattr__(self, "scale", scale)


@dataclass(frozen=True)
class ArrayType(Type):
    element: Type

    def __init__(self, element: Type) -> None:
        object.__setattr__(self, "name", f"ARRAY<{element.name}>")
        object.__setattr__(self, "element", element)


STRING = Type("STRING")
INT = Type("INT")
BIGINT = Type("BIGINT")
DOUBLE = Type("DOUBLE")
BOOLEAN = Type("BOOLEAN")
DATE = Type("DATE")
TIMESTAMP = Type("TIMESTAMP")
# The type of a bare NULL, which fits everywhere. No column has it.
NULL = Type("NULL")

BY_NAME = {t.name: t for t in (STRING, INT, BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP)}
