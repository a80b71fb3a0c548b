"""Whether questions leave traces: random databases with random histories, and everything that can be seen of them.

What is seen must be the same before and after any questions, and, as far as it follows from the rows of the tables
alone, the same in a database that came to those rows in another way. By command, for as many questions as one likes:

    python -m tests.database.traces --questions 10000
"""

# ruff: noqa: SLF001 - what is kept behind all that is shown has no public form
from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import whence
from whence.engines.local.engine import LocalEngine
from whence.engines.local.forest.layout import ALIVE, DERIVATIONS, LOST, NEGATED, NODES, RELATION, STATUS
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.incremental.recursive.fact_strategy import FactStrategy
from whence.lab.strategies import connect
from whence.model.types import Row

SEMIRINGS = ("boolean", "counting", "why", "how", "lineage", "posbool", "tropical", "viterbi", "security")
MAINTENANCE = ("auto", "auto", "auto", "auto", "dred", "eager", "relative", "recompute")

TABLES = """
CREATE TABLE e(x INT, y INT, PRIMARY KEY (x, y));
CREATE TABLE w(x INT, y INT, c INT NOT NULL, PRIMARY KEY (x, y));
CREATE TABLE s(k INT, v INT);
CREATE TABLE t(k INT, at TIMESTAMP) TBLPROPERTIES ('ttl' = '10 minutes', 'ttl_column' = 'at');
CREATE TABLE n(k INT, v INT) TBLPROPERTIES ('window_rows' = '2', 'window_partition' = 'k');
"""

# Each in the language that says it best; one that reads another comes with it.
VIEWS: Mapping[str, tuple[str, Sequence[str]]] = {
    "linear": ("linear(x, y) :- e(x, y).  linear(x, y) :- e(x, z), linear(z, y).", ()),
    "twice": ("twice(x, y) :- e(x, y).  twice(x, y) :- twice(x, z), twice(z, y).", ()),
    "mixed": ("mixed(x, y) :- e(x, y).  mixed(x, y) :- mixed(x, z), mixed(z, y).  mixed(x, y) :- w(x, y, _).", ()),
    "odd": ("odd(x, y) :- e(x, y).  odd(x, y) :- e(x, z), even(z, y).  even(x, y) :- e(x, z), odd(z, y).", ()),
    "cost": ("cost(x, y, min<c>) :- w(x, y, c).  cost(x, y, min<c>) :- w(x, z, a), cost(z, y, b), c = a + b.", ()),
    "wide": ("wide(x, y, max<c>) :- w(x, y, c).  wide(x, y, max<c>) :- w(x, z, a), wide(z, y, b), c = min(a, b).", ()),
    "steps": ("steps(x, n) :- e(x, _), n = 0.  steps(y, n) :- steps(x, m), e(x, y), m < 3, n = m + 1.", ()),
    "spared": ("spared(x, y) :- e(x, y), !s(x, y).  spared(x, y) :- e(x, z), spared(z, y), !s(z, y).", ()),
    "joined": ("joined(x, y) :- linear(x, z), linear(z, y), x != y.", ("linear",)),
    "far": ("far(x, y) :- linear(x, y), !e(x, y).", ("linear",)),
    "degree": ("CREATE VIEW degree AS SELECT x, count(*) AS n, sum(y) AS total FROM linear GROUP BY x", ("linear",)),
    "pairs": ("CREATE VIEW pairs AS SELECT a.k, b.v FROM s a JOIN s b ON a.v = b.k", ()),
    "either": ("CREATE VIEW either AS SELECT k, v FROM s UNION SELECT x, y FROM e", ()),
    "largest": ("CREATE VIEW largest AS SELECT k, max(v) AS v, min(v) AS u FROM s GROUP BY k", ()),
    "outer_of": ("CREATE VIEW outer_of AS SELECT s.k, e.y FROM s LEFT JOIN e ON s.v = e.x", ()),
    "alive": ("CREATE VIEW alive AS SELECT DISTINCT t.k, s.v FROM t JOIN s ON t.k = s.k", ()),
    "newest": ("CREATE VIEW newest AS SELECT k, avg(v) AS mean FROM n GROUP BY k", ()),
    "without": ("CREATE VIEW without AS SELECT k FROM s WHERE k NOT IN (SELECT x FROM e WHERE x IS NOT NULL)", ()),
    "tests": ("tests(x) :- e(x, _), s(_, _), w(_, _, c), c > 1.", ()),
}
_TABLES = ("e", "w", "s", "t", "n")


def views_of(rng: Random) -> list[str]:
    names: dict[str, None] = {}
    for name in rng.sample(sorted(VIEWS), rng.randint(1, 4)):
        names.update(dict.fromkeys((*VIEWS[name][1], name)))
    return list(names)


def define(db: whence.Database, views: Sequence[str]) -> None:
    db.execute(TABLES)
    for name in views:
        text = VIEWS[name][0]
        (db.execute if text.startswith("CREATE") else db.rules)(text)


