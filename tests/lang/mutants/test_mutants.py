"""A thousand programs with slips in them. `python -m tests.lang.mutants.search` judges as many as one likes."""

from __future__ import annotations

import pytest

from tests.lang.mutants.judge import ACCEPTED, FaultError, judge
from tests.lang.mutants.mutants import mutants
from tests.lang.mutants.texts import Text, all_texts

SEED = 1
CASES = 1_000
BATCH = 250


def test_there_are_programs_of_both_languages() -> None:
    languages = [text.language for text in all_texts()]
    assert min(languages.count("sql"), languages.count("datalog")) > 300


@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_slips_are_told_at_their_place(first: int) -> None:
    made = mutants(SEED)
    outcomes = []
    for number in range(first, first + BATCH):
        mutant = made(number)
        try:
            outcomes.append(judge(mutant))
        except FaultError as fault:
            pytest.fail(f"mutant {number} of seed {SEED}: {fault}\n{mutant.tables}\n{mutant.text}")
    # Slips that change nothing of the kind are found where some are accepted.
    assert ACCEPTED in outcomes


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t(n DECIMAL(a, 2))",
        "CREATE TABLE t(n DECIMAL('a', 2))",
        "CREATE TABLE t(a INT); INSERT INTO t; SELECT 1",
        "CREATE VIEW v AS SELECT ceil() AS a, floor() AS b",
        "CREATE TABLE t COMMENT WITH (a INT)",
        "CREATE VIEW v AS SELECT * FROM ",
        "CREATE TABLE t(a IN INT)",
        "CREATE TABLE t(a INT, b INT GENERATED ALWAYS AS (+a))",
        "CREATE TABLE t(a INT, b INT AS (+a))",
        "CREATE TABLE t(a INT CHECK (+ > 1))",
        "CREATE TABLE t(a INT, CHECK (+a))",
        "CREATE DEFAULT MATERIALIZED VIEW v AS SELECT 1 AS a",
        "CREATE TABLE t x = y. (x INT)",
        "CREATE TABLE t(a INT) TBLPROPERTIES (x. = y)",
        "CREATE TABLE t(a INT) TBLPROPERTIES (x = ``)",
    ],
)
def test_found(text: str) -> None:
    assert judge(Text("sql", text)) != ACCEPTED
