"""INTERVAL YEAR TO MONTH, whose values are numbers of months, and INTERVAL DAY TO SECOND, whose are timedeltas.

As in Spark, and in the standard, the two do not mix. Each has a type for every range of its units, so that INTERVAL DAY
holds whole days only: `INTERVAL YEAR`, `INTERVAL DAY TO HOUR`, and so on.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.errors import EvaluationError
from whence.model.types.base import BLANKS, Converter, MisfitError, Type, Value, a_class, cast_failure, unchanged
from whence.model.types.decimals import CONTEXT, DecimalType
from whence.model.types.numbers import BIGINT, INT, IntegerType

if TYPE_CHECKING:
    import pyarrow as pa

_MICROSECOND = datetime.timedelta(microseconds=1)
_FIELD = r"\d{1,9}"
_WHOLE_TEXT = re.compile(r"interval\s*([+-]?)\s*'([^']*)'\s*(\w+(?:\s+to\s+\w+)?)", re.IGNORECASE)


class Months(int):
    """A value of INTERVAL YEAR TO MONTH."""


@dataclass(frozen=True, eq=False, repr=False)
class IntervalType(Type):
    """A range of units. A value is a whole number of a smallest unit, a month or a microsecond."""

    first: str
    last: str

    # The units that a range is made of, from the largest, each with its number of smallest units.
    UNITS = {}  # type: dict[str, int]  # noqa: RUF012 - each class has its own, and never changes it
    LIMITS = range(0)

    def __init__(self, first: str, last: str, python: type, arrow_name: str, spark_name: str, sqlite: str) -> None:
        name = f"INTERVAL {first}" if first == last else f"INTERVAL {first} TO {last}"
        super().__init__(
            name,
            python=python,
            arrow_name=arrow_name,
            spark_name=spark_name,
            sqlite=sqlite,
            literal_hint=f'like {name} "{_EXAMPLES.get(first + last, "1")}"',
        )
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "last", last)

    @property
    def fields(self) -> list[str]:
        names = list(self.UNITS)
        return names[names.index(self.first) : names.index(self.last) + 1]

    @property
    def family(self) -> str:
        return type(self).__name__

    @property
    def whole(self) -> IntervalType:
        """The type of all intervals that its values can be added to."""
        raise NotImplementedError

    def with_range(self, other: IntervalType) -> IntervalType:
        """The type whose range has both."""
        names = list(self.UNITS)
        first = min(self.first, other.first, key=names.index)
        return type(self)(first, max(self.last, other.last, key=names.index))  # type: ignore[call-arg]

    def of_units(self, number: int) -> Any:
        """The value of so many smallest units; raises where they are too many."""
        if number not in self.LIMITS:
            raise EvaluationError(f"an interval of {number} {self.smallest} is too long")
        return self.made(number)

    smallest = ""
    # Of a number that becomes an interval, as Spark does it.
    rounding = decimal.ROUND_DOWN

    def made(self, number: int) -> Any:
        raise NotImplementedError

    def units(self, value: Any) -> int:
        """The number of smallest units of a value."""
        raise NotImplementedError

    @property
    def step(self) -> int:
        """What all values are multiples of, in smallest units."""
        return self.UNITS[self.last]

    def cut(self, number: int) -> int:
        """Without what is finer than the type has it."""
        return (abs(number) // self.step) * self.step * (-1 if number < 0 else 1)

    def to_text(self, value: Any) -> str:
        return f"INTERVAL '{self.body(value)}' {self.name.removeprefix('INTERVAL ')}"

    to_sql = to_text

    def to_datalog_element(self, value: Any) -> str:
        return f'{self.name} "{self.body(value)}"'

    def body(self, value: Any) -> str:
        """What a literal has in its quotes."""
        number = self.units(value)
        sign, rest = ("-", -number) if number < 0 else ("", number)
        parts: list[int] = []
        for field in self.fields:
            found, rest = divmod(rest, self.UNITS[field])
            parts.append(found)
        return sign + self.joined(parts, rest)

    def joined(self, parts: Sequence[int], rest: int) -> str:
        raise NotImplementedError

    def pattern(self) -> re.Pattern[str]:
        raise NotImplementedError

    def from_literal(self, text: str) -> Value:
        """The value of what a literal has in its quotes; None if it is none."""
        found = self.pattern().fullmatch(text.strip(BLANKS))
        if found is None:
            return None
        number = 0
        for place, field in enumerate(self.fields):
            amount = int(found[field])
            if place and amount >= self.UNITS[self.fields[place - 1]] // self.UNITS[field]:
                return None
            number += amount * self.UNITS[field]
        if self.last == "SECOND":
            number += int(f"{found['fraction'] or '':0<6}"[:6])
        number = -number if found["sign"] == "-" else number
        return self.made(number) if number in self.LIMITS else None

    def read(self, text: str) -> Value:
        """A CAST from text, which may be a whole literal."""
        whole = _WHOLE_TEXT.fullmatch(text.strip(BLANKS))
        body = text
        if whole is not None:
            if " ".join(whole[3].upper().split()) != self.name.removeprefix("INTERVAL "):
                raise cast_failure(text, self)
            body = whole[2]
            if whole[1] == "-":
                body = body.strip()[1:] if body.strip().startswith("-") else f"-{body.strip()}"
        value = self.from_literal(body)
        if value is None:
            raise cast_failure(text, self)
        return value

    def check(self, value: object) -> Any:
        if isinstance(value, str):
            try:
                return self.read(value)
            except EvaluationError:
                raise MisfitError("it is no such interval", f"write it {self.literal_hint}") from None
        number = self.units_of_object(value)
        if number not in self.LIMITS:
            raise MisfitError("it is too long")
        if number % self.step:
            raise MisfitError(f"it is no whole number of units of a {self.last}")
        return self.made(number)

    def units_of_object(self, value: object) -> int:
        raise NotImplementedError

    def cast_from(self, source: Type) -> Converter | None:
        if source.python is str:
            return self.read
        if isinstance(source, IntervalType) and source.family == self.family:
            if source.step >= self.step:
                return unchanged
            return lambda value: self.made(self.cut(self.units(value)))
        return self._of_number if isinstance(source, IntegerType | DecimalType) else None

    def _of_number(self, value: int | decimal.Decimal) -> Any:
        """A CAST from a number of its last unit, rounded to what the type can tell apart."""
        steps = CONTEXT.multiply(decimal.Decimal(value), self.UNITS[self.last] // self.step)
        number = int(steps.to_integral_value(self.rounding)) * self.step
        if number not in self.LIMITS:
            raise cast_failure(value, self, ": it is too long")
        return self.made(number)

    def cast_to(self, target: Type) -> Converter | None:
        unit = self.UNITS[self.last]
        if isinstance(target, IntegerType):
            return target.casting(lambda value: int(CONTEXT.divide(self.units(value), unit)))
        if isinstance(target, DecimalType):
            return target.casting(lambda value: CONTEXT.divide(self.units(value), unit))
        return None

    has_ordinal = True

    def ordinal(self, value: Any) -> int:
        return self.units(value)

    def to_sqlite(self, value: Any) -> int:
        return self.units(value)

    def from_sqlite(self, value: int) -> Any:
        return self.made(value)

    def to_spark(self, value: Any) -> object:
        return self.whole.to_text(value)


class YearMonthType(IntervalType):
    UNITS = {"YEAR": 12, "MONTH": 1}  # noqa: RUF012
    LIMITS = INT.limits
    smallest = "months"
    rounding = decimal.ROUND_HALF_UP

    def __init__(self, first: str, last: str) -> None:
        # Neither Arrow nor PySpark has a value for months, and so they are numbers there.
        super().__init__(first, last, Months, "int32", "IntegerType", "INTEGER")

    @property
    def whole(self) -> YearMonthType:
        return YearMonthType("YEAR", "MONTH")

    def made(self, number: int) -> Months:
        return Months(number)

    def units(self, value: int) -> int:
        return int(value)

    def joined(self, parts: Sequence[int], rest: int) -> str:  # noqa: ARG002 - of a range of years there is none
        return "-".join(map(str, parts))

    def pattern(self) -> re.Pattern[str]:
        return re.compile(r"(?P<sign>[+-]?)" + "-".join(rf"(?P<{field}>{_FIELD})" for field in self.fields))

    def units_of_object(self, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return int(value)
        raise MisfitError(f"it is {a_class(value)}, not a number of months")

    def is_plain(self, value: object) -> bool:
        return type(value) is Months

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        import pyarrow

        return pyarrow.array([None if value is None else int(value) for value in values], pyarrow.int32())

    def from_arrow(self, values: list[Any]) -> list[Any]:
        return [None if value is None else Months(value) for value in values]

    def to_spark(self, value: int) -> int:
        return int(value)

    def spark_bytes(self, value: int) -> bytes:
        return int(value).to_bytes(4, "little", signed=True)


class DayTimeType(IntervalType):
    UNITS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}  # noqa: RUF012
    # Without the least BIGINT, which Arrow has no timedelta for.
    LIMITS = BIGINT.limits[1:]
    smallest = "microseconds"

    def __init__(self, first: str, last: str) -> None:
        super().__init__(first, last, datetime.timedelta, "duration", "DayTimeIntervalType", "INTEGER")

    @property
    def whole(self) -> DayTimeType:
        return DayTimeType("DAY", "SECOND")

    @property
    def step(self) -> int:
        return 1 if self.last == "SECOND" else self.UNITS[self.last]

    def made(self, number: int) -> datetime.timedelta:
        return datetime.timedelta(microseconds=number)

    def units(self, value: datetime.timedelta) -> int:
        return value // _MICROSECOND

    def joined(self, parts: Sequence[int], rest: int) -> str:
        written = [str(parts[0]) if self.first == "DAY" else f"{parts[0]:02}", *(f"{part:02}" for part in parts[1:])]
        if self.last == "SECOND" and rest:
            written[-1] += f".{rest:06}".rstrip("0")
        days, times = (written[:1], written[1:]) if self.first == "DAY" else ([], written)
        return " ".join([*days, *([":".join(times)] if times else [])])

    def pattern(self) -> re.Pattern[str]:
        parts = [rf"(?P<{field}>{_FIELD})" for field in self.fields]
        if self.last == "SECOND":
            parts[-1] += r"(?:\.(?P<fraction>\d{1,9}))?"
        days, times = (parts[:1], parts[1:]) if self.first == "DAY" else ([], parts)
        return re.compile(r"(?P<sign>[+-]?)" + "[ T]".join([*days, *([":".join(times)] if times else [])]))

    def units_of_object(self, value: object) -> int:
        if isinstance(value, datetime.timedelta):
            return value // _MICROSECOND
        raise MisfitError(f"it is {a_class(value)}, not a timedelta")

    def is_plain(self, value: object) -> bool:
        return type(value) is datetime.timedelta and value // _MICROSECOND in self.LIMITS and self.step == 1

    def are_plain(self, values: Sequence[Any]) -> bool:
        return all(map(self.is_plain, values))

    def arrow(self) -> pa.DataType:
        import pyarrow

        return pyarrow.duration("us")

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        import pyarrow

        # By their numbers, since Arrow takes no timedelta of nearly 2**63 microseconds.
        numbers = [None if value is None else self.units(value) for value in values]
        return pyarrow.array(numbers, pyarrow.int64()).view(self.arrow())

    def spark_bytes(self, value: datetime.timedelta) -> bytes:
        return self.units(value).to_bytes(8, "little", signed=True)


_EXAMPLES = {"YEARMONTH": "1-2", "DAYHOUR": "1 02", "DAYMINUTE": "1 02:03", "DAYSECOND": "1 02:03:04.5"}
YEAR_MONTH = YearMonthType("YEAR", "MONTH")
DAY_TIME = DayTimeType("DAY", "SECOND")


def _ranges(make: Callable[[str, str], IntervalType], units: Sequence[str]) -> list[IntervalType]:
    return [make(first, last) for place, first in enumerate(units) for last in units[place:]]


# All of them, each range of units.
INTERVALS = (*_ranges(YearMonthType, list(YearMonthType.UNITS)), *_ranges(DayTimeType, list(DayTimeType.UNITS)))
