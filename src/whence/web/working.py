"""Questions to the database, off the event loop: only so many at once, and each for so long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from whence.web.limits import Limits
from whence.web.problems import RefusedError

T = TypeVar("T")


class Workers:
    """Threads that ask the database. One that takes too long is not waited for, but still counts until it is done."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free = threading.BoundedSemaphore(limits.at_once)

    async def run(self, work: Callable[[], T]) -> T:
        if not self._free.acquire(blocking=False):
            raise RefusedError(503, f"{self._limits.at_once} questions are being answered already", "try again later")

        def done() -> T:
            try:
                return work()
            finally:
                self._free.release()

        try:
            with anyio.fail_after(self._limits.seconds):
                return await anyio.to_thread.run_sync(done, abandon_on_cancel=True)
        except TimeoutError:
            raise RefusedError(
                504,
                f"there is no answer after {self._limits.seconds:g} seconds",
                "ask for less, or ask from Python, where nothing stops a long question",
            ) from None
