"""What the benchmarks share: a stopwatch, a report that prints and keeps its figures, and the command line.

Times depend on the machine, ratios much less: so everything is compared with a named opponent in the same run.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.table import Table

from whence.engines.local.warmup import warm_up

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from whence.model.updates import Commit

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
# Downloads, other people's environments, and the results of runs at other than full size. Not for version control.
SCRATCH = ROOT / ".bench"
FEWEST_RUNS = 5

Item = TypeVar("Item")
Sizes = TypeVar("Sizes", bound="DataclassInstance")


class SkippedError(Exception):
    """The benchmark cannot run here, and this is why."""


@dataclass(frozen=True)
class Timing:
    """Seconds, one for each run."""

    seconds: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.seconds) < FEWEST_RUNS:
            raise ValueError(f"{len(self.seconds)} runs are too few for a median, {FEWEST_RUNS} will do")

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        return sorted(self.seconds)[math.ceil(len(self.seconds) * 0.95) - 1]


class Stopwatch:
    """Notes how long each `with` block takes."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds.append(time.perf_counter() - self._started)

    @property
    def timing(self) -> Timing:
        return Timing(tuple(self.seconds))


def repeat(work: Callable[[], object], runs: int) -> Timing:
    watch = Stopwatch()
    for _ in range(runs):
        with watch:
            work()
    return watch.timing


def taking_turns(items: Sequence[Item], other: Callable[[], object], turns: int = 10) -> Iterator[Item]:
    """The items, with a call of `other` now and then in between: both sides then see the same moods of the machine."""
    stride = max(1, len(items) // turns)
    for index, item in enumerate(items):
        if index % stride == 0:
            other()
        yield item


@dataclass(frozen=True)
class Comparison:
    """The same work done by whence and by an opponent."""

    what: str
    ours: Timing
    opponent: str
    theirs: Timing

    @property
    def ratio(self) -> float:
        """How many times as long the opponent takes."""
        return self.theirs.median / self.ours.median


@dataclass(frozen=True)
class Figure:
    """A number that has no opponent."""

    what: str
    value: float
    unit: str


@dataclass(frozen=True)
class Series:
    """Points of a curve or a cloud."""

    what: str
    x: str
    y: str
    points: Sequence[tuple[float, float]]


@dataclass
class Report:
    """What one benchmark found. `about` tells a reader what is compared with what."""

    name: str
    title: str
    about: str
    comparisons: list[Comparison] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)

    def compare(self, what: str, ours: Timing, opponent: str, theirs: Timing) -> None:
        self.comparisons.append(Comparison(what, ours, opponent, theirs))

    def figure(self, what: str, value: float, unit: str) -> None:
        self.figures.append(Figure(what, value, unit))

    def curve(self, what: str, x: str, y: str, points: Sequence[tuple[float, float]]) -> None:
        self.series.append(Series(what, x, y, points))


def resident_bytes(process: int | None = None) -> int:
    """What a process, this one if not given, takes of the machine's memory now."""
    gc.collect()
    pages = int(Path(f"/proc/{process or 'self'}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def children() -> list[int]:
    """The processes that this one has started."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """How much y grows with x, by least squares."""
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def changes_view(commit: Commit, view: str) -> bool:
    return view in commit.inserted or view in commit.deleted


def touched(commit: Commit) -> float:
    """How many tuples lost their live derivation, where the engine says so; else how many rows changed."""
    changed = sum(commit.inserted.values()) + sum(commit.deleted.values())
    return float(commit.metrics.get("dead", changed))


def kind_of_touch(commit: Commit) -> str:
    """What `touched` counts in such a commit."""
    return "tuples that lost their live derivation" if "dead" in commit.metrics else "rows that changed"


def main(run: Callable[[Sizes], Report], full: Sizes, quick: Sizes) -> None:
    """The command line of a benchmark: `--quick`, and an option for each of its sizes."""
    parser = argparse.ArgumentParser(description=sys.modules[run.__module__].__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    for each in dataclasses.fields(full):
        kind = type(getattr(full, each.name))
        default = f"{getattr(full, each.name)}, quick {getattr(quick, each.name)}"
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=kind, metavar="N", help=f"default {default}")
    given = vars(parser.parse_args())
    is_quick = given.pop("quick")
    sizes = quick if is_quick else full
    sizes = dataclasses.replace(sizes, **{name: value for name, value in given.items() if value is not None})
    name = Path(str(sys.modules[run.__module__].__file__)).stem
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    # What is measured is not how long it takes to compile, nor how fast it goes without that.
    warm_up(lambda line: console.print(line, markup=False))
    try:
        report = run(sizes)
    except SkippedError as reason:
        console.print(f"\n{name} was skipped: {reason}", markup=False)
        return
    show(report, console)
    kept = save(report, sizes, RESULTS if sizes == full and not is_quick else SCRATCH / "results")
    console.print(f"The figures are in {kept.relative_to(ROOT)}.", markup=False)


def show(report: Report, console: Console) -> None:
    console.print(f"\n{report.title}", style="bold", markup=False)
    console.print(report.about, markup=False)
    if report.comparisons:
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        table.add_column("")
        for heading in ("whence, median", "95 %"):
            table.add_column(heading, justify="right")
        table.add_column("opponent")
        for heading in ("median", "95 %", "whence is"):
            table.add_column(heading, justify="right")
        for each in report.comparisons:
            ours, theirs = ([duration(timing.median), duration(timing.p95)] for timing in (each.ours, each.theirs))
            table.add_row(each.what, *ours, each.opponent, *theirs, times_as(each.ratio))
        console.print(table)
    for figure in report.figures:
        console.print(f"{figure.what}: {figure.value:,.6g} {figure.unit}", markup=False)


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def times_as(ratio: float) -> str:
    times = ratio if ratio >= 1 else 1 / ratio
    return f"{three_digits(times)} times {'faster' if ratio >= 1 else 'slower'}"


def three_digits(value: float) -> str:
    """Rounded, and never written with an exponent."""
    return f"{float(f'{value:.3g}'):,.12g}"


def save(report: Report, sizes: DataclassInstance, directory: Path) -> Path:
    """As JSON: what pictures are drawn from."""
    found = {
        "title": report.title,
        "about": report.about,
        "sizes": dataclasses.asdict(sizes),
        "machine": {
            "processors": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            "duckdb": version("duckdb"),
        },
        "comparisons": [
            {
                "what": each.what,
                "opponent": each.opponent,
                "ratio": each.ratio,
                "ours": _numbers(each.ours),
                "theirs": _numbers(each.theirs),
            }
            for each in report.comparisons
        ],
        "figures": [dataclasses.asdict(each) for each in report.figures],
        "series": [dataclasses.asdict(each) for each in report.series],
    }
    directory.mkdir(parents=True, exist_ok=True)
    kept = directory / f"{report.name}.json"
    kept.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    return kept


def _numbers(timing: Timing) -> dict[str, float]:
    return {"runs": len(timing.seconds), "median": timing.median, "p95": timing.p95}
