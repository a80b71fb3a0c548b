"""DATE and TIMESTAMP, which have no time zone: they are what a calendar and a clock show."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from whence.model.types.base import Converter, MisfitError, Refusal, Type, a_class, cast_failure, reading
from whence.model.types.decimals import CONTEXT, DecimalType
from whence.model.types.numbers import FloatingType, IntegerType

if TYPE_CHECKING:
    import pyarrow as pa

EPOCH = datetime.datetime.combine(datetime.date(1970, 1, 1), datetime.time())
_EPOCH_DAY = EPOCH.toordinal()
_MICROSECOND = datetime.timedelta(microseconds=1)
_SECOND = datetime.timedelta(seconds=1)

_DATE = r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?"
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?)?"
    r"\s*(?:(?P<utc>Z|UTC)|(?P<sign>[+-])(?P<offset_hours>\d{1,2})(?::?(?P<offset_minutes>\d{2}))?)?"
)
_TIMESTAMP = re.compile(rf"\s*{_DATE}(?:[ T]{_TIME})?\s*", re.ASCII)
# Whatever follows a whole date is left out by a cast, the time of day included.
_DATE_AND_MORE = re.compile(r"(\d{4}-\d{1,2}-\d{1,2})[ T].*", re.ASCII | re.DOTALL)


class DateType(Type):
    has_ordinal = True

    def check(self, value: object) -> datetime.date:
        if isinstance(value, str):
            date = parse_date(value)
            if date is None:
                raise MisfitError("it is not a date", "write it like '2026-01-31'")
            return date
        if isinstance(value, datetime.datetime):
            moment = TIMESTAMP.check(value)
            if moment != midnight(moment):
                raise MisfitError("it has a time of day", "date() leaves it out")
            return moment.date()
        if isinstance(value, datetime.date):
            return datetime.date(value.year, value.month, value.day)
        raise MisfitError(f"it is {a_class(value)}, not a date")

    def is_plain(self, value: object) -> bool:
        return type(value) is datetime.date

    def are_plain(self, values: Sequence[datetime.date]) -> bool:  # noqa: ARG002 - a date is a date
        return True

    def to_text(self, value: datetime.date) -> str:
        return datetime.date.isoformat(value)

    def from_literal(self, text: str) -> datetime.date | None:
        return parse_date(text)

    def to_sql(self, value: datetime.date) -> str:
        return f"DATE '{value.isoformat()}'"

    def to_datalog_element(self, value: datetime.date) -> str:
        return f'DATE "{value.isoformat()}"'

    def cast_from(self, source: Type) -> Converter | None:
        return reading(_first_date, self) if source.python is str else None

    def ordinal(self, value: datetime.date) -> int:
        return value.toordinal()

    def to_sqlite(self, value: datetime.date) -> str:
        return value.isoformat()

    def from_sqlite(self, value: str) -> datetime.date:
        return datetime.date.fromisoformat(value)

    def to_spark(self, value: datetime.date) -> str:
        # As text: on their own, PySpark and Java take early dates by another calendar, and times for local ones.
        return value.isoformat()

    def spark_bytes(self, value: datetime.date) -> bytes:
        return (value.toordinal() - _EPOCH_DAY).to_bytes(4, "little", signed=True)


class TimestampType(Type):
    has_ordinal = True

    def check(self, value: object) -> datetime.datetime:
        if isinstance(value, str):
            moment = parse_timestamp(value)
            if moment is None:
                raise MisfitError("it is not a timestamp", "write it like '2026-01-31 12:00:00'")
            return moment
        if isinstance(value, datetime.datetime):
            # pandas has its own datetime: one that is no time at all, and one that is finer than a microsecond.
            if value != value:
                raise MisfitError("it is not a time", "use None for what is not known")
            if getattr(value, "nanosecond", 0):
                raise MisfitError("it has nanoseconds, and a TIMESTAMP has microseconds")
            if value.tzinfo is not None:
                try:
                    value = value.astimezone(datetime.UTC)
                except OverflowError:
                    raise MisfitError("it is outside the years 1 to 9999 in UTC") from None
            return datetime.datetime.combine(value.date(), value.time().replace(fold=0))
        if isinstance(value, datetime.date):
            return midnight(value)
        raise MisfitError(f"it is {a_class(value)}, not a timestamp")

    def is_plain(self, value: object) -> bool:
        # A fold, which tells two times of one night apart, has no place in a TIMESTAMP.
        return type(value) is datetime.datetime and value.tzinfo is None and not value.fold

    def are_plain(self, values: Sequence[datetime.datetime]) -> bool:
        return all(value.tzinfo is None and not value.fold for value in values)

    def to_text(self, value: datetime.datetime) -> str:
        return timestamp_text(value)

    def from_literal(self, text: str) -> datetime.datetime | None:
        return parse_timestamp(text)

    def to_sql(self, value: datetime.datetime) -> str:
        return f"TIMESTAMP '{value.isoformat(' ')}'"

    def to_datalog_element(self, value: datetime.datetime) -> str:
        return f'TIMESTAMP "{timestamp_text(value)}"'

    def cast_from(self, source: Type) -> Converter | None:
        if source.python is str:
            return reading(parse_timestamp, self)
        if source.python is datetime.date:
            return midnight
        microseconds = _MICROSECONDS.get(source.python)
        return None if microseconds is None else self._after_epoch(microseconds)

    def cast_to(self, target: Type) -> Converter | None:
        if isinstance(target, IntegerType):
            return target.casting(lambda moment: (moment - EPOCH) // _SECOND)
        if isinstance(target, DecimalType):
            return target.casting(lambda moment: decimal.Decimal(self.ordinal(moment)).scaleb(-6))
        if isinstance(target, FloatingType):
            return lambda moment: target.nearest(self.ordinal(moment) / 1_000_000)
        return datetime.datetime.date if target == DATE else None

    def _after_epoch(self, microseconds: Callable[[Any], int]) -> Converter:
        """A cast from a number of seconds since 1970 in UTC."""

        def convert(value: Any) -> datetime.datetime:
            try:
                return EPOCH + datetime.timedelta(microseconds=microseconds(value))
            except OverflowError:
                raise cast_failure(value, self, ": it is out of range") from None

        return convert

    def ordinal(self, value: datetime.datetime) -> int:
        """Microseconds since 1970."""
        return (value - EPOCH) // _MICROSECOND

    def to_sqlite(self, value: datetime.datetime) -> str:
        return value.isoformat(sep=" ")

    def from_sqlite(self, value: str) -> datetime.datetime:
        return datetime.datetime.fromisoformat(value)

    def arrow(self) -> pa.DataType:
        import pyarrow

        return pyarrow.timestamp("us")

    def to_spark(self, value: datetime.datetime) -> str:
        return timestamp_text(value)

    def spark_bytes(self, value: datetime.datetime) -> bytes:
        return self.ordinal(value).to_bytes(8, "little", signed=True)


# Microseconds in a number of seconds.
_MICROSECONDS: dict[type, Callable[[Any], int]] = {
    int: lambda seconds: seconds * 1_000_000,
    float: lambda seconds: int(seconds * 1_000_000),
    decimal.Decimal: lambda seconds: int(seconds.scaleb(6, CONTEXT)),
}


def midnight(date: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(date, datetime.time())


def timestamp_text(value: datetime.datetime) -> str:
    """`2026-01-31 12:00:00`, with the fraction of the second only where there is one."""
    text = value.isoformat(sep=" ", timespec="seconds")
    return text if not value.microsecond else f"{text}.{value.microsecond:06d}".rstrip("0")


def parse_date(text: str) -> datetime.date | None:
    """The date, or None where the text is no date, or a date and a time of day."""
    moment = _parse(text, allow_time=False)
    return None if moment is None else moment.date()


def parse_timestamp(text: str) -> datetime.datetime | None:
    """The moment, in UTC where the text names an offset. A date alone is its midnight."""
    return _parse(text, allow_time=True)


def _first_date(text: str) -> datetime.date | None:
    more = _DATE_AND_MORE.fullmatch(text)
    return parse_date(text if more is None else more[1])


def _parse(text: str, *, allow_time: bool) -> datetime.datetime | None:
    found = _TIMESTAMP.fullmatch(text)
    if found is None or (found["hour"] is not None and not allow_time):
        return None
    try:
        date = datetime.date(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1))
        time = datetime.time(
            int(found["hour"] or 0),
            int(found["minute"] or 0),
            int(found["second"] or 0),
            int(((found["fraction"] or "") + "000000")[:6]),
        )
        moment = datetime.datetime.combine(date, time)
        if found["sign"] is None:
            return moment
        offset = datetime.timedelta(hours=int(found["offset_hours"]), minutes=int(found["offset_minutes"] or 0))
        return moment - offset if found["sign"] == "+" else moment + offset
    except (ValueError, OverflowError):
        return None


DATE = DateType(
    "DATE",
    python=datetime.date,
    arrow_name="date32",
    spark_name="DateType",
    sqlglot=("DATE",),
    cast_functions=("date",),
    wider="TIMESTAMP",
    is_time=True,
    literal_hint='like DATE "2026-01-31"',
)
TIMESTAMP = TimestampType(
    "TIMESTAMP",
    python=datetime.datetime,
    arrow_name="timestamp",
    spark_name="TimestampNTZType",
    sqlglot=("TIMESTAMP", "TIMESTAMPNTZ"),
    aliases=("TIMESTAMP_NTZ",),
    refusal=Refusal(
        {"TIMESTAMPLTZ": "TIMESTAMP_LTZ", "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"},
        "a TIMESTAMP has no time zone",
        "use TIMESTAMP; a value that comes with a zone is told in UTC",
    ),
    cast_functions=("timestamp",),
    is_time=True,
    literal_hint='like TIMESTAMP "2026-01-31 12:00:00"',
)
