"""An experiment: lines to compare, and what to run for a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from whence.experiments.measuring import Measure


@dataclass(frozen=True, slots=True)
class Scale:
    """How large an experiment is."""

    nodes: int = 100
    """Nodes of the network that is queried, or sensors of the field; not those that run the query."""
    processors: int = 12
    shares: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    deletions: float = 0.2
    """The largest share of all rows that is deleted, one by one."""
    few_deletions: int = 8
    """Of an experiment with many networks: so many links of each."""
    spark_deletions: int = 3
    sizes: tuple[int, ...] = (50, 100, 150, 200)
    large_sizes: tuple[int, ...] = (100, 200, 400, 1000)
    counts: tuple[int, ...] = (1, 4, 8, 12, 16, 24)


FULL = Scale()
QUICK = Scale(
    nodes=25,
    processors=3,
    shares=(0.5, 1.0),
    deletions=0.05,
    few_deletions=2,
    spark_deletions=1,
    sizes=(25,),
    large_sizes=(25, 50),
    counts=(1, 3),
)


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    options: Mapping[str, Any]


# The points of a line, from the left, as they come out.
Curve: TypeAlias = Iterator[tuple[float, Measure]]


@dataclass(frozen=True, slots=True)
class Figure:
    """`run` measures a line for a seed."""

    name: str
    title: str
    x_label: str
    lines: Sequence[Line]
    xs: Callable[[Scale], Sequence[float]]
    run: Callable[[Scale, Line, int], Curve]
    ticks: Mapping[float, str] = field(default_factory=dict)
    """What an x stands for, if it is not a number."""
    logarithmic: bool = False


DRED = Line("DRed", {"provenance": "none", "ship": "direct"})
RELATIVE_LAZY = Line("Relative Lazy", {"provenance": "relative", "ship": "lazy"})
ABSORPTION_EAGER = Line("Absorption Eager", {"provenance": "absorption", "ship": "eager", "order": "depth-first"})
ABSORPTION_LAZY = Line("Absorption Lazy", {"provenance": "absorption", "ship": "lazy", "order": "depth-first"})
SCHEMES = (DRED, RELATIVE_LAZY, ABSORPTION_EAGER, ABSORPTION_LAZY)
