"""Time, as the database knows it: always UTC, without saying so, like every TIMESTAMP."""

from __future__ import annotations

import datetime

from whence.errors import DataError, StateError
from whence.functions.text import timestamp_text
from whence.functions.values import check_value
from whence.model.schema import Column
from whence.model.types import TIMESTAMP


class Clock:
    """Event time is what the user advanced to. Until the first advance the wall clock stands in for it, but nothing
    expires, because only `advance` says that time has passed.
    """

    def __init__(self) -> None:
        self.event: datetime.datetime | None = None

    @property
    def now(self) -> datetime.datetime:
        return self.event or wall_clock().replace(tzinfo=None)

    def has_passed(self, moment: datetime.datetime | None) -> bool:
        return moment is not None and self.event is not None and moment <= self.event

    def read(self, moment: object) -> datetime.datetime:
        """A time to advance to: a datetime, a date or their text; not before the current time."""
        try:
            time = check_value(moment, Column("time", TIMESTAMP, nullable=False))
        except DataError as error:
            raise DataError(
                f"advance takes a time: {error.message}", hint="write it like '2026-01-31 12:00:00'"
            ) from None
        if not isinstance(time, datetime.datetime):
            raise DataError(f"advance takes a time, not {moment!r}")
        if self.event is not None and time < self.event:
            raise StateError(
                f"time does not go backwards: it is {timestamp_text(self.event)} already, "
                f"and {timestamp_text(time)} is before that"
            )
        return time


def wall_clock() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
