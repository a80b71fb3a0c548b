"""What whence accepts, Spark accepts too, except for what is said otherwise here."""

from __future__ import annotations

import os
import re
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

from tests.lang.mutants.judge import ACCEPTED, judge
from tests.lang.mutants.mutants import mutants
from tests.lang.mutants.spark_opinion import refusal
from tests.lang.mutants.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = 2
CASES = int(os.environ.get("WHENCE_SPARK_MUTANTS", "40"))
# What Spark refuses, by the first words of what it says, and why whence does not.
OWN = {
    "UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE": "a recursion is a set of rows, written with UNION",
    "RECURSIVE_CTE": "a recursion may read itself several times, and through others",
    "INVALID_RECURSIVE_REFERENCE": "min and max may stand in a recursion",
    "Expressions referencing the outer query are not supported": "a subquery may use outer columns in every clause",
    "MIXED_OUTER_LOCAL": "an aggregate of inner and outer columns together is over the inner rows",
}


def test_what_is_accepted(spark: SparkSession) -> None:
    made = mutants(SEED)
    programs = (m for m in map(made, count()) if m.language == "sql" and re.search("view", m.text, re.IGNORECASE))
    for program in islice((p for p in programs if judge(p) == ACCEPTED), CASES):
        said = refusal(spark, program)
        if said is not None and not any(known in said for known in OWN) and not _reads_a_later_query(said, program):
            pytest.fail(f"Spark refuses it: {said}\n{program.tables}\n{program.text}")


def _reads_a_later_query(said: str, program: Text) -> bool:
    """Queries of one WITH RECURSIVE may read each other here, in any order; Spark knows only those before."""
    name = re.search(r"TABLE_OR_VIEW_NOT_FOUND.*?`(\w+)`", said)
    if name is None or not re.search(r"\bWITH\s+RECURSIVE\b", program.text, re.IGNORECASE):
        return False
    return re.search(rf"\b{name[1]}\s*(\([^()]*\))?\s+AS\s*\(", program.text, re.IGNORECASE) is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t ORDER BY zzz",
        "SELECT a FROM t ORDER BY 2",
        "SELECT a FROM t UNION SELECT c FROM u ORDER BY c",
        "SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY b",
        "SELECT a FROM t ORDER BY count(*)",
        "SELECT DISTINCT a FROM t ORDER BY b",
        "WITH x AS (SELECT a FROM t), x AS (SELECT c FROM u) SELECT * FROM x",
        "SELECT a, (SELECT max(t.b) FROM u) AS m FROM t",
        "SELECT t.a FROM t NATURAL JOIN u ON t.a = u.a",
        "SELECT t.a FROM t RIGHT SEMI JOIN u ON t.a = u.a",
    ],
)
def test_refused_here_and_there(spark: SparkSession, query: str) -> None:
    program = Text("sql", f"CREATE VIEW v AS {query}", "CREATE TABLE t(a INT, b INT); CREATE TABLE u(a INT, c INT)")
    assert judge(program) != ACCEPTED
    assert refusal(spark, program) is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a AS x FROM t ORDER BY x, t.b DESC, a + b, 1",
        "SELECT DISTINCT a, b FROM t ORDER BY a + b",
        "(SELECT a FROM t) ORDER BY b",
        "SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY n, a, max(b) - 1",
        "SELECT a FROM t LEFT JOIN u USING (a)",
    ],
)
def test_accepted_here_and_there(spark: SparkSession, query: str) -> None:
    program = Text("sql", f"CREATE VIEW v AS {query}", "CREATE TABLE t(a INT, b INT); CREATE TABLE u(a INT, c INT)")
    assert judge(program) == ACCEPTED
    assert refusal(spark, program) is None