def random_row(rng: Random, table: str) -> Row:
    if table == "t":
        return rng.randrange(4), f"2026-01-01 12:{rng.randrange(30):02}:00"
    if table == "w":
        return rng.randrange(4), rng.randrange(4), rng.randrange(5)
    return rng.randrange(4), rng.randrange(4)


def change(db: whence.Database, rng: Random) -> None:
    """A random commit. One that is refused has not happened."""
    with suppress(whence.WhenceError):
        if rng.random() < 0.05:
            db.advance(f"2026-01-01 12:{rng.randrange(35):02}:00")
            return
        with db.batch() as batch:
            for _ in range(rng.choice((1, 1, 1, 3, 8))):
                table = rng.choice(_TABLES)
                known = sorted(db.rows(table), key=repr)
                if known and rng.random() < 0.45:
                    batch.delete(table, [rng.choice(known)])
                else:
                    batch.insert(table, [random_row(rng, table)])


def rebuilt(db: whence.Database, views: Sequence[str], rng: Random, fresh: whence.Database) -> whence.Database:
    """Another database with the rows of this one, which came in another order and in other batches."""
    rows = [(table, row) for table in _TABLES for row, n in contents(db, table).items() for _ in range(n)]
    rng.shuffle(rows)
    define(fresh, views)
    while rows:
        some = rng.randint(1, len(rows))
        with fresh.batch() as batch:
            for table, row in rows[:some]:
                batch.insert(table, [row])
        rows = rows[some:]
    return fresh


# What can be seen


def contents(db: whence.Database, relation: str) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in db.table(relation).to_pylist())


def answered(ask: Callable[[], object]) -> str:
    try:
        return str(ask())
    except whence.StratificationError as error:
        # The example of a row that follows from itself is one of several.
        return str(error).partition(" here")[0]
    except whence.WhenceError as error:
        return f"{type(error).__name__}: {error}"


def what_follows(db: whence.Database, views: Sequence[str]) -> dict[str, object]:
    """All that follows from the rows of the tables: rows, and their annotations."""
    seen: dict[str, object] = {}
    for name in (*_TABLES, *views):
        seen[name] = contents(db, name)
        for semiring in SEMIRINGS if name in views else ():
            seen[f"{name} in {semiring}"] = annotated(db, name, semiring)
    return seen


def annotated(db: whence.Database, view: str, semiring: str) -> object:
    found: list[object] = []
    error = answered(lambda: found.append(dict(db.evaluate(view, semiring))))
    return found[0] if found else error


def everything(db: whence.Database, views: Sequence[str], directory: Path | None) -> dict[str, object]:
    """All that can be seen, and what is kept behind it."""
    seen = what_follows(db, views)
    seen["version"] = db.version
    seen["metrics"] = dict(db._session.engine.metrics())
    for name in (*_TABLES, *views):
        seen[f"changes of {name}"] = db.changes(name).to_pylist()
        seen[f"plan of {name}"] = str(db.explain(name, analyze=True))
        for row in sorted(db.rows(name), key=repr) if name in views and keeps_proofs(db) else ():
            seen[f"why {name}{row}"] = proof(db, name, row)
    seen["records"] = dict(records(db))
    if directory is not None:
        files = sorted(each for each in directory.rglob("*") if each.is_file())
        seen["files"] = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in files}
    return seen


def keeps_proofs(db: whence.Database) -> bool:
    """Others search for a proof when they are asked, and may find any."""
    engine = db._session.engine
    return isinstance(engine, LocalEngine) and engine._maintenance == "auto"


def proof(db: whence.Database, view: str, row: Row) -> str:
    return answered(lambda: db.why(view, asked(db, view, row)))


def asked(db: whence.Database, view: str, row: Row) -> dict[str, object]:
    """By column, since None in a tuple stands for any value."""
    return dict(zip(db.relation(view).column_names, row, strict=True))


def records(db: whence.Database) -> Iterator[tuple[str, object]]:
    """How much is kept for each view."""
    engine: Any = db._session.engine
    if isinstance(engine, LocalEngine):
        for name, choice in engine._of_relation.items():
            maintainer: Any = choice.maintainer
            if isinstance(maintainer, ForestMaintainer):
                counters = maintainer._forest.counters
                nodes = maintainer._forest.nodes[: counters[NODES]]
                # A key that no row has is as absent without a node as with one.
                is_row = maintainer._rules.relations[nodes[:, RELATION], NEGATED] == 0
                yield name, (counters[DERIVATIONS] - counters[LOST], (nodes[is_row, STATUS] & ALIVE).sum())
                maintainer = maintainer.successor
            if isinstance(maintainer, FactStrategy):
                facts = [fact for each in maintainer._records.facts.values() for fact in each.values()]
                below = [fact for each in maintainer._records.below.values() for fact in each.values()]
                yield name, (len(facts), len(below), sum(len(fact.derivations) for fact in facts))


def forest_of(db: whence.Database, view: str) -> ForestMaintainer:
    """The compiled forest that keeps a view."""
    engine = db._session.engine
    choice = engine.choice(view) if isinstance(engine, LocalEngine) else None
    assert choice is not None and isinstance(choice.maintainer, ForestMaintainer)
    return choice.maintainer


