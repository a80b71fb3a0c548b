"""Dates and timestamps written as text, read the way Spark reads them."""

from __future__ import annotations

import datetime
import re

EPOCH = datetime.datetime.combine(datetime.date(1970, 1, 1), datetime.time())

_DATE = r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?"
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?)?"
    r"\s*(?:(?P<utc>Z|UTC)|(?P<sign>[+-])(?P<offset_hours>\d{1,2})(?::?(?P<offset_minutes>\d{2}))?)?"
)
_TIMESTAMP = re.compile(rf"\s*{_DATE}(?:[ T]{_TIME})?\s*", re.ASCII)


def parse_date(text: str) -> datetime.date | None:
    """The date, or None where the text is no date, or a date and a time of day."""
    moment = _read(text, allow_time=False)
    return None if moment is None else moment.date()


def parse_timestamp(text: str) -> datetime.datetime | None:
    """The moment, in UTC where the text names an offset. A date alone is its midnight."""
    return _read(text, allow_time=True)


def midnight(date: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(date, datetime.time())


def _read(text: str, *, allow_time: bool) -> datetime.datetime | None:
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
