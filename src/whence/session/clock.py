"""Time, as the database knows it: always UTC, without saying so, like every TIMESTAMP."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from whence.errors import DataError, StateError
from whence.functions.text import timestamp_text
from whence.functions.values import check_value
from whence.model.schema import Column
from whence.model.types import TIMESTAMP

# What `advance` takes for the time on the wall.
NOW = "now"


class Tick(NamedTuple):
    """A time that was advanced to, and whether the wall clock said it."""

    time: datetime.datetime
    by_wall: bool


class Clock:
    """The time that has passed is what the user advanced to; only `advance` makes rows expire.

    Rows arrive at the time of the last advance if that was given: event time stands still in between. It is the time
    on the wall if the last advance was to `now`, and before the first: processing time goes on.
    """

    def __init__(self) -> None:
        self.event: datetime.datetime | None = None
        self.by_wall = True

    @property
    def now(self) -> datetime.datetime:
        if self.event is None:
            return _on_the_wall()
        # A wall clock may be set back; time does not follow it.
        return max(self.event, _on_the_wall()) if self.by_wall else self.event

    @property
    def tick(self) -> Tick | None:
        """The last advance."""
        return None if self.event is None else Tick(self.event, self.by_wall)

    def has_passed(self, moment: datetime.datetime | None) -> bool:
        return moment is not None and self.event is not None and moment <= self.event

    def set(self, tick: Tick) -> None:
        self.event, self.by_wall = tick

    def read(self, moment: object) -> Tick:
        """A time to advance to: `now`, a datetime, a date or their text; not before the current time."""
        if isinstance(moment, str) and moment.strip().lower() == NOW:
            return Tick(self._checked(self.now if self.by_wall else _on_the_wall()), by_wall=True)
        return Tick(self._checked(_given(moment)), by_wall=False)

    def _checked(self, time: datetime.datetime) -> datetime.datetime:
        if self.event is not None and time < self.event:
            raise StateError(
                f"time does not go backwards: it is {timestamp_text(self.event)} already, "
                f"and {timestamp_text(time)} is before that"
            )
        return time


def _given(moment: object) -> datetime.datetime:
    try:
        time = check_value(moment, Column("time", TIMESTAMP, nullable=False))
    except DataError as error:
        raise DataError(
            f"advance takes a time: {error.message}", hint="write it like '2026-01-31 12:00:00', or 'now'"
        ) from None
    if not isinstance(time, datetime.datetime):
        raise DataError(f"advance takes a time, not {moment!r}")
    return time


def _on_the_wall() -> datetime.datetime:
    return wall_clock().replace(tzinfo=None)


def wall_clock() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
