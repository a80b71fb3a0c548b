"""Runs an experiment: every point several times, from different seeds, as long as it does not take too long."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev

from whence.errors import UnknownNameError, did_you_mean
from whence.experiments.catalog import FIGURES
from whence.experiments.figure import Figure, Scale
from whence.experiments.measuring import MEASURES, Measure

# Student's t for 95 % confidence, by the number of runs less one; with many it is that of a normal distribution.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
NORMAL = 1.96


@dataclass(frozen=True, slots=True)
class Point:
    """All runs of a line at an x. Without any, they did not come to an end in time."""

    line: str
    x: float
    runs: Sequence[Measure]

    def mean(self, measure: str) -> float:
        return mean(self._values(measure)) if self.runs else math.nan

    def _values(self, measure: str) -> list[float]:
        return [asdict(run)[measure] for run in self.runs]

    def interval(self, measure: str) -> float:
        """How far the mean may be off, with a confidence of 95 %."""
        if len(self.runs) < 2:
            return 0.0
        freedom = len(self.runs) - 1
        student = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NORMAL
        return student * stdev(self._values(measure)) / math.sqrt(len(self.runs))


def figure_named(name: str) -> Figure:
    if name not in FIGURES:
        hint = did_you_mean(name, FIGURES) or f"there is {', '.join(FIGURES)}"
        raise UnknownNameError(f"there is no experiment {name!r}", hint=hint)
    return FIGURES[name]


def run_figure(
    figure: Figure, scale: Scale, runs: int, seconds: float, tell: Callable[[str], object]
) -> Iterator[Point]:
    """`seconds` is how long a run may take. Where a line did not come to an end, larger x are not tried."""
    for number, line in enumerate(figure.lines):
        for x in figure.xs(scale):
            tell(f"{figure.name}: {line.name} at {x:g}")
            point = Point(line.name, x, list(_measures(figure, scale, number, x, runs, seconds)))
            yield point
            if not point.runs:
                break


def _measures(figure: Figure, scale: Scale, line: int, x: float, runs: int, seconds: float) -> Iterator[Measure]:
    """Each run in a process of its own: what does not come to an end can be stopped at any point of it."""
    for seed in range(1, runs + 1):
        task = json.dumps({"figure": figure.name, "line": line, "x": x, "seed": seed, "scale": asdict(scale)})
        try:
            done = subprocess.run(  # noqa: S603 - this very program, in the Python that runs it
                [sys.executable, "-m", "whence.experiments.point", task],
                capture_output=True,
                check=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return
        yield Measure(**json.loads(done.stdout))


def write_csv(points: Sequence[Point], path: Path) -> None:
    """A row for every run; a line that did not come to an end has one without measures."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["line", "x", "run", *MEASURES])
        for point in points:
            for number, run in enumerate(point.runs, 1):
                writer.writerow(
                    [point.line, f"{point.x:g}", number, *(f"{value:.6g}" for value in asdict(run).values())]
                )
            if not point.runs:
                writer.writerow([point.line, f"{point.x:g}", "not finished", *([""] * len(MEASURES))])
