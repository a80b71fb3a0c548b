"""Work for a moment in which nobody asks for anything."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class IdleWork:
    """Runs something in a thread when `seconds` have passed since it was last asked for."""

    def __init__(self, work: Callable[[], None], seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._lock = threading.Lock()
        self._due: float | None = None
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        with self._lock:
            self._due = time.monotonic() + self._seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="whence-idle", daemon=True)
                self._thread.start()

    def cancel(self) -> None:
        """Work that is under way comes to its end."""
        with self._lock:
            self._due = None

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._due is None:
                    self._thread = None
                    return
                left = self._due - time.monotonic()
                if left <= 0:
                    self._due = None
            if left > 0:
                time.sleep(left)
            else:
                self._work()
