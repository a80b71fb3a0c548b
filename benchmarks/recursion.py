"""Recursive programs of all the kinds that are compiled, against the general strategy and DuckDB; and large deletes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import duckdb
import pyarrow as pa

from benchmarks import duck
from benchmarks.harness import Report, Stopwatch, main
from benchmarks.reachable import IN_DUCKDB, in_duckdb, in_whence, network, some
from whence.database.database import Database
from whence.engines.local.engine import LocalEngine
from whence.incremental.recursive.absorption import Absorption
from whence.model.types import Row
from whence.session.session import Session

GENERAL = "the general strategy"
SHARES = (0.01, 0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Sizes:
    nodes: int = 60
    large: int = 1000
    changes: int = 20
    runs: int = 5


@dataclass(frozen=True)
class Kind:
    """A program over `road(src, dst, cost)` and `closed(node)`, and the same as a query of DuckDB, if it has one."""

    name: str
    rules: str
    query: str = ""


TABLES = """
    CREATE TABLE road(src STRING NOT NULL, dst STRING NOT NULL, cost INT NOT NULL, PRIMARY KEY (src, dst));
    CREATE TABLE closed(node STRING NOT NULL)
"""
KINDS = (
    Kind(
        "negation, over strings",
        """way(x, y) :- road(x, y, _), !closed(y).
        way(x, y) :- way(x, z), road(z, y, _), !closed(y).""",
        """WITH RECURSIVE way(src, dst) AS (
          SELECT src, dst FROM road WHERE dst NOT IN (SELECT node FROM closed)
          UNION SELECT w.src, r.dst FROM way w JOIN road r ON r.src = w.dst
          WHERE r.dst NOT IN (SELECT node FROM closed)) SELECT src, dst FROM way""",
    ),
    Kind(
        "min in a rule that meets itself",
        """way(x, y, min<c>) :- road(x, y, c).
        way(x, y, min<c + d>) :- way(x, z, c), way(z, y, d).""",
        """WITH RECURSIVE way(src, dst, cost) USING KEY (src, dst) AS (
          SELECT src, dst, cost FROM road UNION
          SELECT r.src, w.dst, min(r.cost + w.cost) FROM road r JOIN way w ON r.dst = w.src
            LEFT JOIN recurring.way known ON known.src = r.src AND known.dst = w.dst
          WHERE known.cost IS NULL OR r.cost + w.cost < known.cost GROUP BY r.src, w.dst)
        SELECT src, dst, cost FROM way""",
    ),
    Kind(
        "min and max in one head",
        """way(x, y, min<c>, max<c>) :- road(x, y, c).
        way(x, y, min<c + d>, max<least(c, m)>) :- road(x, z, c), way(z, y, d, m).""",
    ),
    Kind(
        "computed heads",
        """way(x, x, 0, upper(x)) :- road(x, _, _).
        way(x, y, n + 1, concat(substr(s, 0, 2), upper(y))) :- way(x, z, n, s), road(z, y, _), n < 3.""",
        """WITH RECURSIVE way(src, dst, steps, text) AS (
          SELECT src, src, 0, upper(src) FROM road UNION
          SELECT w.src, r.dst, w.steps + 1, substr(w.text, 1, 2) || upper(r.dst)
          FROM way w JOIN road r ON r.src = w.dst WHERE w.steps < 3) SELECT * FROM way""",
    ),
)


def run(sizes: Sizes) -> Report:
    report = Report(
        "recursion",
        "Kinds of recursion",
        f"Over the links of a transit-stub network of {sizes.nodes:,} nodes with names, some of them closed. Each "
        f"program is loaded at once, and {sizes.changes} links go and come back one by one. {GENERAL.capitalize()} "
        "does the same without kernels; DuckDB computes the query again. Then a part of the links of a network of "
        f"{sizes.large:,} nodes goes at once, under all reachable pairs, against DuckDB computing over the rest.",
    )
    for kind in KINDS:
        _kind(report, kind, sizes)
    for share in SHARES:
        _large(report, share, sizes)
    return report


def _roads(nodes: int) -> tuple[list[Row], list[Row]]:
    chance = Random(3)  # noqa: S311 - chance is not a secret here
    roads: list[Row] = [(f"n{source}", f"n{target}", chance.randint(1, 9)) for source, target in network(nodes)]
    return roads, [(f"n{chance.randrange(nodes)}",) for _ in range(nodes // 20)]


def _opened(kind: Kind, closed: Sequence[Row], *, general: bool = False) -> Database:
    engine = LocalEngine("general", strategies={"general": Absorption}) if general else LocalEngine()
    db = Database(Session(engine))
    db.execute(TABLES)
    db.insert("closed", closed)
    db.rules(kind.rules)
    return db


def _kind(report: Report, kind: Kind, sizes: Sizes) -> None:
    roads, closed = _roads(sizes.nodes)
    changed = Random(5).sample(roads, sizes.changes)  # noqa: S311 - chance is not a secret here
    watches = {general: (Stopwatch(), Stopwatch(), Stopwatch()) for general in (False, True)}
    found = {}
    for general, (load, deletes, inserts) in watches.items():
        for turn in range(sizes.runs):
            with _opened(kind, closed, general=general) as db:
                with load:
                    db.insert("road", roads)
                for road in changed if turn == 0 else ():
                    with deletes:
                        db.delete("road", [road])
                    with inserts:
                        db.insert("road", [road])
                found[general] = db.rows("way")
    if found[False] != found[True]:
        raise AssertionError(f"{kind.name}: the strategies differ")
    theirs = None
    if kind.query:
        connection = _in_duckdb(roads, closed)
        if set(connection.execute(kind.query).fetchall()) != found[False]:
            raise AssertionError(f"{kind.name}: DuckDB finds other rows")
        recompute = duck.Recompute(connection, kind.query)
        for _ in range(sizes.runs):
            recompute()
        theirs = recompute.timing
    for at, what in enumerate(("load", "delete one link", "insert one link")):
        ours = watches[False][at].timing
        report.compare(f"{kind.name}: {what}", ours, GENERAL, watches[True][at].timing)
        if theirs is not None:
            report.compare(f"{kind.name}: {what}", ours, duck.NAME, theirs)


def _in_duckdb(roads: Sequence[Row], closed: Sequence[Row]) -> duckdb.DuckDBPyConnection:
    db = duck.connect()
    for table, names, rows in (("road", ["src", "dst", "cost"], roads), ("closed", ["node"], closed)):
        db.register("rows", pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=names))
        db.execute(f"CREATE TABLE {table} AS FROM rows")
        db.unregister("rows")
    return db


def _large(report: Report, share: float, sizes: Sizes) -> None:
    links = network(sizes.large)
    gone = some(links, int(share * len(links)))
    rest = list(set(links) - set(gone))
    deletes, again = Stopwatch(), Stopwatch()
    recompute = duck.Recompute(in_duckdb(rest), IN_DUCKDB)
    for _ in range(sizes.runs):
        recompute()
        with in_whence() as db:
            db.insert("link", links)
            with deletes:
                db.delete("link", gone)
            left = db.rows("reachable")
        with in_whence() as db:
            with again:
                db.insert("link", rest)
            if db.rows("reachable") != left:
                raise AssertionError("what is left is not what follows from the rest")
    what = f"delete {share:.0%} of {len(links):,} links"
    report.compare(what, deletes.timing, "loading the rest", again.timing)
    report.compare(what, deletes.timing, duck.NAME, recompute.timing)


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=40, large=100, changes=10))
