"""Where the state machines take their chances, and how many steps. WHENCE_STEPS asks for more."""

from __future__ import annotations

import os
from collections import Counter
from random import Random

from hypothesis import Phase
from hypothesis import strategies as st

STEPS = int(os.environ.get("WHENCE_STEPS", "6000"))
# A failure comes with its script, which is cut down much faster by leaving actions out than by drawing other ones.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
# Of a large range Hypothesis now and then takes a number that it has read in some module which happens to be loaded. It
# leaves small ones alone, so that a test draws the same whether it runs by itself or among all others.
SEEDS = st.tuples(*[st.integers(0, 99)] * 5).map(lambda digits: Random(repr(digits)))
TAKEN: Counter[str] = Counter()


def runs(share: float, steps_per_run: int) -> int:
    """How many runs make up a share of all steps."""
    return max(1, round(STEPS * share / steps_per_run))


def summary() -> str:
    each = ", ".join(f"{count:,} {name}" for name, count in sorted(TAKEN.items()))
    return f"state machines: {sum(TAKEN.values()):,} steps ({each})"
