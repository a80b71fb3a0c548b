"""Runs an experiment: every line several times, from different seeds, as long as it does not take too long."""

from __future__ import annotations

import csv
import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import TypeAlias

from whence.experiments.curve import OUT_OF_MEMORY
from whence.experiments.figure import Figure, Scale
from whence.experiments.measuring import MEASURES, Measure

# Student's t for 95 % confidence, by the number of runs less one; with many it is that of a normal distribution.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
NORMAL = 1.96

Points: TypeAlias = list[tuple[float, Measure]]


@dataclass(frozen=True, slots=True)
class Point:
    """All runs of a line up to an x. Without any, none came that far in time."""

    line: str
    x: float
    runs: Sequence[Measure]

    def mean(self, measure: str) -> float:
        return mean(self._values(measure)) if self.runs else math.nan

    def interval(self, measure: str) -> float:
        """How far the mean may be off, with a confidence of 95 %."""
        if len(self.runs) < 2:
            return 0.0
        freedom = len(self.runs) - 1
        student = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NORMAL
        return student * stdev(self._values(measure)) / math.sqrt(len(self.runs))

    def _values(self, measure: str) -> list[float]:
        return [asdict(run)[measure] for run in self.runs]


def run_figure(
    figure: Figure, scale: Scale, runs: int, seconds: float, tell: Callable[[str], object]
) -> Iterator[Point]:
    """`seconds` is how long a run may work. What the first run of a line did not reach, the others do not try."""
    xs = figure.xs(scale)
    for number, line in enumerate(figure.lines):
        curves: list[Points] = []
        for seed in range(1, runs + 1):
            tell(f"{figure.name}: {line.name}, run {seed} of {runs}")
            most = len(curves[0]) if curves else len(xs)
            curves.append(run_curve(figure, scale, number, seed, seconds, most) if most else [])
        for at, x in enumerate(xs):
            yield Point(line.name, x, [curve[at][1] for curve in curves if at < len(curve)])


def run_curve(figure: Figure, scale: Scale, line: int, seed: int, seconds: float, points: int) -> Points:
    """In a process of its own: what does not come to an end can be stopped at any point of it."""
    task = {
        "figure": figure.name,
        "line": line,
        "seed": seed,
        "scale": asdict(scale),
        "seconds": seconds,
        "points": points,
    }
    command = [sys.executable, "-m", "whence.experiments.curve", json.dumps(task)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)  # noqa: S603 - this program, in its own Python
    if done.returncode not in (0, -signal.SIGXCPU, OUT_OF_MEMORY):
        raise subprocess.CalledProcessError(done.returncode, command)
    return [(x, Measure(**measure)) for x, measure in map(json.loads, done.stdout.splitlines())]


def write_csv(points: Sequence[Point], path: Path) -> None:
    """A row for every run; an x that none came to has one without measures."""
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
