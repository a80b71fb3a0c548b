"""`whence experiment`: the papers' figures, run again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_experiment(commands: Any) -> None:
    command = commands.add_parser(
        "experiment",
        help="run the papers' experiments on a network of nodes",
        description="Runs an experiment, or all of them, and writes a CSV file and a picture of each.",
    )
    command.add_argument("name", metavar="NAME", help="figure7 ... figure14, figure17, or all")
    command.add_argument("--quick", action="store_true", help="a small network, once: to see that everything runs")
    command.add_argument("--runs", type=int, default=3, help="how often to run each point (default: %(default)s)")
    command.add_argument(
        "--seconds",
        type=float,
        default=60,
        help="how long a run may take until it counts as endless (default: %(default)s)",
    )
    command.add_argument(
        "--output",
        type=Path,
        default=Path("experiments"),
        metavar="DIRECTORY",
        help="where to write (default: %(default)s)",
    )
    command.set_defaults(command=run_experiment)


def run_experiment(options: argparse.Namespace) -> None:
    from whence.experiments.catalog import FIGURES
    from whence.experiments.figure import FULL, QUICK
    from whence.experiments.pictures import draw
    from whence.experiments.running import figure_named, run_figure, write_csv

    figures = list(FIGURES.values()) if options.name == "all" else [figure_named(options.name)]
    scale, runs = (QUICK, 1) if options.quick else (FULL, options.runs)
    options.output.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        points = list(run_figure(figure, scale, runs, options.seconds, lambda told: sys.stderr.write(f"{told}\n")))
        write_csv(points, options.output / f"{figure.name}.csv")
        draw(figure, points, options.output / f"{figure.name}.png")
        sys.stdout.write(f"{options.output / figure.name}.csv\n{options.output / figure.name}.png\n")
