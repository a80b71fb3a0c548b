"""What whoever runs an experiment decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from whence.experiments.figure import Scale


@dataclass(frozen=True, slots=True)
class Settings:
    scale: Scale
    runs: int
    seconds: float
    """How long a run may work until it counts as endless."""
    output: Path
    """The directory for what is written."""
    tell: Callable[[str], object]
    """Gets to hear how it goes."""
