"""Reachability in whence and in Pathway, a streaming engine that maintains recursive views too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.harness import ROOT, SCRATCH, Report, SkippedError, Stopwatch, Timing, main
from benchmarks.reachable import Link, change_one_by_one, in_whence, network, some, warm_up

PATHWAY = "pathway>=0.33,<0.34"
ENVIRONMENT = SCRATCH / "pathway"
PROGRAM = "benchmarks.pathway_program"


@dataclass(frozen=True)
class Sizes:
    nodes: int = 500
    changes: int = 20
    runs: int = 5


@dataclass(frozen=True)
class Measured:
    """What one run of the program in Pathway's environment found."""

    build: float
    deletes: Sequence[float]
    inserts: Sequence[float]
    pairs: int


def run(sizes: Sizes) -> Report:
    links = network(sizes.nodes)
    report = Report(
        "against_pathway",
        "Which nodes reach which: whence and Pathway",
        f"Both keep all reachable pairs of a transit-stub network of {sizes.nodes} nodes and {len(links):,} directed "
        f"links. Pathway, with its one worker, iterates the same join to its fixpoint. {sizes.changes} random "
        f"links go and come back one at a time, and each change is waited for until all of its effects are out.",
    )
    python = install()
    changed = some(links, sizes.changes)
    theirs = [in_pathway(python, links, changed if turn == 0 else []) for turn in range(sizes.runs)]
    warm_up()
    build, deletes, inserts = Stopwatch(), Stopwatch(), Stopwatch()
    for _ in range(sizes.runs):
        with in_whence() as another, build:
            another.insert("link", links)
    with in_whence() as ours:
        ours.insert("link", links)
        change_one_by_one(ours, changed, deletes, inserts)
        pairs = len(ours.rows("reachable"))
    if {pairs} != {each.pairs for each in theirs}:
        raise SystemExit(f"Pathway finds {theirs[0].pairs} pairs, whence {pairs}")
    report.figure("reachable pairs", pairs, "rows")
    report.compare("build the view", build.timing, "Pathway", Timing([each.build for each in theirs]))
    report.compare("delete one link", deletes.timing, "Pathway", Timing(theirs[0].deletes))
    report.compare("insert one link", inserts.timing, "Pathway", Timing(theirs[0].inserts))
    return report


def install() -> str:
    """The Python of an environment with Pathway in it, made on first use: it brings more than a gigabyte along."""
    python = str(ENVIRONMENT / "bin" / "python")
    steps = (
        [sys.executable, "-m", "venv", str(ENVIRONMENT)],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PATHWAY],
    )
    for step in [] if (ENVIRONMENT / "complete").exists() else steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)  # noqa: S603 - the commands above
        if done.returncode:
            raise SkippedError(f"{PATHWAY} cannot be installed: {last_line(done.stderr or done.stdout)}")
    (ENVIRONMENT / "complete").touch()
    return python


def in_pathway(python: str, links: Sequence[Link], changed: Sequence[Link]) -> Measured:
    done = subprocess.run(  # noqa: S603 - a module of this package
        [python, "-m", PROGRAM],
        cwd=ROOT,
        input=json.dumps({"links": links, "changed": changed}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SkippedError(f"Pathway does not run here: {last_line(done.stderr)}")
    return Measured(**json.loads(done.stdout))


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=25, changes=5))
