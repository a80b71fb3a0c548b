"""What came of the random programs, for the line at the end of a test run."""

from __future__ import annotations

import os
from collections import Counter

SEED = int(os.environ.get("WHENCE_RANDOM_SEED", "20260"))
PROGRAMS = int(os.environ.get("WHENCE_RANDOM_PROGRAMS", "2000"))
OUTCOMES: Counter[str] = Counter()


def seeds(stream: int, start: int, stop: int) -> range:
    """The seeds of programs [start, stop) of a stream; streams and base seeds do not overlap."""
    first = (SEED * 10 + stream) * 10_000_000
    return range(first + start, first + stop)


def summary() -> str:
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(OUTCOMES.items()))
    return f"random programs: WHENCE_RANDOM_SEED={SEED}: {counts}"
