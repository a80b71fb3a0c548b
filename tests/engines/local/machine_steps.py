"""How many steps the state machines take, and how many they took. WHENCE_STEPS asks for more."""

from __future__ import annotations

import os
from collections import Counter

from hypothesis import Phase

STEPS = int(os.environ.get("WHENCE_STEPS", "6000"))
# A failure comes with its script, which is cut down much faster by leaving actions out than by drawing other ones.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
TAKEN: Counter[str] = Counter()


def runs(share: float, steps_per_run: int) -> int:
    """How many runs make up a share of all steps."""
    return max(1, round(STEPS * share / steps_per_run))


def summary() -> str:
    each = ", ".join(f"{count:,} {name}" for name, count in sorted(TAKEN.items()))
    return f"state machines: {sum(TAKEN.values()):,} steps ({each})"
