"""What is decided when an experiment is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from whence.lab.network import Network
from whence.lab.network.wire import Traffic
from whence.model.types import Row


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


@dataclass(frozen=True, slots=True)
class Measure:
    """The four quantities of the papers: bytes of an annotation, and per node that runs the query the megabytes it
    sent, those it holds, and the seconds it worked.
    """

    provenance: float
    communication: float
    state: float
    seconds: float


MEASURES = {
    "provenance": "provenance per tuple (B)",
    "communication": "communication per node (MB)",
    "state": "state per node (MB)",
    "seconds": "time per node (s)",
}
MEGABYTE = 1e6


def parts(rows: Sequence[Row], shares: Iterable[float]) -> Iterator[tuple[float, Sequence[Row]]]:
    """The rows in parts, each of which ends at one of these shares of all; no part is empty."""
    done = 0
    for share in shares:
        end = max(done + 1, round(share * len(rows)))
        yield share, rows[done:end]
        done = end


class Meter:
    """Adds up what changes cost. Time is that of the processor: the machine may have other things to do."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._traffic = Traffic()
        self._seconds = 0.0

    def insert(self, relation: str, rows: Iterable[Row]) -> None:
        """All rows at once."""
        started = time.process_time()
        self._traffic += self._network.insert(relation, list(rows))
        self._seconds += time.process_time() - started

    def delete(self, relation: str, rows: Iterable[Row]) -> None:
        """One row after the other."""
        started = time.process_time()
        for row in rows:
            self._traffic += self._network.delete(relation, [row])
        self._seconds += time.process_time() - started

    def measure(self) -> Measure:
        states = self._network.state_bytes()
        nodes = len(states)
        return Measure(
            self._network.provenance_bytes(),
            self._traffic.bytes / nodes / MEGABYTE,
            sum(states.values()) / nodes / MEGABYTE,
            self._seconds / nodes,
        )


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
    views: int = 24
    """Of a program whose definitions change."""
    changes: tuple[int, ...] = (1, 2, 4, 8, 16, 24, 32, 64, 128)
    """Of those definitions, at once."""


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
    views=6,
    changes=(1, 8),
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
