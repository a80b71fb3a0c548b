"""Every row of random programs has a proof, and an independent checker accepts it, whatever the engine keeps."""

from __future__ import annotations

import pytest

import whence
from tests.engines.local.recursive_programs import FUNCTIONS
from tests.explain.proofs.helpers import check, exactly
from tests.explain.proofs.worlds import counted_engine, prove_everything, recursive_engine
from tests.random.sql_programs import random_program
from whence.errors import WhenceError

BLOCK = 10
MOST_ROWS = 30


@pytest.mark.parametrize("first", range(0, 60, 2 * BLOCK))
def test_sql(first: int) -> None:
    for seed in range(first, first + 2 * BLOCK):
        program = random_program(seed)
        with whence.connect() as db:
            try:
                db.execute(program.script)
                for table in program.tables:
                    db.insert(table.name, list(table.rows))
            except WhenceError:
                # A view may refuse some of the values.
                continue
            for view in program.views:
                for row in sorted(db.rows(view.name), key=repr)[:MOST_ROWS]:
                    proof = db.why(view.name, exactly(db, view.name, row))
                    assert proof.complete and str(proof) and proof.json(), f"seed {seed}: {view.query}"
                    check(db, proof)


@pytest.mark.parametrize("maintenance", ["auto", "absorption", "dred", "relative", "recompute"])
@pytest.mark.parametrize("first", range(0, 60, BLOCK))
def test_recursive_programs(first: int, maintenance: str) -> None:
    for seed in range(first, first + BLOCK):
        text, engine, analysis = recursive_engine(seed, maintenance)
        try:
            prove_everything(engine, analysis, FUNCTIONS)
        except Exception as error:
            raise AssertionError(f"seed {seed}:\n{text}") from error


@pytest.mark.parametrize("first", range(0, 120, 4 * BLOCK))
def test_programs_without_recursion(first: int) -> None:
    proved = 0
    for seed in range(first, first + 4 * BLOCK):
        engine, analysis = counted_engine(seed)
        try:
            proved += prove_everything(engine, analysis, {})
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    assert proved > BLOCK


@pytest.mark.parametrize(("seed", "maintenance"), [(1004, "dred"), (1270, "recompute")])
def test_rows_that_held_a_min_or_max_of_before(seed: int, maintenance: str) -> None:
    """Rows without an aggregate that pass on a value which has improved since."""
    _, engine, analysis = recursive_engine(seed, maintenance)
    assert prove_everything(engine, analysis, FUNCTIONS)


@pytest.mark.parametrize("seed", [1065, 1283])
def test_arguments_of_types_that_never_meet(seed: int) -> None:
    engine, analysis = counted_engine(seed)
    assert prove_everything(engine, analysis, {})
