"""The deadline of a question: what takes time looks here now and then, and ends or gives up.

Each thread has its own deadline, and nobody waits for a commit: what has begun to change a database is never given up.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from whence import interrupts
from whence.errors import OutOfTimeError

# Searches end at this part of the time and tell what they have found; anything else gives up at that one. What is left
# is for taking back what was tried, and for telling.
_SEARCH_SHARE = 0.6
_WORK_SHARE = 0.8
# And so much has a search that begins when others have used up their time.
_LATE_SHARE = 0.1


class _Deadline(threading.local):
    """Until when searches go on, until when anything does, and what `check` heeds, on the clock of `time.monotonic`."""

    seconds = math.inf
    searching_until = math.inf
    waits_until = math.inf
    gives_up_at = math.inf


_deadline = _Deadline()


class _TimeIsOver(Exception):  # noqa: N818 - nobody is to see it, and no handler on the way to take it for an answer
    pass


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """What is asked in here has so many seconds. Raises `OutOfTimeError` where that is not enough."""
    now = time.monotonic()
    _deadline.seconds = seconds
    _deadline.searching_until, _deadline.waits_until = now + seconds * _SEARCH_SHARE, now + seconds * _WORK_SHARE
    try:
        yield
    except _TimeIsOver:
        raise OutOfTimeError(f"there is no answer within {seconds:g} seconds", hint="ask for less") from None
    finally:
        _deadline.searching_until = _deadline.waits_until = math.inf


@contextmanager
def may_give_up() -> Iterator[None]:
    """In here `check` gives up when the time is over. It must be possible to leave at each of them."""
    _deadline.gives_up_at = _deadline.waits_until
    try:
        check()
        yield
    finally:
        _deadline.gives_up_at = math.inf


def check() -> None:
    """Leave what may be given up if nobody waits for it any more, or it has been interrupted."""
    interrupts.check()
    end = _deadline.gives_up_at
    if end != math.inf and time.monotonic() > end:
        # Once: what has to be taken back now must not be given up, too.
        _deadline.gives_up_at = math.inf
        raise _TimeIsOver


def end_of_search(seconds: float) -> float:
    """When a search that may take so long has to end, on the clock of `time.monotonic`."""
    now = time.monotonic()
    return now + min(seconds, max(_deadline.searching_until - now, _deadline.seconds * _LATE_SHARE))


def time_left() -> float:
    """For how many seconds a lock may be waited for; -1 if nobody minds."""
    end = _deadline.waits_until
    return -1 if end == math.inf else max(0.0, end - time.monotonic())
