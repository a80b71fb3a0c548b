"""Questions to the database, off the event loop: only so many at once, and each for so long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from whence.patience import patience
from whence.web.limits import Limits
from whence.web.problems import RefusedError

T = TypeVar("T")


class Workers:
    """Threads that ask the database. Questions end in time by themselves. One that cannot, because it is in the middle
    of a step that takes too long, is not waited for; others find the database busy until that is done.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free = threading.BoundedSemaphore(limits.at_once)

    async def run(self, work: Callable[[], T]) -> T:
        if not self._free.acquire(blocking=False):
            raise RefusedError(503, f"{self._limits.at_once} questions are being answered already", "try again later")
        seconds = self._limits.seconds

        def done() -> T:
            try:
                with patience(seconds):
                    return work()
            finally:
                self._free.release()

        try:
            with anyio.fail_after(seconds):
                return await anyio.to_thread.run_sync(done, abandon_on_cancel=True)
        except TimeoutError:
            raise RefusedError(
                504,
                f"there is no answer within {seconds:g} seconds, and what takes so long cannot be stopped",
                "other questions can be answered when it is done",
            ) from None
