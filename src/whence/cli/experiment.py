"""`whence experiment`: the papers' figures, run again."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from whence.errors import UnsupportedError


def add_experiment(commands: Any) -> None:
    command = commands.add_parser(
        "experiment",
        help="run the papers' experiments on a network of nodes",
        description="Runs an experiment, or all of them, and writes what came out as CSV, and as a picture.",
    )
    command.add_argument(
        "name",
        metavar="NAME",
        help="figure7 ... figure14, figure17, growth-inserts, growth-deletes, eager, spark, "
        "adaptation-figure5 ... adaptation-figure12, or all",
    )
    command.add_argument("--quick", action="store_true", help="a small network, once: to see that everything runs")
    command.add_argument("--runs", type=int, default=3, help="how often to run each point (default: %(default)s)")
    command.add_argument(
        "--seconds",
        type=float,
        help="how long a run may work until it counts as endless (default: 60, or 5 if quick)",
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
    # Before an experiment has run for hours, and cannot draw what came out.
    if find_spec("matplotlib") is None:
        raise UnsupportedError("experiments need matplotlib, which is not installed", hint="pip install 'whence[lab]'")
    from whence.lab.experiments.commands import commands_named
    from whence.lab.experiments.figure import FULL, QUICK, Settings

    commands = commands_named(options.name)
    scale, runs = (QUICK, 1) if options.quick else (FULL, options.runs)
    options.output.mkdir(parents=True, exist_ok=True)
    seconds = options.seconds or (5 if options.quick else 60)
    settings = Settings(scale, runs, seconds, options.output, lambda told: sys.stderr.write(f"{told}\n"))
    for command in commands:
        for path in command(settings):
            sys.stdout.write(f"{path}\n")
