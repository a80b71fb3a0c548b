"""Random programs mean the same to whence and to DuckDB, NULLs and duplicates included.

The seed is in every failure and in the last line of the test run. WHENCE_RANDOM_SEED gives other programs,
WHENCE_RANDOM_PROGRAMS more of them, WHENCE_RANDOM_MAINTAINED more of those whose tables change.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import duckdb
import pytest

import whence
from tests.random.datalog_oracle import contents as meaning
from tests.random.datalog_programs import random_datalog
from tests.random.duck import Duck
from tests.random.maintenance import Changes, commit, counts
from tests.random.run import BEYOND_DUCKDB, REFUSED, SAME, check, compare, explained, load, shown
from tests.random.run_datalog import check_datalog, shown_datalog
from tests.random.sql_programs import SqlProgram, random_program
from tests.random.tables import Table
from tests.random.tally import OUTCOMES, PROGRAMS, seeds
from whence.engines.local import engine as local_engine
from whence.errors import UnsupportedError
from whence.incremental.columnar import counting

CHUNK = 100
SQL, DATALOG = PROGRAMS * 3 // 4, PROGRAMS // 4
MAINTAINED = int(os.environ.get("WHENCE_RANDOM_MAINTAINED", str(PROGRAMS // 25)))
# The share of programs that one of the systems may refuse.
FEW = 0.02


# From how many rows on everything is kept in columns: always, soon, and as it is without this.
BORDERS = (0, 6, local_engine.ROWS_IN_COLUMNS)


@pytest.fixture(autouse=True)
def border(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one for each chunk. Where that is cheaper, views are computed again even for few rows."""
    if "start" in request.fixturenames:
        chunk = request.getfixturevalue("start") // (request.getfixturevalue("stop") - request.getfixturevalue("start"))
        monkeypatch.setattr(local_engine, "ROWS_IN_COLUMNS", BORDERS[chunk % len(BORDERS)])
        monkeypatch.setattr(counting, "LEAST_RECOMPUTED", 0)


def chunks(programs: int, size: int = CHUNK) -> list[tuple[int, int]]:
    return [(start, min(start + size, programs)) for start in range(0, programs, size)]


@pytest.mark.parametrize(("start", "stop"), chunks(SQL))
def test_sql(start: int, stop: int) -> None:
    for seed in seeds(0, start, stop):
        program = random_program(seed)
        try:
            OUTCOMES[f"in SQL {check(program)}"] += 1
        except Exception as error:
            error.add_note(explained(program, error))
            raise


def test_few_are_refused() -> None:
    """Over all chunks before it: in a single one chance would decide."""
    refused = {outcome: OUTCOMES[f"in SQL {outcome}"] for outcome in (SAME, REFUSED, BEYOND_DUCKDB)}
    assert max(refused[REFUSED], refused[BEYOND_DUCKDB]) <= FEW * max(CHUNK, sum(refused.values())), refused


@pytest.mark.parametrize(("start", "stop"), chunks(DATALOG))
def test_datalog(start: int, stop: int) -> None:
    for seed in seeds(1, start, stop):
        program = random_datalog(seed)
        try:
            check_datalog(program)
        except Exception as error:
            error.add_note(shown_datalog(program))
            raise
        OUTCOMES[f"in Datalog {SAME}"] += 1


@pytest.mark.parametrize(("start", "stop"), chunks(MAINTAINED, 20))
def test_maintained_sql(start: int, stop: int) -> None:
    """The views follow their tables, commit by commit."""
    for seed in seeds(2, start, stop):
        program = random_program(seed)
        try:
            follow_sql(program, Random(seed))
        except (UnsupportedError, duckdb.Error):
            # How many these are, test_few_are_refused knows.
            continue
        except Exception as error:
            error.add_note(f"seed {seed}:\n{shown(program)}")
            raise
        OUTCOMES["in SQL maintained"] += 1


def follow_sql(program: SqlProgram, rng: Random) -> None:
    database = whence.connect()
    database.execute(program.script)
    twin = load(program)
    changes = Changes(rng, program.tables)
    for batch in changes.batches(5):
        commit(database, batch)
        refill(twin, changes)
        for view in program.views:
            names = database.catalog().relations[view.name].column_names
            compare(view.name, counts(database, view.name), twin.rows(view.name, names))


def refill(twin: Duck, changes: Changes) -> None:
    for table in changes.tables:
        twin.fill(table.name, changes.current[table.name].elements())


@pytest.mark.parametrize(("start", "stop"), chunks(MAINTAINED // 2, 20))
def test_maintained_datalog(start: int, stop: int) -> None:
    for seed in seeds(3, start, stop):
        program = random_datalog(seed)
        database = whence.connect()
        changes = Changes(Random(seed), program.tables, {t.name for t in program.tables} - program.bags)
        try:
            database.rules(program.text)
            for batch in changes.batches(5):
                commit(database, batch)
                now = [
                    Table(t.name, t.columns, t.key, tuple(changes.current[t.name].elements())) for t in program.tables
                ]
                meant = meaning(program.over(now))
                for relation in (r for group in program.groups for r in group.relations):
                    compare(relation, counts(database, relation), Counter(meant[relation]).elements())
        except Exception as error:
            error.add_note(shown_datalog(program))
            raise
        OUTCOMES["in Datalog maintained"] += 1
