"""Runs an experiment: every line several times, from different seeds, as long as it does not take too long.

Every run is a process of its own: `python -m whence.lab.experiments.runner TASK`.
"""

from __future__ import annotations

import csv
import gc
import json
import math
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import mean, stdev
from typing import TypeAlias

from whence.lab.experiments.catalog import FIGURES, network_of
from whence.lab.experiments.figure import ABSORPTION_LAZY, MEASURES, Figure, Measure, Scale

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
    command = [sys.executable, "-m", "whence.lab.experiments.runner", json.dumps(task)]
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


# What needs more bytes than this comes to no end either, and this is how the process says so.
MOST_MEMORY = 12 << 30
OUT_OF_MEMORY = 3


def main(task: str) -> None:
    """The task is JSON, and so is every line that is written: an x and its measure."""
    given = json.loads(task)
    figure = FIGURES[given["figure"]]
    warm_up()
    limit_processor_time(given["seconds"])
    limit_memory()
    # As timeit does: else those with more state pay for looking through it.
    gc.disable()
    curve = figure.run(Scale(**given["scale"]), figure.lines[given["line"]], given["seed"])
    try:
        for x, measure in islice(curve, given["points"]):
            sys.stdout.write(json.dumps([x, asdict(measure)]) + "\n")
            sys.stdout.flush()
    except MemoryError:
        # In the table it is not told from one that ran out of time.
        sys.stderr.write(f"{figure.name}: stopped at {MOST_MEMORY >> 30} GB of memory, and not by time\n")
        sys.exit(OUT_OF_MEMORY)


def warm_up() -> None:
    """Compile kernels, or fetch them from disk: what is measured first would pay for it."""
    network = network_of(ABSORPTION_LAZY, 2)
    network.insert("link", [(1, 2), (2, 1), (2, 3)])
    network.delete("link", [(1, 2)])


def limit_processor_time(seconds: float) -> None:
    """The process ends when it has worked for so long from now on."""
    limit = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


if __name__ == "__main__":
    main(sys.argv[1])
