"""How the cost of a delete grows: with the size of the view, and with the number of tuples it touches."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import duck
from benchmarks.harness import Report, Stopwatch, kind_of_touch, main, taking_turns, touched
from benchmarks.reachable import (
    IN_DUCKDB,
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
    nodes: int = 250
    doublings: int = 3
    changes: int = 60


def run(sizes: Sizes) -> Report:
    nodes = [sizes.nodes << doubling for doubling in range(sizes.doublings + 1)]
    report = Report(
        "growth",
        "How the cost of a delete grows",
        f"All reachable pairs of transit-stub networks of {', '.join(f'{n:,}' for n in nodes)} nodes. In each, "
        f"{sizes.changes} random links go and come back, one commit each; DuckDB, with two threads, recomputes the "
        f"view and counts its rows.",
    )
    warm_up()
    deleting, recomputing, cloud, commits = [], [], [], []
    for count in nodes:
        links = network(count)
        deletes, inserts = Stopwatch(), Stopwatch()
        with in_whence() as ours, in_duckdb(links) as theirs:
            pairs = ours.insert("link", links).inserted["reachable"]
            recompute = duck.Recompute(theirs, IN_DUCKDB)
            commits = change_one_by_one(ours, taking_turns(some(links, sizes.changes), recompute), deletes, inserts)
            check_after_losing(ours, theirs, some(links, 3))
        report.compare(f"delete one link, {pairs:,} pairs", deletes.timing, duck.NAME, recompute.timing)
        deleting.append((float(pairs), deletes.timing.median))
        recomputing.append((float(pairs), recompute.timing.median))
        cloud = [(touched(commit), seconds) for commit, seconds in zip(commits, deletes.seconds, strict=True)]
    report.curve("whence, one link deleted", "pairs in the view", "seconds", deleting)
    report.curve("DuckDB, view recomputed", "pairs in the view", "seconds", recomputing)
    report.curve("one link deleted, each", kind_of_touch(commits[0]), "seconds", cloud)
    return report


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=25, doublings=1, changes=5))
