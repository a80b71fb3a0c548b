"""How long a view takes to define, with more and more of them there already."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import whence
from benchmarks.harness import Report, Stopwatch, main

TABLE = "CREATE TABLE t(k INT, g INT, v INT, PRIMARY KEY (k))"


@dataclass(frozen=True)
class Sizes:
    views: int = 100
    doublings: int = 4


def run(sizes: Sizes) -> Report:
    counts = [sizes.views << doubling for doubling in range(sizes.doublings + 1)]
    report = Report(
        "definitions",
        "Many views",
        f"One table of ten rows and {', '.join(f'{n:,}' for n in counts)} views, each a statement and a commit of its "
        f"own: in a chain, each over the one before it; in a star, all over the table; and mixed, with joins and "
        f"subqueries over both. The last {sizes.views:,} views of each count, with all others there, are compared with "
        f"the first {sizes.views:,}; then in a directory.",
    )
    _define(SHAPES["mixed"], sizes.views, None)
    with tempfile.TemporaryDirectory() as directory:
        for shape, view in SHAPES.items():
            _measure(report, shape, view, counts, None)
        _measure(report, "mixed, in a directory", SHAPES["mixed"], counts, Path(directory))
    return report


def _measure(report: Report, what: str, view: Callable[[int], str], counts: list[int], directory: Path | None) -> None:
    before = time.process_time()
    watch = _define(view, counts[-1], directory)
    processor = time.process_time() - before
    step, seconds = counts[0], watch.seconds
    first = Stopwatch()
    first.seconds = seconds[:step]
    points: list[tuple[float, float]] = []
    for count in counts:
        last = Stopwatch()
        last.seconds = seconds[count - step : count]
        points.append((float(count), last.timing.median))
        if count > step:
            report.compare(f"{what}: a view, of {count:,}", last.timing, f"of {step:,}", first.timing)
    report.figure(f"{what}: {counts[-1]:,} views", sum(seconds), "s")
    report.figure(f"{what}: {counts[-1]:,} views, time of the processor alone", processor, "s")
    report.curve(what, "views", "seconds per view", points)


def _define(view: Callable[[int], str], count: int, directory: Path | None) -> Stopwatch:
    watch = Stopwatch()
    with whence.connect(directory) as db:
        db.execute(TABLE)
        db.insert("t", [(number, number % 3, number) for number in range(10)])
        for number in range(count):
            with watch:
                db.execute(f"CREATE MATERIALIZED VIEW v{number} AS {view(number)}")
    return watch


def _chain(number: int) -> str:
    below = f"v{number - 1}" if number else "t"
    return f"SELECT k, g, v + 1 AS v FROM {below} WHERE v > {number % 5}"


def _star(number: int) -> str:
    return f"SELECT g, sum(v) AS v FROM t WHERE k <> {number} GROUP BY g"


def _mixed(number: int) -> str:
    plain = number - number % 3
    match number % 3:
        case 0:
            below = "t" if plain < 9 else f"v{plain // 9 * 9 - 9}"
            return f"SELECT k, g, v + 1 AS v FROM {below} WHERE v > {number % 5}"
        case 1:
            return f"SELECT a.g, count(*) AS n FROM t a JOIN v{plain} b ON a.k = b.k GROUP BY a.g"
    return f"SELECT k, g, v FROM t WHERE k IN (SELECT k FROM v{plain} WHERE v > {number % 5})"


SHAPES: Mapping[str, Callable[[int], str]] = {"chain": _chain, "star": _star, "mixed": _mixed}


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(views=10, doublings=2))
