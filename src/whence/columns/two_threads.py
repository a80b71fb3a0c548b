"""Work on many rows in two threads, where it only reads what both of them share."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

# To start a thread takes as long as some hundred lookups.
LEAST_SHARED = 4_096


def in_two_threads(work: Callable[[int, int], object], length: int) -> None:
    """Do work that lies between two numbers, each half of it in a thread; it must let go of Python's lock."""
    if length < LEAST_SHARED:
        work(0, length)
        return
    half = length // 2
    errors: list[BaseException] = []

    def work_on_first() -> None:
        try:
            work(0, half)
        except BaseException as error:  # noqa: BLE001 - it is raised by whoever waits
            errors.append(error)

    thread = Thread(target=work_on_first)
    thread.start()
    try:
        work(half, length)
    finally:
        thread.join()
    if errors:
        raise errors[0]
