"""Compiling every kernel beforehand, so that nobody waits for one later."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from whence.columns.kernel_cache import are_compiled, cache_folder, note_compiled
from whence.engines.local.compilation import COLUMNS, FOREST, alone, use_at_once

# What numba had not written to its end when it was killed, so long ago that it is not about to.
_SECONDS_UNTIL_FORGOTTEN = 3600

# Takes a line about what happens.
Tell: TypeAlias = Callable[[str], object]


def warm_up(tell: Tell, *, is_patient: bool = True) -> None:
    """Compile what is not compiled yet, and say so step by step.

    Where another process does that already, wait for it, or leave it to that one.
    """
    if all(map(are_compiled, (FOREST, COLUMNS))):
        tell("all kernels are compiled already")
        return
    begun = time.monotonic()
    with alone(is_patient=False) as is_alone:
        if is_alone:
            _compile(tell)
    if not is_alone and is_patient:
        tell("another process compiles the kernels: waiting for it")
        with alone(is_patient=True):
            _compile(tell)
    if is_alone or is_patient:
        tell(f"all kernels are compiled, after {time.monotonic() - begun:.0f} s")


def _compile(tell: Tell) -> None:
    missing = [kernels for kernels in (FOREST, COLUMNS) if not are_compiled(kernels)]
    if not missing:
        return
    for kernels in missing:
        _forget_drafts(kernels)
        use_at_once(kernels)
    # What compiles takes a while to load, and meanwhile there is nothing to see.
    tell("compiling the kernels, once after an installation")
    from whence.engines.local.practice import STEPS

    steps = [step for step in STEPS if step.kernels in missing]
    for number, step in enumerate(steps, 1):
        tell(f"{number} of {len(steps)}: {step.words}")
        step.run()
        if step.kernels not in {later.kernels for later in steps[number:]}:
            note_compiled(step.kernels)


def _forget_drafts(kernels: Path) -> None:
    folder = cache_folder(kernels)
    for draft in [] if folder is None else [*folder.glob("*.nb?.tmp.*"), *folder.glob("kernels.*.draft")]:
        with suppress(OSError):
            if draft.stat().st_mtime < time.time() - _SECONDS_UNTIL_FORGOTTEN:
                draft.unlink()
