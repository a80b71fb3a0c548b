"""Cheapest paths between all pairs of nodes, the path itself included, while the cost of links changes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

import duckdb

import whence
from benchmarks import duck
from benchmarks.harness import Report, Stopwatch, main, taking_turns
from whence.model.types import Row
from whence.workloads.transit_stub import Link, TransitStub, transit_stub_links

TABLE = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, cost INT NOT NULL, PRIMARY KEY (src, dst))"

# Among cheapest paths the one whose next node has the smallest number: one path for each pair.
VIEWS = """
    cheapest(x, y, min<c>) :- link(x, y, c).
    cheapest(x, y, min<c + d>) :- link(x, z, c), cheapest(z, y, d), x != y.

    via(x, y, min<y>) :- link(x, y, c), cheapest(x, y, c).
    via(x, y, min<z>) :- link(x, z, c), cheapest(z, y, d), cheapest(x, y, c + d).

    path(x, y, cat(to_string(x), ".", to_string(y))) :- via(x, y, y).
    path(x, y, cat(to_string(x), ".", p)) :- via(x, y, z), z != y, path(z, y, p).
"""

# What earlier rounds found is called `recurring`; DuckDB takes any of the cheapest paths.
IN_DUCKDB = """
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


@dataclass(frozen=True)
class Sizes:
    nodes: int = 300
    changes: int = 50
    runs: int = 5


def run(sizes: Sizes) -> Report:
    links = transit_stub_links(TransitStub.of_size(sizes.nodes))
    report = Report(
        "shortest_paths",
        "Cheapest paths, while the cost of links changes",
        f"A transit-stub network of {sizes.nodes} nodes and {len(links):,} directed links. whence keeps the cost of "
        f"the cheapest path of each pair of nodes, and the path; DuckDB recomputes both with WITH RECURSIVE ... "
        f"USING KEY and two threads. "
        f"{sizes.changes} random links become three times as expensive and then as cheap as before, one commit "
        f"each.",
    )
    with in_whence() as small:
        small.insert("link", transit_stub_links(TransitStub.of_size(25)))
    build, dearer, cheaper = Stopwatch(), Stopwatch(), Stopwatch()
    theirs = duck.connect()
    duck.fill(theirs, "link", "src dst cost", links)
    recompute = duck.Recompute(theirs, IN_DUCKDB)
    for _ in range(sizes.runs - 1):
        recompute()
        with in_whence() as another, build:
            another.insert("link", links)
    ours = in_whence()
    with build:
        ours.insert("link", links)

    rng = Random(2)  # noqa: S311 - chance is not a secret here
    chosen = rng.choices(links, k=sizes.changes)
    for source, target, cost in taking_turns(chosen, recompute):
        with dearer:
            change_cost(ours, source, target, cost, 3 * cost)
        with cheaper:
            change_cost(ours, source, target, 3 * cost, cost)
    check(ours, theirs, chosen[0])
    report.figure("pairs with a cheapest path", len(ours.rows("cheapest")), "rows")
    report.compare("build the views", build.timing, duck.NAME, recompute.timing)
    report.compare("a link becomes dearer", dearer.timing, duck.NAME, recompute.timing)
    report.compare("a link becomes cheaper", cheaper.timing, duck.NAME, recompute.timing)
    ours.close()
    return report


def in_whence() -> whence.Database:
    db = whence.connect()
    db.execute(TABLE)
    db.rules(VIEWS)
    return db


def change_cost(db: whence.Database, source: int, target: int, before: int, after: int) -> None:
    with db.batch() as batch:
        batch.delete("link", [(source, target, before)])
        batch.insert("link", [(source, target, after)])


def check(ours: whence.Database, theirs: duckdb.DuckDBPyConnection, link: Link) -> None:
    """After one more change both have the same costs, and each path costs what it is said to."""
    source, target, cost = link
    change_cost(ours, source, target, cost, 5 * cost)
    theirs.execute(f"UPDATE link SET cost = {5 * cost} WHERE src = {source} AND dst = {target}")
    duck.check_same_rows(ours, "cheapest", theirs, f"SELECT src, dst, cost FROM ({IN_DUCKDB})")
    costs = dict(theirs.execute("SELECT (src, dst), cost FROM link").fetchall())
    walked: set[Row] = set()
    for start, end, path in ours.rows("path"):
        nodes = [int(node) for node in str(path).split(".")]
        walked.add((start, end, sum(costs[step] for step in pairwise(nodes))))
    if walked != ours.rows("cheapest"):
        raise SystemExit("some paths are not the cheapest")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=25, changes=5))
