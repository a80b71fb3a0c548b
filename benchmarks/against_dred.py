"""Deletes with provenance against DRed, which deletes too much and derives it again."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import whence
from benchmarks.harness import Report, SkippedError, Stopwatch, kind_of_touch, main, touched
from benchmarks.reachable import change_one_by_one, in_whence, network, some, warm_up
from whence.errors import UnsupportedError


@dataclass(frozen=True)
class Sizes:
    nodes: int = 1_000
    changes: int = 20


def run(sizes: Sizes) -> Report:
    links = network(sizes.nodes)
    report = Report(
        "against_dred",
        "Deleting a link with provenance, and without",
        f"The same engine keeps all reachable pairs of {sizes.nodes:,} nodes in two ways: by default, where each "
        f'pair knows what it rests on, and with maintenance="dred", which deletes every pair that might be gone '
        f"and then finds out which are not. "
        f"{sizes.changes} random links go, one commit each, and come back in between.",
    )
    warm_up()
    with in_whence() as ours, dred() as theirs:
        our_times, their_times = (Stopwatch(), Stopwatch()), (Stopwatch(), Stopwatch())
        our_commits, their_commits = [], []
        ours.insert("link", links)
        theirs.insert("link", links)
        for link in some(links, sizes.changes):
            our_commits += change_one_by_one(ours, [link], *our_times)
            their_commits += change_one_by_one(theirs, [link], *their_times)
        ours.delete("link", some(links, 3))
        theirs.delete("link", some(links, 3))
        if ours.rows("reachable") != theirs.rows("reachable"):
            raise SystemExit("DRed leaves other rows")
    for what, mine, others in zip(("delete one link", "insert one link"), our_times, their_times, strict=True):
        report.compare(what, mine.timing, "DRed", others.timing)
    for name, commits in (("whence", our_commits), ("DRed", their_commits)):
        median = statistics.median(map(touched, commits))
        report.figure(f"touched by a delete in {name}, median", median, kind_of_touch(commits[0]))
    return report


def dred() -> whence.Database:
    try:
        return in_whence(maintenance="dred")
    except UnsupportedError as error:
        raise SkippedError(str(error).splitlines()[0]) from None


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=50, changes=5))
