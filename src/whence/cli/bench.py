"""`whence bench`: what a change of each table costs a program on this machine."""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator

from whence.cli.output import amount
from whence.cli.run import Commands, add_command
from whence.cli.targets import add_target, opened
from whence.database.database import Database
from whence.errors import DataError

# Commits of each kind, unless told.
COMMITS = 20
EXAMPLES = """\
examples:
  whence bench network.sql
  whence bench state/ --commits 100
"""


def add_bench(commands: Commands) -> None:
    words = (
        "Takes rows of each table away and puts them back, one in a commit, and tells how long that takes with all "
        "views following. Nothing is kept of it."
    )
    command = add_command(commands, "bench", "measure what a change of each table costs", words, EXAMPLES)
    add_target(command)
    command.add_argument("--commits", type=int, default=COMMITS, metavar="N", help=f"rows of each table ({COMMITS})")
    command.set_defaults(command=run_bench)


def run_bench(options: argparse.Namespace) -> None:
    started = time.perf_counter()
    with opened(options.target, options.changes) as db:
        sys.stdout.write(f"loaded in {1000 * (time.perf_counter() - started):,.0f} ms\n")
        for line in measured(db, max(1, options.commits)):
            sys.stdout.write(f"{line}\n")


def measured(db: Database, commits: int) -> Iterator[str]:
    """A line for each table. Rows are chosen by chance, the same ones every time."""
    for glance in db.overview().relations:
        if glance.is_view:
            continue
        name = glance.relation.name
        rows = sorted(db.rows(name), key=repr)
        if not rows:
            yield f"{name}: no rows"
            continue
        gone: list[float] = []
        back: list[float] = []
        changed: list[int] = []
        refused = None
        chooser = random.Random(1)  # noqa: S311 - no secret: the same rows every time
        for row in chooser.sample(rows, min(commits, len(rows))):
            try:
                commit = db.delete(name, [row])
            except DataError as error:
                refused = error.message
                continue
            gone.append(commit.elapsed)
            changed.append(int(commit.metrics["rows_out"]))
            back.append(db.insert(name, [row]).elapsed)
        if not gone:
            yield f"{name}: {amount(len(rows), 'row')}, none of which can go: {refused}"
            continue
        yield (
            f"{name}: {amount(len(rows), 'row')}; one goes in {_milliseconds(gone)} and comes back in "
            f"{_milliseconds(back)}, and {statistics.median(changed):g} rows of views change (median of {len(gone)})"
        )


def _milliseconds(seconds: list[float]) -> str:
    return f"{1000 * statistics.median(seconds):.3g} ms"
