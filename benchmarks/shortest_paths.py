"""Cheapest paths between all pairs of nodes, the path itself included, while the cost of links changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from statistics import mean, median

import duckdb

import whence
from benchmarks import duck
from benchmarks.harness import Report, Stopwatch, Timing, main, taking_turns
from whence.lab.workloads.transit_stub import Link, TransitStub, transit_stub_links
from whence.model.types import Row
from whence.model.updates import Commit

TABLE = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, cost INT NOT NULL, PRIMARY KEY (src, dst))"
NULLABLE = "CREATE TABLE link(src INT, dst INT, cost INT)"
# One in so many costs is NULL where costs may be.
ONE_NULL_IN = 20

COSTS = """
    cheapest(x, y, min<c>) :- link(x, y, c).
    cheapest(x, y, min<c + d>) :- link(x, z, c), cheapest(z, y, d), x != y.
"""

# Among cheapest paths the one whose next node has the smallest number: one path for each pair.
PATHS = """
    via(x, y, min<y>) :- link(x, y, c), cheapest(x, y, c).
    via(x, y, min<z>) :- link(x, z, c), cheapest(z, y, d), cheapest(x, y, c + d).

    path(x, y, cat(to_string(x), ".", to_string(y))) :- via(x, y, y).
    path(x, y, cat(to_string(x), ".", p)) :- via(x, y, z), z != y, path(z, y, p).
"""

# What earlier rounds found is called `recurring`; DuckDB takes any of the cheapest paths.
COSTS_IN_DUCKDB = """
    WITH RECURSIVE way(src, dst, cost) USING KEY (src, dst) AS (
      SELECT src, dst, cost FROM link
      UNION
      SELECT l.src, w.dst, min(l.cost + w.cost)
      FROM link l JOIN way w ON l.dst = w.src
        LEFT JOIN recurring.way known ON known.src = l.src AND known.dst = w.dst
      WHERE l.src <> w.dst AND (known.cost IS NULL OR l.cost + w.cost < known.cost)
      GROUP BY l.src, w.dst)
    SELECT src, dst, cost FROM way
"""
# A cost that is NULL is known as well, and any other is better.
NULLABLE_IN_DUCKDB = """
    WITH RECURSIVE way(src, dst, cost) USING KEY (src, dst) AS (
      SELECT src, dst, cost FROM maybe
      UNION
      SELECT l.src, w.dst, min(l.cost + w.cost)
      FROM maybe l JOIN way w ON l.dst = w.src
        LEFT JOIN recurring.way known ON known.src = l.src AND known.dst = w.dst
      WHERE l.src <> w.dst AND (known.src IS NULL OR l.cost + w.cost < known.cost
        OR (known.cost IS NULL AND l.cost + w.cost IS NOT NULL))
      GROUP BY l.src, w.dst)
    SELECT src, dst, cost FROM way
"""
PATHS_IN_DUCKDB = """
    WITH RECURSIVE way(src, dst, cost, path) USING KEY (src, dst) AS (
      SELECT src, dst, cost, src || '.' || dst FROM link
      UNION
      SELECT l.src, w.dst, min(l.cost + w.cost), arg_min(l.src || '.' || w.path, l.cost + w.cost)
      FROM link l JOIN way w ON l.dst = w.src
        LEFT JOIN recurring.way known ON known.src = l.src AND known.dst = w.dst
      WHERE l.src <> w.dst AND (known.cost IS NULL OR l.cost + w.cost < known.cost)
      GROUP BY l.src, w.dst)
    SELECT src, dst, cost, path FROM way
