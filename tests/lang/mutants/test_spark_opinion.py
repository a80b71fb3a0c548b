"""What whence accepts, Spark accepts too, except for what is said otherwise here."""

from __future__ import annotations

import os
import re
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import ParseException
from sqlglot import exp

from tests.lang.mutants.judge import ACCEPTED, judge
from tests.lang.mutants.mutants import mutants
from tests.lang.mutants.spark_opinion import refusal, temporary
from tests.lang.mutants.texts import Text
from whence.lang.sql.dialect import statements
from whence.model.span import SourceText

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = int(os.environ.get("WHENCE_SPARK_MUTANT_SEED", "2"))
CASES = int(os.environ.get("WHENCE_SPARK_MUTANTS", "40"))
# What Spark refuses, by the first words of what it says, and why whence does not.
OWN = {
    "UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE": "a recursion is a set of rows, written with UNION",
    "RECURSIVE_CTE": "a recursion may read itself several times, and through others",
    "INVALID_RECURSIVE_REFERENCE": "min and max may stand in a recursion",
    "Expressions referencing the outer query are not supported": "a subquery may use outer columns in every clause",
    "ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED": "a subquery may use outer columns in every clause",
    "MIXED_OUTER_LOCAL": "an aggregate of inner and outer columns together is over the inner rows",
    "COLUMN_ALREADY_EXISTS": "a column without a name is called _c1, and not as it is written",
    'cannot cast "TIMESTAMP_NTZ" to': "a TIMESTAMP has no zone, and is a number of seconds as one in UTC",
}


def test_what_is_accepted(spark: SparkSession) -> None:
    made = mutants(SEED)
    programs = (m for m in map(made, count()) if m.language == "sql" and re.search("view", m.text, re.IGNORECASE))
    for program in islice((p for p in programs if judge(p) == ACCEPTED), CASES):
        said = refusal(spark, program)
        if said is not None and not is_own(said, program):
            pytest.fail(f"Spark refuses it: {said}\n{program.tables}\n{program.text}")


def is_own(said: str, program: Text) -> bool:
    """Whether Spark refuses the program for what whence takes on purpose."""
    return any(known in said for known in OWN) or _reads_a_later_query(said, program) or _reads_far_out(said, program)


def _reads_a_later_query(said: str, program: Text) -> bool:
    """Queries of one WITH RECURSIVE may read each other here, in any order; Spark knows only those before."""
    name = re.search(r"TABLE_OR_VIEW_NOT_FOUND.*?`(\w+)`", said)
    if name is None or not re.search(r"\bWITH\s+RECURSIVE\b", program.text, re.IGNORECASE):
        return False
    return re.search(rf"\b{name[1]}\s*(\([^()]*\))?\s+AS\s*\(", program.text, re.IGNORECASE) is not None


def _reads_far_out(said: str, program: Text) -> bool:
    """A subquery may use the columns of all queries around it here; Spark knows only those of the next one."""
    name = re.search(r"UNRESOLVED_COLUMN.*?with name (?:`\w+`\.)?`(\w+)`", said)
    columns = [c for tree, _ in statements(SourceText("<sql>", program.text)) for c in tree.find_all(exp.Column)]
    return any(name is not None and column.name == name[1] and _depth(column) > 2 for column in columns)


def _depth(node: exp.Expr) -> int:
    around = node.find_ancestor(exp.Select)
    return 0 if around is None else 1 + _depth(around)


