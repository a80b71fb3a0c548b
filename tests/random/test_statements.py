"""Random DELETE, UPDATE, MERGE and INSERT ... SELECT do the same on the local engine as on the reference engine, and
the answer to their queries leaves no trace.
"""

# ruff: noqa: SLF001 - what is kept behind all that is shown has no public form
from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

import whence
from tests.random.expressions import Expressions, Ref, kind_of
from tests.random.outputs import Output
from tests.random.queries import Demand, Queries
from tests.random.sql_programs import SqlProgram, random_program
from tests.random.tables import Table, literal
from tests.random.tally import seeds
from whence.engines.local import engine as local_engine
from whence.incremental.store import LazyStore
from whence.lang.sql.parse import parse_sql
from whence.model.program import ChangeRows, DeleteWhere, InsertQuery
from whence.model.types import Row, Value
from whence.session.answers import answer

PROGRAMS, CHUNK, STATEMENTS = 80, 20, 6


@pytest.fixture(autouse=True)
def border(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other one has everything in columns, from the first row on."""
    number = next((request.getfixturevalue(name) for name in ("start", "seed") if name in request.fixturenames), 0)
    if number // (CHUNK if "start" in request.fixturenames else 1) % 2:
        monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", 0)


class Twins:
    """The same database on both engines."""

    def __init__(self, script: str) -> None:
        self.local, self.reference = whence.connect(), whence.connect(engine="reference")
        for db in self.both:
            db.execute(script)

    @property
    def both(self) -> tuple[whence.Database, whence.Database]:
        return self.local, self.reference

    def execute(self, text: str) -> str:
        """The same happens to both, or the same is said. Returns what it was."""
        answers = [self._answered(db, text) for db in self.both]
        assert answers[0] == answers[1], text
        before = kept(self.local)
        outcomes = [self._outcome(db, text) for db in self.both]
        assert outcomes[0] == outcomes[1], text
        if outcomes[0] != "done":
            assert kept(self.local) == before
        assert contents(self.local) == contents(self.reference), text
        return outcomes[0]

    def _answered(self, db: whence.Database, text: str) -> object:
        """The rows of the statement's query, which only looks."""
        try:
            (statement,) = parse_sql(text, db.catalog())
            assert isinstance(statement, ChangeRows | DeleteWhere | InsertQuery)
            before = kept(db)
            try:
                return dict(answer(db._session, statement.query))
            finally:
                assert kept(db) == before
        except whence.WhenceError as error:
            return type(error)

    def _outcome(self, db: whence.Database, text: str) -> str:
        try:
            db.execute(text)
        except whence.WhenceError as error:
            return type(error).__name__
        return "done"


def kept(db: whence.Database) -> dict[str, object]:
    """The indexes of all stores, and what else an answer could leave behind."""
    engine: Any = db._session.engine
    stores = getattr(engine, "_stores", {})
    found: dict[str, object] = {name: sorted(store.indexes) for name, store in stores.items()}
    looked_at = {n: s.is_read for n, s in stores.items() if isinstance(s, LazyStore)}
    return {**found, "looked at": looked_at, "version": db.version, "metrics": engine.metrics()["components"]}


def contents(db: whence.Database) -> dict[str, Counter[Row]]:
    names = sorted(db.catalog().relations)
    return {name: Counter(tuple(row.values()) for row in db.table(name).to_pylist()) for name in names}


class Statements:
    def __init__(self, rng: Random, program: SqlProgram) -> None:
        self.rng = rng
        self.tables = program.tables
        sources = {t.name: [Output(c.name, kind_of(c.type), plain=True) for c in t.columns] for t in self.tables}
        self.queries = Queries(rng, sources, {t.name: t.key for t in self.tables})

    def make(self) -> str:
        table = self.rng.choice(self.tables)
        kind = self.rng.choices((self.delete, self.update, self.merge, self.insert), (2, 3, 3, 3))[0]
        return kind(table)

    def delete(self, table: Table) -> str:
        return f"DELETE FROM {table.name} WHERE {self.condition(table)}"

    def update(self, table: Table) -> str:
        chosen = self.rng.sample(table.columns, self.rng.randint(1, len(table.columns)))
        if self.rng.random() < 0.7:
            chosen = [column for column in chosen if column.name not in table.key] or chosen
        expressions = self.expressions(table)
        values = [f"{c.name} = {self.value(expressions, c.type)}" for c in chosen]
        return f"UPDATE {table.name} SET {', '.join(values)} WHERE {self.condition(table)}"

    def merge(self, table: Table) -> str:
        other = self.rng.choice(self.tables)
        source = [Ref(f"src.{c.name}", kind_of(c.type), plain=True) for c in other.columns]
        both = [*(Ref(f"tgt.{c.name}", kind_of(c.type), plain=True) for c in table.columns), *source]
        pairs = [(a, b) for a in table.columns for b in other.columns if kind_of(a.type) == kind_of(b.type)]
        pairs = self.rng.sample(pairs, min(len(pairs), self.rng.randint(1, 2)))
        on = [f"tgt.{a.name} = src.{b.name}" for a, b in pairs]
        if not on or self.rng.random() < 0.2:
            on.append(Expressions(self.rng, both).condition(1))
        seen = Expressions(self.rng, both, self.queries.subquery)
        new = Expressions(self.rng, source, self.queries.subquery)
        chosen = self.rng.sample(table.columns, self.rng.randint(1, len(table.columns)))
        chosen = [column for column in chosen if column.name not in table.key] or chosen
        update = f"UPDATE SET {', '.join(f'{c.name} = {self.value(seen, c.type)}' for c in chosen)}"
        names = ", ".join(c.name for c in table.columns)
        insert = f"({names}) VALUES ({', '.join(self.value(new, c.type) for c in table.columns)})"
        whens = [
            f"WHEN MATCHED AND {seen.condition(1)} THEN {self.rng.choice((update, 'DELETE'))}",
            f"WHEN MATCHED THEN {self.rng.choice((update, 'DELETE'))}",
            f"WHEN NOT MATCHED AND {new.condition(1)} THEN INSERT {insert}",
        ]
        whens = [when for when in whens if self.rng.random() < 0.6] or whens[1:2]
        return f"MERGE INTO {table.name} tgt USING {other.name} src ON {' AND '.join(on)} {' '.join(whens)}"

    def upserts(self) -> list[tuple[str, list[Row]]]:
        """Rows that are there, mixed with each other, for tables with a key."""
        found = []
        for table in self.tables:
            if table.key and table.rows and self.rng.random() < 0.3:
                chosen = [self.rng.choices(table.rows, k=len(table.columns)) for _ in range(self.rng.randint(1, 4))]
                found.append((table.name, [tuple(row[at] for at, row in enumerate(rows)) for rows in chosen]))
        return found

    def value(self, expressions: Expressions, kind: str) -> str:
        """The expression's own type may be wider than that of its column."""
        return f"CAST({expressions.make(kind_of(kind), self.rng.choice((0, 1, 2)))} AS {kind})"

    def condition(self, table: Table) -> str:
        if self.rng.random() < 0.3 and table.rows:
            row = self.rng.choice(table.rows)
            by = self.rng.sample(range(len(row)), self.rng.randint(1, len(row)))
            if table.key and self.rng.random() < 0.7:
                by = [at for at, column in enumerate(table.columns) if column.name in table.key]
            texts = [f"{table.columns[at].name} = {_constant(row[at], table.columns[at].type)}" for at in by]
            return " AND ".join(texts)
        return self.expressions(table).condition(self.rng.choice((1, 2, 3)))

    def expressions(self, table: Table) -> Expressions:
        scope = [Ref(f"{table.name}.{c.name}", kind_of(c.type), plain=True) for c in table.columns]
        return Expressions(self.rng, scope, self.queries.subquery)

    def insert(self, table: Table) -> str:
        query = self.queries.query(self.rng.choice((1, 2)), Demand([kind_of(c.type) for c in table.columns]))
        # The query's own types may be wider, and a key may be taken: what does not fit, both refuse.
        casts = ", ".join(
            f"CAST(q.{o.name} AS {c.type}) AS {o.name}" for o, c in zip(query.outputs, table.columns, strict=True)
        )
        return f"INSERT INTO {table.name} SELECT {casts} FROM ({query.text}) q"


def _constant(value: Value, kind: str) -> str:
    return f"CAST(NULL AS {kind})" if value is None else literal(value)


@pytest.mark.parametrize("start", range(0, PROGRAMS, CHUNK))
def test_random_statements(start: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in seeds(5, start, start + CHUNK):
        rng, program = Random(seed), random_program(seed)
        try:
            twins = Twins(program.script)
        except whence.UnsupportedError:
            continue
        for table in program.tables:
            for db in twins.both:
                db.insert(table.name, list(table.rows))
        statements = Statements(rng, program)
        for _ in range(STATEMENTS):
            text = statements.make()
            for name, rows in statements.upserts():
                for db in twins.both:
                    db.upsert(name, rows)
            try:
                outcomes[twins.execute(text)] += 1
            except Exception as error:
                error.add_note(f"seed {seed}: {text}\n{program.script}")
                raise
    assert outcomes["done"] > STATEMENTS * CHUNK // 3, outcomes


RECURSIVE = """
CREATE TABLE e(x INT, y INT, PRIMARY KEY (x, y));
CREATE TABLE w(x INT, y INT, c INT);
CREATE TABLE pair(x INT, y INT);
CREATE VIEW reach AS WITH RECURSIVE r(x, y) AS (SELECT x, y FROM e UNION SELECT r.x, e.y FROM r JOIN e ON r.y = e.x)
  SELECT x, y FROM r;
CREATE VIEW degree AS SELECT x, count(*) AS n, max(y) AS top FROM reach GROUP BY x;
"""
_CLOSURE = "WITH RECURSIVE r(x, y) AS (SELECT x, y FROM e UNION SELECT r.x, e.y FROM r JOIN e ON r.y = e.x)"
RECURSIVE_STATEMENTS = (
    f"INSERT INTO pair {_CLOSURE} SELECT x, y FROM r WHERE x < y",
    f"INSERT INTO w {_CLOSURE} SELECT x, y, x + y FROM r",
    f"DELETE FROM pair WHERE x IN ({_CLOSURE} SELECT y FROM r)",
    "DELETE FROM pair WHERE EXISTS (SELECT 1 FROM reach WHERE reach.x = pair.y AND reach.y = pair.x)",
    "DELETE FROM e WHERE x IN (SELECT x FROM degree WHERE n > 3)",
    "DELETE FROM e WHERE x = 2 AND y = 1",
    "DELETE FROM e WHERE y = 3",
    "DELETE FROM e WHERE NOT EXISTS (SELECT 1 FROM e b WHERE b.x = e.y)",
    "DELETE FROM w WHERE c >= (SELECT avg(n) FROM degree)",
    "INSERT INTO e SELECT DISTINCT y, x FROM pair p WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.x = p.y AND e.y = p.x)",
    "INSERT INTO pair SELECT CAST(n AS INT), top FROM degree",
)


@pytest.mark.parametrize("seed", range(4))
def test_recursive_queries_and_views(seed: int) -> None:
    rng = Random(seed)
    twins = Twins(RECURSIVE)
    for _ in range(12):
        rows = {(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randint(1, 4))}
        for db in twins.both:
            db.insert("e", sorted(rows - db.rows("e")))
        twins.execute(rng.choice(RECURSIVE_STATEMENTS))


def test_all_statements_of_the_recursive_program() -> None:
    twins = Twins(RECURSIVE)
    for db in twins.both:
        db.insert("e", [(1, 2), (2, 1), (2, 3), (3, 4)])
        db.insert("w", [(1, 1, 2), (1, 2, None), (1, 2, None)])
    assert [twins.execute(text) for text in RECURSIVE_STATEMENTS] == ["done"] * len(RECURSIVE_STATEMENTS)