"""
COSTS_ALONE, COSTS_AND_PATHS = f"{duck.NAME}, costs alone", f"{duck.NAME}, costs and paths"
WITH_NULL, NOT_NULL = f"{duck.NAME}, costs with NULL", "whence, costs NOT NULL"


STEPS = ("build", "a link becomes dearer", "a link becomes cheaper")


@dataclass(frozen=True)
class Sizes:
    nodes: int = 300
    changes: int = 50
    runs: int = 5


@dataclass
class Watches:
    """One database of whence, under the same changes as the others."""

    rules: str
    table: str = TABLE
    build: Stopwatch = field(default_factory=Stopwatch)
    dearer: Stopwatch = field(default_factory=Stopwatch)
    cheaper: Stopwatch = field(default_factory=Stopwatch)

    @property
    def timings(self) -> tuple[Timing, Timing, Timing]:
        """For each of STEPS."""
        return self.build.timing, self.dearer.timing, self.cheaper.timing


def run(sizes: Sizes) -> Report:
    links = transit_stub_links(TransitStub.of_size(sizes.nodes))
    report = Report(
        "shortest_paths",
        "Cheapest paths, while the cost of links changes",
        f"A transit-stub network of {sizes.nodes} nodes and {len(links):,} directed links. whence keeps the cost of "
        f"the cheapest path of each pair of nodes, and the path; in a second database the cost alone. DuckDB "
        f"recomputes with WITH RECURSIVE ... USING KEY and two threads: the costs, or costs and paths. "
        f"{sizes.changes} random links become three times as expensive and then as cheap as before, one commit "
        f"each. In a third database there is no key, costs may be NULL, and one in {ONE_NULL_IN} is.",
    )
    theirs = duck.connect()
    duck.fill(theirs, "link", "src dst cost", links)
    with_null = [link if at % ONE_NULL_IN else (*link[:2], None) for at, link in enumerate(links)]
    duck.fill(theirs, "maybe", "src dst cost", with_null)
    recompute = {
        COSTS_ALONE: duck.Recompute(theirs, COSTS_IN_DUCKDB),
        COSTS_AND_PATHS: duck.Recompute(theirs, PATHS_IN_DUCKDB),
        WITH_NULL: duck.Recompute(theirs, NULLABLE_IN_DUCKDB),
    }

    def recompute_all() -> None:
        for query in recompute.values():
            query()

    paths, costs, nullable = Watches(COSTS + PATHS), Watches(COSTS), Watches(COSTS, NULLABLE)
    databases: list[tuple[whence.Database, Watches]] = []
    for watches in (paths, costs, nullable):
        rows = with_null if watches is nullable else links
        warm_up(watches)
        for _ in range(sizes.runs - 1):
            recompute_all()
            with in_whence(watches) as another, watches.build:
                another.insert("link", rows)
        ours = in_whence(watches)
        with watches.build:
            ours.insert("link", rows)
        databases.append((ours, watches))

    rng = Random(2)  # noqa: S311 - chance is not a secret here
    chosen = rng.choices([link for link in links if link in with_null], k=sizes.changes)
    changed: list[int] = []
    for source, target, cost in taking_turns(chosen, recompute_all):
        for ours, watches in databases:
            with watches.dearer:
                commit = change_cost(ours, source, target, cost, 3 * cost)
            with watches.cheaper:
                change_cost(ours, source, target, 3 * cost, cost)
            if watches is paths:
                changed.append(commit.inserted.get("path", 0) if commit is not None else 0)
    duck.check_same_rows(databases.pop()[0], "cheapest", theirs, NULLABLE_IN_DUCKDB)
    for ours, watches in databases:
        check(ours, theirs, chosen[0], with_paths=watches is paths)
        theirs.execute("UPDATE link SET cost = ? WHERE src = ? AND dst = ?", [chosen[0][2], *chosen[0][:2]])
    report.figure("pairs with a cheapest path", len(databases[0][0].rows("cheapest")), "rows")
    report.figure("paths that change when a link becomes dearer, median", median(changed), "rows")
    report.figure("the same, mean", mean(changed), "rows")
    report.compare("build costs and paths", paths.build.timing, COSTS_AND_PATHS, recompute[COSTS_AND_PATHS].timing)
    report.compare("build costs", costs.build.timing, COSTS_ALONE, recompute[COSTS_ALONE].timing)
    for opponent in (COSTS_ALONE, COSTS_AND_PATHS):
        timing = recompute[opponent].timing
        report.compare("costs and paths: a link becomes dearer", paths.dearer.timing, opponent, timing)
        report.compare("costs and paths: a link becomes cheaper", paths.cheaper.timing, opponent, timing)
    report.compare("costs: a link becomes dearer", costs.dearer.timing, COSTS_ALONE, recompute[COSTS_ALONE].timing)
    report.compare("costs: a link becomes cheaper", costs.cheaper.timing, COSTS_ALONE, recompute[COSTS_ALONE].timing)
    for opponent, others in ((WITH_NULL, None), (NOT_NULL, costs)):
        timings = [recompute[opponent].timing] * 3 if others is None else list(others.timings)
        for what, ours_, theirs_ in zip(STEPS, nullable.timings, timings, strict=True):
            report.compare(f"costs with NULL: {what}", ours_, opponent, theirs_)
    for ours, _ in databases:
        ours.close()
    return report


def in_whence(watches: Watches) -> whence.Database:
    db = whence.connect()
    db.execute(watches.table)
    db.rules(watches.rules)
    return db


def warm_up(watches: Watches) -> None:
    """Load what is compiled, for inserts and for deletes."""
    links = transit_stub_links(TransitStub.of_size(25))
    with in_whence(watches) as small:
        small.insert("link", links)
        for source, target, cost in links[:10]:
            change_cost(small, source, target, cost, 3 * cost)


def change_cost(db: whence.Database, source: int, target: int, before: int, after: int) -> Commit | None:
    with db.batch() as batch:
        batch.delete("link", [(source, target, before)])
        batch.insert("link", [(source, target, after)])
    return batch.commit


def check(ours: whence.Database, theirs: duckdb.DuckDBPyConnection, link: Link, *, with_paths: bool) -> None:
    """After one more change both have the same costs, and each path costs what it is said to."""
    source, target, cost = link
    change_cost(ours, source, target, cost, 5 * cost)
    theirs.execute(f"UPDATE link SET cost = {5 * cost} WHERE src = {source} AND dst = {target}")
    for query in (COSTS_IN_DUCKDB, f"SELECT src, dst, cost FROM ({PATHS_IN_DUCKDB})"):
        duck.check_same_rows(ours, "cheapest", theirs, query)
    if not with_paths:
        return
    costs = dict(theirs.execute("SELECT (src, dst), cost FROM link").fetchall())
    walked: set[Row] = set()
    for start, end, path in ours.rows("path"):
        nodes = [int(node) for node in str(path).split(".")]
        walked.add((start, end, sum(costs[step] for step in pairwise(nodes))))
    if walked != ours.rows("cheapest"):
        raise SystemExit("some paths are not the cheapest")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=25, changes=5))