TABLES = "CREATE TABLE t(a INT, b INT); CREATE TABLE u(a INT, c INT)"


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
        "SELECT t.a FROM t LEFT SEMI JOIN u ON a <=> a",
        "SELECT t.a FROM t LEFT ANTI JOIN u ON NULL",
        "SELECT b FROM t NATURAL SEMI JOIN u",
        "SELECT b FROM t NATURAL CROSS JOIN u",
        "SELECT a FROM t WHERE a = 1 OR a = 1 AND zzz = 2",
        "SELECT a FROM t WHERE NULL",
        "SELECT max(a) FILTER (WHERE NULL) AS m FROM t",
        "SELECT a FROM t WHERE a NOT IN (SELECT a, c FROM u)",
        "SELECT a IN (SELECT a, c FROM u) AS i FROM t",
        "SELECT (SELECT a FROM u WHERE u.a = t.a HAVING count(*) = 0) AS n FROM t",
        "SELECT a FROM t WHERE EXISTS (SELECT b = 1 AS b FROM u GROUP BY floor(b))",
    ],
)
def test_refused_here_and_there(spark: SparkSession, query: str) -> None:
    program = Text("sql", f"CREATE VIEW v AS {query}", TABLES)
    assert judge(program) != ACCEPTED
    assert refusal(spark, program) is not None


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE MATERIALIZED MATERIALIZED VIEW v AS SELECT a FROM t",
        "CREATE VIEW v, AS SELECT a FROM t",
        "CREATE VIEW v ROW AS SELECT a FROM t",
        "CREATE VIEW v AS DEFAULT SELECT a FROM t",
        "CREATE VIEW v() AS SELECT a FROM t",
        "CREATE VIEW v(::) AS SELECT a FROM t",
        "CREATE VIEW {v} AS SELECT a FROM t",
        "CREATE VIEW : v AS SELECT a FROM t",
        "CREATE VIEW .v AS SELECT a FROM t",
        "CREATE VIEW v AS SELECT a FROM . t",
        "CREATE VIEW v AS SELECT t.a FROM t, .u",
        "CREATE VIEW v AS SELECT t..a FROM t",
        "CREATE VIEW v AS SELECT . 5 AS h FROM t",
        "CREATE VIEW v AS SELECT .0.0 AS z FROM t",
        "CREATE VIEW v AS SELECT t.'a' FROM t",
        "CREATE VIEW v AS SELECT a FROM t *",
        "CREATE VIEW v AS SELECT a AS 1 FROM t",
        "CREATE VIEW v AS SELECT a AS r'x' FROM t",
        "CREATE VIEW v AS SELECT count(* EXCEPT) AS n FROM t",
        "CREATE VIEW v AS SELECT a FROM t GROUP BY DISTINCT a",
        "CREATE VIEW v AS SELECT max(a) FILTER (a > 1) AS m FROM t",
        "CREATE VIEW v AS SELECT max(SELECT a) AS m FROM t",
        "CREATE VIEW v AS SELECT t.a FROM t, JOIN u ON t.a = u.a",
        "CREATE VIEW v AS SELECT t.a FROM t JOIN u ON WHERE t.a = u.a",
        "CREATE VIEW v AS SELECT t.a FROM t JOIN u USING ()",
        "CREATE VIEW v AS SELECT a FROM t NATURAL UNION SELECT c FROM u",
        "CREATE VIEW v AS SELECT a FROM t ORDER BY a ASC DESC",
        "CREATE VIEW v AS (SELECT a FROM t), (SELECT c FROM u)",
        "CREATE VIEW v AS (SELECT a FROM t) INTERSECT (SELECT c FROM u) x",
        "CREATE VIEW v AS WITH w AS (SELECT a FROM t) WITH z AS (SELECT c FROM u) SELECT a FROM w",
        "CREATE VIEW v AS WITH w AS (SELECT a FROM t) AS SELECT a FROM w",
        "CREATE VIEW v AS WITH w(k ?) AS (SELECT a FROM t) SELECT k FROM w",
        "CREATE VIEW v AS SELECT a FROM t WHERE a ! IN (1)",
        "CREATE VIEW v AS SELECT a FROM t WHERE a IN (1, SELECT 2)",
        "CREATE VIEW v AS SELECT a FROM t WHERE a BETWEEN 1 2 AND b = 1",
        "CREATE VIEW v AS SELECT a FROM t WHERE EXISTS (ALL SELECT 1 FROM u)",
        "CREATE VIEW v AS SELECT coalesce(a, ALL 1) AS c FROM t",
        "CREATE VIEW v AS SELECT TIMESTAMP 1 AS c FROM t",
        "CREATE VIEW v AS SELECT CASE WHEN a > 1 'x' END AS c FROM t",
        "CREATE VIEW v AS SELECT CAST(a AS STRING ()) AS c FROM t",
        "CREATE VIEW v AS SELECT CAST(a AS STRING COLLATE) AS c FROM t",
        "CREATE VIEW v AS SELECT CAST(a AS STRING DEFAULT) AS c FROM t",
        "CREATE VIEW v AS SELECT EXTRACT(YEAR () FROM DATE '2026-01-01') AS c FROM t",
        "CREATE VIEW v AS SELECT trim(LEADING 'x', 'y') AS c FROM t",
        "CREATE VIEW v AS SELECT substring('x' FROM FROM 1) AS c FROM t",
        "CREATE VIEW v AS SELECT substring('x' FOR 1) AS c FROM t",
        "CREATE VIEW v AS SELECT floor(a TO) AS c FROM t",
        "CREATE VIEW v AS SELECT k FROM VALUES (1) AS CROSS(k)",
        "CREATE VIEW v AS SELECT 1 AS c JOIN u",
        "CREATE VIEW v AS WITH RECURSIVE AS w AS (SELECT a FROM t) SELECT a FROM w",
        "CREATE VIEW v AS SELECT floor((a) AS c FROM t",
        "CREATE VIEW v AS SELECT a FROM t WHERE a NOT IS NULL",
        "CREATE VIEW v AS SELECT a FROM t WHERE a NOT NULL",
        "CREATE VIEW v AS SELECT a FROM t WHERE a ISNULL",
    ],
)
def test_not_read_here_nor_there(spark: SparkSession, statement: str) -> None:
    assert judge(Text("sql", statement, TABLES)) != ACCEPTED
    with pytest.raises(ParseException):
        spark.sql(temporary(statement))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a AS x FROM t ORDER BY x, t.b DESC, a + b, 1",
        "SELECT DISTINCT a, b FROM t ORDER BY a + b",
        "(SELECT a FROM t) ORDER BY b",
        "SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY n, a, max(b) - 1",
        "SELECT a FROM t LEFT JOIN u USING (a)",
        "SELECT .5 AS h, t . a FROM t",
        "SELECT trim(BOTH FROM 'x') AS x, trim('x' FROM 'y') AS y, substring('x' FROM a FOR b) AS z FROM t",
        "SELECT CASE WHEN CASE a WHEN 1 THEN b END > 1 THEN a END AS c, count(ALL b) AS n FROM t GROUP BY a, b",
        "SELECT y.a FROM ((SELECT a FROM t) x) y",
        "SELECT a AS using, b AS natural FROM t",
        "SELECT a ISNULL, b NOTNULL, isnull(a) AS n FROM t",
        "SELECT a AS insert, b grant, drop.a FROM t AS drop",
        "WITH revoke AS (SELECT a AS rollback FROM t) SELECT max(rollback) AS alter FROM revoke GROUP BY rollback",
        "WITH w AS (SELECT a FROM t) (WITH z AS (SELECT c FROM u) SELECT w.a FROM w, z)",
        "WITH w AS (SELECT a FROM t) /* , */, -- x\n z AS (SELECT c FROM u) SELECT w.a FROM w, z",
        "SELECT a FROM t WHERE +a = 1 OR b = 2 AND +a = 1",
        "SELECT a FROM t WHERE NULL OR a NOT IN (1) AND a IS NOT NULL",
        "SELECT a + 2 AS y, a + 1 AS x FROM t GROUP BY x, a + 2",
    ],
)
def test_accepted_here_and_there(spark: SparkSession, query: str) -> None:
    program = Text("sql", f"CREATE VIEW v AS {query}", TABLES)
    assert judge(program) == ACCEPTED
    assert refusal(spark, program) is None


@pytest.mark.parametrize(
    "columns", ["a INT CHECK (+a > 1)", "a INT, CHECK (+a > 1)", "a INT, CONSTRAINT c CHECK (+a > 1)"]
)
def test_conditions_read_here_and_there(spark: SparkSession, columns: str) -> None:
    statement = f"CREATE TABLE t({columns})"
    assert judge(Text("sql", statement)) == ACCEPTED
    # No table of a plain session holds constraints, so that Spark is asked for its plan alone.
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 (PySpark has no way to parse alone)
    assert "positive('a) > 1" in parser.parsePlan(statement).toString()
