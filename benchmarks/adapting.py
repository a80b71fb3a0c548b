"""Definitions that change: derived from old contents, computed again by whence, and rebuilt by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

import whence
from benchmarks.harness import Report, Stopwatch, main
from whence.database.database import Database
from whence.lab.workloads.exchange import (
    PRIMITIVES,
    Exchange,
    ExchangeSize,
    MappingRule,
    Primitive,
    apart_name,
    changed,
    exchange,
    source_columns,
)


@dataclass(frozen=True)
class Sizes:
    rows: int = 100_000
    views: int = 24
    sources: int = 16
    runs: int = 5
    changes: int = 24


def run(sizes: Sizes) -> Report:
    size = ExchangeSize(views=sizes.views, sources=sizes.sources, rows=sizes.rows)
    program = exchange(size)
    report = Report(
        "adapting",
        "Definitions that change",
        f"{sizes.views} views of one to four rules over {sizes.sources} sources of {round(sizes.rows * 0.9):,} rows, "
        f"changed as in the workload of Green and Ives (2012): one primitive change at a time, and {sizes.changes} at "
        "once. Compared are the views that differ: derived by whence from what is there, without and with derivations "
        "kept; computed by whence as new views; and rebuilt by DuckDB with CREATE OR REPLACE TABLE ... AS.",
    )
    kinds: dict[str, tuple[Sequence[Primitive], int]] = {each.name: ([each], 1) for each in PRIMITIVES}
    kinds[f"{sizes.changes} changes"] = PRIMITIVES, sizes.changes
    for derivations in ("counted", "kept"):
        db = loaded(program, size, derivations)
        duck = duckdb_of(program, size)
        for name, (chosen, count) in kinds.items():
            _measure(report, f"{name}, derivations {derivations}", db, duck, program, chosen, count, sizes.runs)
    return report


def loaded(program: Exchange, size: ExchangeSize, derivations: str) -> Database:
    db = whence.connect(derivations=derivations)
    db.execute(program.tables())
    for name, attributes in program.sources.items():
        db.insert(name, pa.table(source_columns(size, name, attributes)))
    db.mappings(program.mappings())
    return db


def duckdb_of(program: Exchange, size: ExchangeSize) -> duckdb.DuckDBPyConnection:
    duck = duckdb.connect()
    for name, attributes in program.sources.items():
        rows = pa.table(source_columns(size, name, attributes))  # noqa: F841 - the query reads it by its name
        duck.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
    return duck


def _measure(
    report: Report,
    what: str,
    db: Database,
    duck: duckdb.DuckDBPyConnection,
    program: Exchange,
    kinds: Sequence[Primitive],
    count: int,
    runs: int,
) -> None:
    derived, computed, rebuilt = Stopwatch(), Stopwatch(), Stopwatch()
    for seed in range(runs + 1):
        new = changed(program, count, seed, kinds)
        names = [name for name, rules in new.views.items() if program.views.get(name) != rules]
        watches = (derived, computed, rebuilt) if seed else (Stopwatch(), Stopwatch(), Stopwatch())
        apart = new.apart(names)
        with watches[1]:
            db.mappings(apart.mappings([apart_name(name) for name in names]))
        with db.redefine() as change:
            for name in reversed(names):
                change.drop(apart_name(name))
        with watches[2]:
            for name in names:
                duck.execute(f"CREATE OR REPLACE TABLE {name} AS {query(new.views[name], new)}")
        with watches[0], db.redefine() as change:
            change.mappings(new.mappings(names))
        with db.redefine() as change:
            change.mappings(program.mappings([name for name in names if name in program.views]))
            for name in reversed(names):
                if name not in program.views:
                    change.drop(name)
    report.compare(what, derived.timing, "whence, as new views", computed.timing)
    report.compare(what, derived.timing, "DuckDB", rebuilt.timing)


def query(rules: Sequence[MappingRule], program: Exchange) -> str:
    """The rules of a view as SQL."""
    return " UNION ALL ".join(_select(rule, program) for rule in rules)


def _select(rule: MappingRule, program: Exchange) -> str:
    places: dict[str, str] = {}
    conditions = []
    for number, atom in enumerate(rule.body):
        for at, term in enumerate(atom.terms):
            column = f"q{number}.{_column(program, atom.relation, at)}"
            if term.isdigit():
                conditions.append(f"{column} = {term}")
            elif term in places:
                conditions.append(f"{column} = {places[term]}")
            elif term != "_":
                places[term] = column
    columns = ", ".join(f"{places.get(term, term)} AS c{at}" for at, term in enumerate(rule.head))
    sources = ", ".join(f"{atom.relation} q{number}" for number, atom in enumerate(rule.body))
    return f"SELECT {columns} FROM {sources}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def _column(program: Exchange, relation: str, at: int) -> str:
    return program.sources[relation][at] if relation in program.sources else f"c{at}"


QUICK = Sizes(rows=4_000, views=8, sources=6, changes=8)

if __name__ == "__main__":
    main(run, Sizes(), QUICK)
