"""Reachability in a large network: build the view, then lose and regain single links."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from benchmarks import duck
from benchmarks.harness import (
    Report,
    Stopwatch,
    changes_view,
    kind_of_touch,
    main,
    resident_bytes,
    taking_turns,
    touched,
)
from benchmarks.reachable import (
    IN_DUCKDB,
    NON_LINEAR,
    change_one_by_one,
    check_after_losing,
    in_duckdb,
    in_whence,
    network,
    some,
    warm_up,
)


@dataclass(frozen=True)
class Sizes:
    nodes: int = 1_000
    changes: int = 100
    non_linear_nodes: int = 250
    non_linear_changes: int = 20
    runs: int = 5


def run(sizes: Sizes) -> Report:
    links = network(sizes.nodes)
    report = Report(
        "reachability_big",
        "Which nodes reach which, while links come and go",
        f"A transit-stub network of {sizes.nodes:,} nodes and {len(links):,} directed links. whence keeps the view "
        f"of all reachable pairs; DuckDB, with two threads, recomputes it with WITH RECURSIVE and counts its rows. "
        f"{sizes.changes} random links go and come back, one commit each. "
        f"The non-linear form joins the view with itself, over {sizes.non_linear_nodes} nodes; there the opponent "
        f"is whence itself, building the view anew.",
    )
    warm_up()
    linear(links, sizes, report)
    non_linear(sizes, report)
    return report


def linear(links: list[tuple[int, int]], sizes: Sizes, report: Report) -> None:
    build, deletes, inserts = Stopwatch(), Stopwatch(), Stopwatch()
    before = resident_bytes()
    ours = in_whence()
    with build:
        built = ours.insert("link", links)
    pairs = built.inserted["reachable"]
    report.figure("reachable pairs", pairs, "rows")
    report.figure("memory, as the process grows", (resident_bytes() - before) / pairs, "bytes per pair")
    if "state_bytes" in built.metrics:
        report.figure("memory, as the engine counts it", built.metrics["state_bytes"] / pairs, "bytes per pair")
    theirs = in_duckdb(links)
    recompute = duck.Recompute(theirs, IN_DUCKDB)
    for _ in range(sizes.runs - 1):
        recompute()
        with in_whence() as another, build:
            another.insert("link", links)
    commits = change_one_by_one(ours, taking_turns(some(links, sizes.changes), recompute), deletes, inserts)
    check_after_losing(ours, theirs, some(links, 3))
    report.compare("build the view", build.timing, duck.NAME, recompute.timing)
    report.compare("delete one link", deletes.timing, duck.NAME, recompute.timing)
    report.compare("insert one link", inserts.timing, duck.NAME, recompute.timing)
    report.figure("touched by a delete, median", statistics.median(map(touched, commits)), kind_of_touch(commits[0]))
    report.figure("deletes that cut off pairs", sum(changes_view(each, "reachable") for each in commits), "links")
    ours.close()


def non_linear(sizes: Sizes, report: Report) -> None:
    links = network(sizes.non_linear_nodes)
    build, deletes, inserts = Stopwatch(), Stopwatch(), Stopwatch()
    for _ in range(sizes.runs - 1):
        with in_whence(NON_LINEAR) as another, build:
            another.insert("link", links)
    with in_whence(NON_LINEAR) as ours:
        with build:
            ours.insert("link", links)
        change_one_by_one(ours, some(links, sizes.non_linear_changes), deletes, inserts)
        check_after_losing(ours, in_duckdb(links), some(links, 3))
    report.compare("non-linear: delete one link", deletes.timing, "whence, building", build.timing)
    report.compare("non-linear: insert one link", inserts.timing, "whence, building", build.timing)


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=50, changes=5, non_linear_nodes=25, non_linear_changes=5))
