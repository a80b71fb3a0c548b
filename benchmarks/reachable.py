"""Which nodes of a network reach which: the view of several benchmarks, in whence and in DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeAlias

import duckdb

import whence
from benchmarks import duck
from benchmarks.harness import Stopwatch
from whence.lab.workloads.transit_stub import TransitStub, transit_stub_links
from whence.model.updates import Commit

LINKS_PER_NODE = 3.0

TABLE = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, PRIMARY KEY (src, dst))"
LINEAR = """
    reachable(x, y) :- link(x, y).
    reachable(x, y) :- link(x, z), reachable(z, y).
"""
NON_LINEAR = """
    reachable(x, y) :- link(x, y).
    reachable(x, y) :- reachable(x, z), reachable(z, y).
"""
IN_DUCKDB = """
    WITH RECURSIVE reachable(src, dst) AS (
      SELECT src, dst FROM link
      UNION
      SELECT l.src, r.dst FROM link l JOIN reachable r ON l.dst = r.src)
    SELECT src, dst FROM reachable
"""

Link: TypeAlias = tuple[int, int]


def network(nodes: int) -> list[Link]:
    """The links of a transit-stub network, three to a node on average."""
    shape = TransitStub.of_size(nodes, links_per_node=LINKS_PER_NODE)
    return [(source, target) for source, target, _ in transit_stub_links(shape)]


def some(links: Sequence[Link], count: int, seed: int = 2) -> list[Link]:
    """Links to change, each at most once while there are enough."""
    rng = Random(seed)  # noqa: S311 - chance is not a secret here
    return rng.sample(links, count) if count <= len(links) else rng.choices(links, k=count)


def in_whence(rules: str = LINEAR, maintenance: str = "auto") -> whence.Database:
    """The view over no links yet."""
    db = whence.connect(maintenance=maintenance)
    db.execute(TABLE)
    db.rules(rules)
    return db


def warm_up() -> None:
    """Loads what a first use loads, so that it is not part of what is measured later."""
    with in_whence() as db:
        db.insert("link", network(25))
        db.delete("link", network(25)[:1])
        db.rows("reachable")


def in_duckdb(links: Sequence[Link]) -> duckdb.DuckDBPyConnection:
    db = duck.connect()
    duck.fill(db, "link", "src dst", links)
    return db


def change_one_by_one(
    db: whence.Database, links: Iterable[Link], deletes: Stopwatch, inserts: Stopwatch
) -> list[Commit]:
    """Each link goes and comes back, in commits of their own. Returns the commits of the deletes."""
    commits = []
    for link in links:
        with deletes:
            commits.append(db.delete("link", [link]))
        with inserts:
            db.insert("link", [link])
    return commits


def check_after_losing(ours: whence.Database, theirs: duckdb.DuckDBPyConnection, links: Sequence[Link]) -> None:
    """Both lose these links for good, and must then agree."""
    ours.delete("link", links)
    for link in links:
        theirs.execute("DELETE FROM link WHERE src = ? AND dst = ?", link)
    duck.check_same_rows(ours, "reachable", theirs, IN_DUCKDB)