def room_used(forest: ForestMaintainer) -> tuple[int, int]:
    """How many nodes and derivations lie in a forest, with those that are gone or lost."""
    return int(forest._forest.counters[NODES]), int(forest._forest.counters[DERIVATIONS])


# Questions


def ask(db: whence.Database, views: Sequence[str], rng: Random) -> str:
    """A random question; returns what it was."""
    view, table = rng.choice(views), rng.choice(_TABLES)
    rows = sorted(db.rows(view), key=repr)
    row = asked(db, view, rng.choice(rows)) if rows and rng.random() < 0.8 else None
    if row is None:
        row = {name: rng.randrange(5) for name in db.relation(view).column_names}
    known = sorted(db.rows(table), key=repr)
    gone = rng.sample(known, min(len(known), rng.randint(0, 3)))
    come = [random_row(rng, table) for _ in range(rng.randint(0, 3))]
    chances = {"e": 0.5, "s": 0.25}
    one = rng.choice(known) if known else random_row(rng, table)
    questions: dict[str, Callable[[], object]] = {
        "why": lambda: str(db.why(view, row)),
        "supports": lambda: db.why(view, row).supports(),
        "formula": lambda: db.why(view, row).formula(),
        "why at": lambda: str(db.why(view, row, version=rng.randint(1, db.version))),
        "what_removed": lambda: str(db.what_removed(view, row)),
        "why_not": lambda: str(db.why_not(view, row)),
        "what_if": lambda: str(db.what_if(delete={table: gone}, insert={table: come})),
        "what_if both": lambda: db.what_if(delete={table: gone}, insert={"e": [random_row(rng, "e")]}).changes,
        "impact": lambda: str(db.impact(table, asked(db, table, one))),
        "critical": lambda: db.critical(view, row),
        "cut": lambda: db.cut(view, row),
        "probability": lambda: db.probability(view, row, chances),
        "evaluate": lambda: db.evaluate(view, rng.choice(SEMIRINGS)),
        "explain": lambda: str(db.explain(view, analyze=rng.random() < 0.5)),
        "query": lambda: db.query(f"SELECT count(*) AS n FROM {view} a, {table} b").to_pylist(),
        "page": lambda: db.page(view) if rng.random() < 0.5 else db.overview(),
        "happened": lambda: db.happened(max(0, db.version - 3)),
    }
    what = rng.choice(sorted(questions))
    return f"{what} {view}{row} {table} -{gone} +{come} {one}: {answered(questions[what])[:100]}"


# Cases


def difference(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return "\n".join(f"{key}\n  {before.get(key)}\n  {after.get(key)}" for key in keys)


def connected(rng: Random, directory: Path | None) -> whence.Database:
    if directory is not None:
        return whence.connect(directory)
    if rng.random() < 0.1:
        return whence.connect(engine="reference")
    return connect(rng.choice(MAINTENANCE))


def check(
    seed: int,
    questions: int,
    directory: Path | None,
    connect: Callable[[Random, Path | None], whence.Database] = connected,
) -> None:
    """Raises AssertionError with what differs. A durable database if there is a directory for it."""
    rng = Random(seed)
    views = views_of(rng)
    with connect(rng, directory) as db:
        define(db, views)
        for _ in range(rng.choice((3, 10, 30))):
            change(db, rng)
        before = everything(db, views, directory)
        told = [ask(db, views, rng) for _ in range(questions)]
        after = everything(db, views, directory)
        if before != after:
            raise AssertionError(f"seed {seed}, {views}\n{difference(before, after)}\n" + "\n".join(told))
        with rebuilt(db, views, rng, whence.connect()) as fresh:
            wanted, found = what_follows(fresh, views), what_follows(db, views)
            if wanted != found:
                raise AssertionError(f"seed {seed}, {views}, built again\n{difference(wanted, found)}")


def run(first: int, questions: int, seconds: float) -> tuple[int, int, list[str]]:
    """As many cases as it takes for so many questions; returns how many of both there were, and the faults."""
    faults: list[str] = []
    started, cases, asked_ = time.monotonic(), 0, 0
    for seed in count(first):
        if asked_ >= questions or time.monotonic() - started > seconds:
            break
        with TemporaryDirectory() as directory:
            try:
                check(seed, 10, Path(directory) / "db" if seed % 5 == 0 else None)
            except AssertionError as error:
                faults.append(str(error))
            except Exception as error:  # noqa: BLE001 - whatever it is, the seed has to be told
                faults.append(f"seed {seed}: {type(error).__name__}: {error}")
        cases, asked_ = cases + 1, asked_ + 10
    return cases, asked_, faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=3600.0)
    given = parser.parse_args()
    started = time.monotonic()
    cases, questions, faults = run(given.first, given.questions, given.seconds)
    for fault in faults:
        sys.stdout.write(f"{fault}\n\n")
    sys.stdout.write(
        f"{cases:,} databases, {questions:,} questions, {time.monotonic() - started:.0f} s, {len(faults)} faults\n"
    )
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
