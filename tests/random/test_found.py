"""What random programs have found, made small by hand. Each means the same to DuckDB, and survives being written."""

from __future__ import annotations

import pytest

import whence
from tests.random.duck import duck, to_duckdb
from tests.random.maintenance import counts
from tests.random.run import check_round_trips, compare
from whence.lang.sql.parse import parse_sql
from whence.model.program import Catalog

TABLES = """
    CREATE TABLE a(x INT, y INT);
    CREATE TABLE b(x INT, z STRING);
    CREATE TABLE strict(k INT NOT NULL, l INT NOT NULL);
    CREATE TABLE wide(k BIGINT NOT NULL);
    CREATE TABLE price(d DECIMAL(5,2) PRIMARY KEY, y INT);
    CREATE TABLE fine(e DECIMAL(8,3), f DOUBLE);
    CREATE TABLE nothing(x INT)
"""
ROWS = """
    INSERT INTO a VALUES (1, 1), (1, 2), (2, NULL), (NULL, 3), (NULL, 3), (4, 4);
    INSERT INTO b VALUES (1, 'ab'), (1, 'ab'), (3, 'abc'), (NULL, 'b'), (4, NULL);
    INSERT INTO strict VALUES (1, 1), (1, 2), (3, 3), (5, 4);
    INSERT INTO wide VALUES (1), (1), (10000000000);
    INSERT INTO price VALUES (1.50, 7), (2.00, NULL);
    INSERT INTO fine VALUES (1.500, 1.25), (2.001, -1.25), (2.000, 0.0), (NULL, NULL)
"""
QUERIES = {
    "a query of an inner WITH is named as one outside, but for the case": """
        WITH q AS (SELECT 1 AS n)
        SELECT q.n, (SELECT max(n) FROM (WITH Q AS (SELECT 2 AS n) SELECT n FROM Q)) AS m FROM q""",
    "floor and ceil have a syntax of their own": "SELECT floor(f) AS c, ceil(f) AS d FROM fine",
    "text is joined with ||": "SELECT z || 'a' AS c FROM b",
    "a NOT NULL column equals one that can be NULL": """
        SELECT s.k FROM strict s WHERE EXISTS (SELECT 1 FROM a WHERE a.x = s.k)""",
    "a semi join of a NOT NULL column": "SELECT s.k FROM strict s LEFT SEMI JOIN a ON s.k = a.x",
    "an INT equals a BIGINT in a subquery": """
        SELECT s.k FROM strict s WHERE EXISTS (SELECT 1 FROM wide WHERE wide.k = s.k)""",
    "a key fixed by a column of another type": """
        SELECT (SELECT price.y FROM price WHERE price.d = fine.e) AS c FROM fine""",
    "a correlated derived table in an outer join": """
        SELECT (SELECT count(*) FROM (SELECT i.x FROM a AS i WHERE i.x = o.x) AS q FULL JOIN b ON FALSE) AS c
        FROM a AS o""",
    "the left column after RIGHT JOIN USING": "SELECT a.x AS c, x AS d FROM a RIGHT JOIN b USING (x)",
    "either column after FULL JOIN USING": "SELECT a.x AS c, b.x AS d, x AS e FROM a FULL JOIN b USING (x)",
    "the left column after NATURAL RIGHT JOIN": "SELECT a.x AS c FROM a NATURAL RIGHT JOIN b",
    "HAVING alone makes one group": "SELECT TRUE AS c FROM a HAVING TRUE",
    "HAVING alone makes one group of nothing": "SELECT TRUE AS c FROM nothing HAVING TRUE",
    "two outer columns compared in NOT EXISTS": """
        SELECT s.k FROM strict s WHERE NOT EXISTS (SELECT 1 FROM b WHERE s.k = s.l)""",
    "two columns of one side compared in ON": "SELECT s.k, b.z FROM strict s FULL JOIN b ON s.k = s.l",
    "an alias in GROUP BY that is an outer column too": """
        SELECT o.y FROM a AS o WHERE EXISTS (SELECT i.x AS y FROM b AS i GROUP BY y)""",
    "a comparison that is grouped by": "SELECT count(*) AS c FROM a GROUP BY (x = 1) HAVING (x = 1)",
    "an AND that is grouped by": "SELECT count(*) AS c FROM a GROUP BY (x = 1 AND y = 1) HAVING (x = 1 AND y = 1)",
    "an OR of the same that is grouped by": "SELECT 1 AS c FROM a GROUP BY (x = 1 OR x = 1) HAVING (x = 1 OR x = 1)",
    "EXISTS of a union in parentheses": """
        SELECT y FROM a WHERE EXISTS ((SELECT x, 1 FROM nothing) UNION ALL SELECT x, 2 FROM b)""",
    "EXISTS in two pairs of parentheses": "SELECT y FROM a WHERE EXISTS ((SELECT x, z FROM b))",
    "functions that are named like keywords": """
        SELECT left(z, 1) AS c, right(z, 2) AS d, replace(z, 'a', 'b') AS e FROM b""",
    "an outer join of which no column is read": "SELECT 1 AS c FROM b RIGHT JOIN a ON TRUE",
    "IN of a constant as a value": "SELECT y FROM a WHERE if(1 IN (SELECT x FROM b), TRUE, FALSE)",
    "groups without an aggregate": "SELECT x FROM a GROUP BY 1 HAVING TRUE",
    "an aggregate with HAVING TRUE": "SELECT avg(x) AS c FROM a HAVING TRUE",
    "a constant that is negated": "SELECT - CAST(0.0 AS DOUBLE) AS c FROM a",
    "a cast of an aggregate of nothing": """
        SELECT (SELECT CAST(sum(f.e) AS DECIMAL(18,3)) FROM fine f WHERE f.f = o.f) AS c FROM fine o""",
    "an aggregate of an INT that is joined with a BIGINT": """
        SELECT (SELECT min(i.x) FROM a i LEFT SEMI JOIN wide ON i.x = wide.k WHERE i.x = o.x) AS c FROM a o""",
    "a correlated count of nothing in a derived table": """
        SELECT x, (SELECT max(n) FROM (SELECT count(*) AS n FROM b WHERE b.x = a.x) q) AS c FROM a""",
    "a correlated count of nothing with HAVING": """
        SELECT x, (SELECT count(*) FROM b WHERE b.x = a.x HAVING count(*) = 0) AS c FROM a""",
    "EXISTS of a correlated count of nothing": """
        SELECT y FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.x HAVING count(*) = 0)""",
    "IN a union with a correlated count of nothing": """
        SELECT y FROM a WHERE 0 IN (SELECT k FROM strict UNION ALL SELECT count(*) FROM b WHERE b.x = a.x)""",
    "IN a correlated count of nothing, less something": """
        SELECT y FROM a WHERE 0 IN (SELECT count(*) FROM b WHERE b.x = a.x EXCEPT SELECT 1)""",
    "IN a correlated count of nothing": "SELECT y FROM a WHERE 0 IN (SELECT count(*) FROM b WHERE b.x = a.x)",
    "copies of copies": "SELECT q.c FROM (SELECT * FROM (VALUES ('a')) AS u(c)) AS q",
    "an aggregate compared with itself": "SELECT x, avg(y) AS c FROM a GROUP BY x HAVING avg(y) = avg(y)",
    "a count compared with itself": "SELECT count(*) AS c FROM a HAVING count(*) = count(*)",
    "a group compared with itself": "SELECT x, y FROM a GROUP BY x, 2 HAVING y = y",
    "an OR of two columns that are joined": """
        SELECT (SELECT max(l.k) FROM (SELECT k, x = 1 AS t FROM strict, a) l NATURAL JOIN
                (SELECT l AS k, y = 1 AS t FROM strict, a) r WHERE t OR r.t) AS c FROM a""",
    "a constant that INTERSECT widens": "SELECT x, 1.00 AS c FROM a INTERSECT SELECT k, 1 FROM strict",
    "a constant that EXCEPT widens": "SELECT x, 1 AS c FROM a EXCEPT SELECT k, 1.00 FROM strict",
    "DECIMALs of two scales without a match": "SELECT e FROM fine LEFT ANTI JOIN price ON fine.e <=> price.d",
    "DECIMALs of two scales in a full join": """
        SELECT l.e, r.d FROM (fine l RIGHT JOIN a ON TRUE) FULL JOIN price r ON l.e <=> r.d""",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_agrees_with_duckdb(query: str) -> None:
    view = f"CREATE VIEW v AS {query}"
    database = whence.connect()
    database.execute(f"{TABLES}; {ROWS}; {view}")
    twin = duck()
    twin.load(())
    for statement in f"{TABLES}; {ROWS}; {view}".split(";"):
        twin.create(to_duckdb(statement))
    compare("v", counts(database, "v"), twin.rows("v", database.catalog().relations["v"].column_names))


def test_an_and_that_is_grouped_by_among_other_conditions() -> None:
    # DuckDB flattens the ANDs, and does not find the group any more.
    database = whence.connect()
    group = "x = 1 AND y = 1"
    query = f"SELECT count(*) AS c FROM a GROUP BY ({group}) HAVING ({group}) AND count(*) > 0"
    database.execute(
        f"{TABLES}; {ROWS}; CREATE VIEW v AS {query}; CREATE VIEW w AS SELECT count(*) FROM a WHERE {group}"
    )
    assert database.rows("v") == {row for row in database.rows("w") if row != (0,)}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_survives_being_written(query: str) -> None:
    check_round_trips(parse_sql(f"{TABLES}; CREATE VIEW v AS {query}", Catalog()))
