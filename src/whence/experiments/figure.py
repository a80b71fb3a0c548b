"""An experiment: lines to compare, and what to run for each point of a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whence.experiments.measuring import Measure


@dataclass(frozen=True, slots=True)
class Scale:
    """How large an experiment is."""

    nodes: int = 100
    """Nodes of the network that is queried, or sensors of the field; not those that run the query."""
    processors: int = 12
    deletions: float = 0.2
    """The largest share of all rows that is deleted, one by one."""
    shares: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    sizes: tuple[int, ...] = (50, 100, 200)
    counts: tuple[int, ...] = (1, 4, 8, 12, 16, 24)


FULL = Scale()
QUICK = Scale(nodes=25, processors=3, deletions=0.05, shares=(0.5, 1.0), sizes=(25,), counts=(1, 3))


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """`run` measures one point: a line, an x and a seed."""

    name: str
    title: str
    x_label: str
    lines: Sequence[Line]
    xs: Callable[[Scale], Sequence[float]]
    run: Callable[[Scale, Line, float, int], Measure]


DRED = Line("DRed", {"provenance": "none", "ship": "direct"})
RELATIVE_LAZY = Line("Relative Lazy", {"provenance": "relative", "ship": "lazy"})
ABSORPTION_EAGER = Line("Absorption Eager", {"provenance": "absorption", "ship": "eager", "order": "depth-first"})
ABSORPTION_LAZY = Line("Absorption Lazy", {"provenance": "absorption", "ship": "lazy", "order": "depth-first"})
SCHEMES = (DRED, RELATIVE_LAZY, ABSORPTION_EAGER, ABSORPTION_LAZY)
