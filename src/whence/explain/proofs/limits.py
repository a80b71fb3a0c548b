"""How far an answer may go before it says that there is more."""

from __future__ import annotations

import time
from dataclasses import dataclass

from whence.patience import end_of_search

_FEW_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class Limits:
    """`rows` of a view that a question matches and are proved; `members` of a group that are listed; `steps` in all;
    and `seconds`.
    """

    rows: int = 10
    members: int = 1_000
    steps: int = 10_000
    seconds: float = 30.0


class Watch:
    """Tells when a number of steps or a time is over, and remembers that it was."""

    def __init__(self, steps: int, seconds: float) -> None:
        self._steps = steps
        self._stride = 64 if steps > _FEW_STEPS else 1
        self._end = end_of_search(seconds)
        self.is_over = False

    def step(self) -> bool:
        """One step more; whether that is one too many."""
        self._steps -= 1
        # The clock is asked now and then, since it costs as much as a small step. Where steps are few, they are large.
        if self._steps < 0 or (self._steps % self._stride == 0 and time.monotonic() > self._end):
            self.is_over = True
        return self.is_over
