"""Queries of all shapes over two tables, to be compared with Spark and kept up to date."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

from whence.model.types import Row

# Before 1970, and after it.
START = datetime.datetime(1970, 1, 1)
TABLES = {
    "t": "id INT, g STRING, x INT, y DOUBLE, d DECIMAL(10,2)",
    "u": "id INT, g STRING, z INT",
    "a": "id INT, a ARRAY<INT>, s STRING",
    "e": "id INT, k STRING, at TIMESTAMP_NTZ, v INT",
    "m": "id INT, m MAP<STRING, INT>",
    "r": "id INT, s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<k: STRING, v: STRUCT<n: INT>>>",
}


def row_of_t(pick: random.Random, number: int) -> Row:
    return (
        number,
        pick.choice([None, "a", "b", "c"]),
        pick.choice([None, *range(5)]),
        pick.choice([None, 0.5, 1.25, -2.0]),
        pick.choice([None, Decimal("1.50"), Decimal("0.25"), Decimal("-3.00")]),
    )


def row_of_u(pick: random.Random, number: int) -> Row:
    return (number, pick.choice([None, "a", "b", "d"]), pick.choice([None, *range(4)]))


def row_of_a(pick: random.Random, number: int) -> Row:
    elements = pick.choices([None, 1, 2, 3], k=pick.randrange(4))
    return (number, pick.choice([None, tuple(elements), tuple(elements)]), pick.choice(["p", "q"]))


def row_of_e(pick: random.Random, number: int) -> Row:
    moment = START + datetime.timedelta(seconds=pick.randrange(-90, 90), milliseconds=pick.choice([0, 0, 250]))
    return (number, pick.choice([None, "a", "b"]), pick.choice([None, moment, moment, moment]), pick.randrange(5))


def row_of_m(pick: random.Random, number: int) -> Row:
    keys = pick.sample("pqr", pick.randrange(4))
    return (number, pick.choice([None, *[tuple((key, pick.choice([None, 1, 2])) for key in keys)] * 3]))


def row_of_r(pick: random.Random, number: int) -> Row:
    pairs = [(pick.choice([None, 1, 2]), pick.choice([None, "x", "y"])), None]
    entries = [(pick.choice("pq"), pick.choice([None, (pick.choice([None, 1, 2]),)])) for _ in range(pick.randrange(3))]
    return (number, pick.choice(pairs), pick.choice([None, (*entries, None), tuple(entries), tuple(entries)]))


DRAWN = {"t": row_of_t, "u": row_of_u, "a": row_of_a, "e": row_of_e, "m": row_of_m, "r": row_of_r}

GROUPS = [
    "SELECT g, x, count(*) AS n, grouping_id() AS gi, sum(y) AS s FROM t GROUP BY ROLLUP(g, x)",
    "SELECT g, x, max(d) AS m, grouping_id(g, x) AS gi FROM t GROUP BY CUBE(g, x)",
    "SELECT g, count(*) FROM t GROUP BY g WITH ROLLUP",
    "SELECT g, count(*) FROM t GROUP BY g WITH CUBE",
    "SELECT g, x, count(*) FROM t GROUP BY GROUPING SETS ((g), (x), ())",
    "SELECT g, x, count(*) FROM t GROUP BY g, x GROUPING SETS ((g), (x))",
    "SELECT g, x, id % 2 AS h, count(*) FROM t GROUP BY id % 2, ROLLUP(g, x)",
    "SELECT g, x, count(*) FROM t GROUP BY ROLLUP((g, x))",
    "SELECT t.g AS name, count(*) FROM t GROUP BY ROLLUP(t.g) HAVING count(*) > 3",
    "SELECT g, count(*) AS n FROM t WHERE id < 0 GROUP BY ROLLUP(g)",
    "SELECT coalesce(g, 'all') AS g, sum(x) FROM t GROUP BY CUBE(g)",
    "SELECT g, x + 1 AS more, count(*) AS n FROM t GROUP BY ALL",
    "SELECT count(*), sum(x) FROM t GROUP BY ALL",
    "SELECT g, count(*) AS n FROM t GROUP BY g HAVING n > 3",
    "SELECT g AS h, sum(x) AS s FROM t GROUP BY h HAVING s > 3 AND h <> 'a'",
]
LISTS = [
    "SELECT x * 2 AS twice, twice + 1 AS more, more * twice AS both FROM t",
    "SELECT g, sum(x) AS s, s * 2 AS double_s FROM t GROUP BY g",
    "SELECT * EXCEPT (id, y) FROM t",
    "SELECT t.* EXCEPT (id), u.z FROM t JOIN u ON t.g = u.g",
    "SELECT /*+ BROADCAST(u) */ t.id, z FROM t JOIN u ON t.g = u.g",
]
SETS = [
    "SELECT g FROM t EXCEPT ALL SELECT g FROM u",
    "SELECT g, x FROM t EXCEPT ALL SELECT g, z FROM u",
    "SELECT g FROM t INTERSECT ALL SELECT g FROM u",
    "SELECT x FROM t INTERSECT ALL SELECT z FROM u EXCEPT ALL SELECT 1",
    "SELECT g FROM (SELECT g FROM t UNION ALL SELECT g FROM u) MINUS ALL SELECT g FROM t WHERE x > 1",
    "SELECT d * CAST(1 AS DECIMAL(38,19)) AS d FROM t UNION SELECT CAST(d AS DECIMAL(38,3)) * 1000 FROM t",
    "SELECT id FROM t WHERE (g, x) IN (('a', 1), ('b', 2), ('c', 3))",
    "SELECT id FROM t WHERE (g, x) NOT IN (('a', 1), ('b', 2), ('c', 3))",
]
SINGLES = [
    "WITH m AS (SELECT max(z) AS z FROM u) SELECT id FROM t WHERE x = (SELECT z FROM m)",
    "SELECT id, (SELECT z FROM (SELECT max(z) AS z FROM u) AS q) AS m FROM t",
    "SELECT id FROM t WHERE x = (SELECT z FROM u ORDER BY z DESC, id LIMIT 1)",
    "SELECT id, (SELECT DISTINCT z - z FROM u WHERE z IS NOT NULL) AS nothing FROM t",
    "SELECT id FROM t WHERE x >= (SELECT DISTINCT z * 0 FROM u WHERE u.g = t.g AND z > 0)",
    "SELECT id FROM t WHERE EXISTS (SELECT max(z) FROM u WHERE u.g = t.g LIMIT 1)",
]
LAMBDAS = [
    "SELECT id, transform(a, x -> x + id) AS b, transform(a, (x, i) -> concat(s, x, i)) AS c FROM a",
    "SELECT id, filter(a, x -> x > id % 3) AS f FROM a WHERE exists(a, x -> x = 2)",
    "SELECT s, sort_array(collect_list(aggregate(a, 0, (n, x) -> n + coalesce(x, 0), n -> -n))) AS n FROM a GROUP BY s",
    "SELECT id, forall(a, x -> x < 3) AS f, zip_with(a, array(1, 2), (x, y) -> x * y) AS z FROM a",
    "SELECT id, array_sort(a, (l, r) -> coalesce(r, 0) - coalesce(l, 0)) AS d FROM a",
    "SELECT id, e FROM a LATERAL VIEW explode(transform(a, x -> struct(x, s))) AS e WHERE e.x > 1",
    "SELECT id, transform(a, x -> x + n) AS b FROM a JOIN (SELECT s, max(id) AS n FROM a GROUP BY s) q USING (s)",
    "SELECT id, transform(a, x -> filter(a, y -> y > x)) AS larger FROM a",
    "SELECT id, transform_values(m, (k, v) -> v + id) AS v, map_filter(m, (k, v) -> v > 1) AS f FROM m",
    "SELECT id, transform_keys(m, (k, v) -> concat(k, k)) AS k FROM m",
    "SELECT id, map_zip_with(m, map('p', 1), (k, v, w) -> v + w) AS z FROM m",
]
_SINCE = "at - TIMESTAMP_NTZ '1970-01-01 00:00:00'"
INTERVALS = [
    f"SELECT id, CAST({_SINCE} AS STRING) AS s, CAST(({_SINCE}) * v AS STRING) AS p, CAST(at - at AS STRING) FROM e",
    f"SELECT k, CAST(sum({_SINCE}) AS STRING) AS s, CAST(avg({_SINCE}) AS STRING) AS a FROM e GROUP BY k",
    f"SELECT CAST(min({_SINCE}) AS STRING) AS least, CAST(max({_SINCE}) AS STRING) AS most FROM e",
    "SELECT id, at + make_dt_interval(v, 1) AS a, at - make_ym_interval(0, v) AS b FROM e",
    f"SELECT id, EXTRACT(SECOND FROM {_SINCE}) AS s FROM e WHERE {_SINCE} > INTERVAL '10' SECOND",
    "SELECT DISTINCT CAST(make_ym_interval(v, id % 5) * 1.5 AS STRING) AS s FROM e",
    "SELECT typeof(sum(make_ym_interval(v))), typeof(avg(at - at)), typeof(max(DATE(at) - DATE '1970-01-01')) FROM e",
    "SELECT a.id, b.id AS other FROM e a JOIN e b ON a.at - b.at = INTERVAL '30' SECOND",
    "SELECT CAST(d AS STRING) AS d, count(*) FROM (SELECT DATE(at) - DATE '1970-01-01' AS d FROM e) GROUP BY d",
]
ELEMENTS = [
    "SELECT id, explode(a) AS x FROM a",
    "SELECT id, explode(a) FROM a WHERE id < 20",
    "SELECT posexplode(a), s FROM a",
    "SELECT id, posexplode_outer(a) AS (p, c) FROM a",
    "SELECT id, x FROM a LATERAL VIEW explode(a) e AS x WHERE x > 1",
    "SELECT id, x FROM a LATERAL VIEW OUTER explode(a) e AS x",
    "SELECT id, e.x, f.p, f.y FROM a LATERAL VIEW explode(a) e AS x LATERAL VIEW posexplode(a) f AS p, y",
    "SELECT x, count(*) AS n FROM a LATERAL VIEW explode(a) AS x GROUP BY x",
    "SELECT * FROM explode(array(1, 2)) AS q(x)",
    "SELECT * FROM range(3)",
    "SELECT t.id, r.id AS n FROM t JOIN range(1, 6, 2) AS r ON t.x = r.id",
    "SELECT a.id, e.x FROM a, LATERAL explode(a) AS e(x)",
    "SELECT t.id, q.m FROM t, LATERAL (SELECT max(z) AS m FROM u WHERE u.g = t.g) AS q",
    "SELECT t.id, q.z FROM t JOIN LATERAL (SELECT z FROM u WHERE u.g = t.g ORDER BY z DESC, id LIMIT 1) AS q",
    "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, g) JOIN t USING (g)",
]
PIVOTS = [
    "SELECT * FROM (SELECT g, x, id FROM t) PIVOT (sum(id) FOR g IN ('a', 'b' AS bb))",
    "SELECT * FROM (SELECT g, x, id FROM t) PIVOT (count(id) AS c, max(id) AS m FOR g IN ('a', 'c'))",
    "SELECT * FROM (SELECT id, x, id * 2 AS w FROM t) UNPIVOT (v FOR k IN (x, w AS ww))",
    "SELECT k, count(*) FROM (SELECT id, x, id * 2 AS w FROM t) UNPIVOT INCLUDE NULLS (v FOR k IN (x, w)) GROUP BY k",
]
NUMBERED = "WITH w AS (SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t)"
MIXED = [
    "SELECT id, row_number() OVER (ORDER BY x, id) AS n FROM t ORDER BY n",
    "SELECT id, row_number() OVER (ORDER BY x, id) AS n FROM t ORDER BY n DESC LIMIT 2",
    "SELECT g, rank() OVER (ORDER BY count(*)) AS r FROM t GROUP BY g ORDER BY r",
    "SELECT id, x + 1 AS more, more * 2 AS twice FROM t ORDER BY twice DESC, id LIMIT 2",
    "SELECT id, explode(a) AS e FROM a ORDER BY e DESC, id LIMIT 2",
    "SELECT DISTINCT g, rank() OVER (PARTITION BY g ORDER BY g) AS r FROM t",
    "SELECT id FROM t WHERE id IN (SELECT id FROM (SELECT id, rank() OVER (ORDER BY x DESC) AS r FROM t) WHERE r = 1)",
    "SELECT g, sum(x) AS s FROM t GROUP BY g HAVING sum(x) > 2 ORDER BY 2 DESC, g LIMIT 1",
    "SELECT count(*) AS n, sum(x) AS s FROM t LIMIT 100",
    "SELECT g AS h, x AS w, sum(sum(id)) OVER (PARTITION BY g ORDER BY x) AS s FROM t GROUP BY g, x",
    "SELECT id, if(row_number() OVER (ORDER BY id) = 1, 'first', 'later') AS c, x / sum(x) OVER () AS share FROM t",
    f"{NUMBERED} SELECT a.id, b.id AS following FROM w a LEFT JOIN w b ON a.g = b.g AND b.n = a.n + 1",
]
COUNTS = [
    "SELECT count(g, x), count(DISTINCT g, x), count(DISTINCT *), count(DISTINCT g, x) FILTER (WHERE id < 9) FROM t",
    "SELECT g, count(DISTINCT x, y) AS n, count(x, y) AS m FROM t GROUP BY g",
    "SELECT 'all' AS k, count(*) AS n FROM t GROUP BY 'all'",
    "SELECT 'all' AS k, count(*) AS n FROM t WHERE id < 0 GROUP BY k",
    "SELECT 1 AS k, g, count(*) AS n FROM t GROUP BY k, g",
    "SELECT *, 1 AS one FROM u GROUP BY id, g, z",
    "SELECT any(x > 1) AS a, every(x > 1) AS e, any(x > 1) FILTER (WHERE id > 4) AS f FROM t",
    "SELECT sum(g2) AS s, avg(g2) AS a FROM (SELECT CAST(x AS STRING) AS g2 FROM t)",
    "SELECT g, x, sum(x) FILTER (WHERE x > 1) AS s, grouping(g) AS h FROM t GROUP BY CUBE(g, x)",
    "SELECT count(*) AS n FROM t WHERE id < 0 GROUP BY GROUPING SETS (())",
    "SELECT x + id % 3, g, sum(x) FROM t GROUP BY x + id % 3, g WITH CUBE",
    "SELECT sum(x) AS z FROM u JOIN t USING (id) GROUP BY z HAVING z > 1",
    "SELECT x % 2 AS x, count(*) FROM t GROUP BY x % 2 HAVING x > 0",
    "SELECT count(1) FROM (SELECT g AS all FROM t) GROUP BY all",
]
PIPES = [
    "FROM t |> WHERE x > 1 |> SELECT g, x * 2 AS twice |> WHERE twice > 4",
    "TABLE t |> AGGREGATE sum(x) AS s, count(*) AS n GROUP BY g |> WHERE n > 2",
    "FROM t |> EXTEND x + 1 AS more |> SET y = more * 2 |> DROP d, id",
    "FROM t |> AS a |> JOIN u ON a.g = u.g |> SELECT a.id, u.z",
    "FROM t |> ORDER BY id DESC, x |> LIMIT 3 |> SELECT id",
    "FROM u |> SELECT g |> UNION ALL (SELECT g FROM t) |> AGGREGATE count(*) AS n GROUP BY g",
    "SELECT g, z FROM u |> AGGREGATE max(z) GROUP BY 1",
    "SELECT id FROM t WHERE x IN (FROM u |> WHERE z > 1 |> SELECT z)",
]
MORE_JOINS = [
    "SELECT t.id, s.z FROM t LEFT JOIN LATERAL (SELECT z FROM u WHERE u.g = t.g) s",
    "SELECT t.id, s.z FROM t LEFT JOIN LATERAL (SELECT z FROM u WHERE u.g = t.g) s ON s.z > t.x",
    "SELECT t.id, s.n FROM t LEFT JOIN LATERAL (SELECT count(*) AS n FROM u WHERE u.g = t.g) s ON n > 1",
    "SELECT u.id, r.id AS place FROM u, LATERAL range(2) AS r",
    "SELECT count(*) FROM (SELECT g, x, g FROM t)",
    "SELECT t.x FROM t, u t WHERE t.z = 1",
]
MORE_SUBQUERIES = [
    "SELECT id, (SELECT max(z) FROM u WHERE u.g = t.g GROUP BY u.g) AS m FROM t",
    "SELECT id FROM t WHERE x < (SELECT max(z) FROM u WHERE u.g = t.g GROUP BY u.g HAVING count(*) > 1)",
    "SELECT id, (SELECT more + 1 FROM (SELECT t.x AS more)) AS m FROM t",
    "SELECT (VALUES (1)) AS one, (SELECT count(*) FROM u LIMIT 1) AS n FROM t",
    "SELECT id FROM t WHERE (g, x) NOT IN (SELECT g, z FROM u WHERE g IS NOT NULL AND z IS NOT NULL)",
    "SELECT id FROM t WHERE (g, x) NOT IN (SELECT g, z FROM u WHERE id < 4)",
]
PATTERNS = [
    "SELECT id, s LIKE ANY ('p', 'x%') AS l, s NOT LIKE ANY ('p', 'q') AS n, s ILIKE ALL ('P', '%') AS a FROM a",
    "SELECT id FROM t WHERE g NOT LIKE ALL ('a%', 'b')",
    "SELECT coalesce(*) AS first FROM (SELECT z, id FROM u)",
    "SELECT 'it''s' AS quoted, 'a' 'b' AS joined, 12345678901234567890 AS large",
    "SELECT overlay('abcdef' PLACING '45' FROM 4 FOR 2) AS o",
]
ORDERED = "PARTITION BY g ORDER BY id, x, y, d"
DIFFERENT = "(SELECT DISTINCT * FROM t WHERE id <> 3)"
WINDOW_STATISTICS = [
    f"SELECT id, var_pop(x) OVER (PARTITION BY g ORDER BY id, x, y, d) AS v FROM {DIFFERENT}",
    f"SELECT id, array_join(collect_list(CAST(x AS STRING)) OVER ({ORDERED}), ',') AS c FROM {DIFFERENT}",
    f"SELECT id, any_value(x) OVER (PARTITION BY g ORDER BY id, x, y, d) AS v FROM {DIFFERENT}",
    "SELECT id, bool_or(x > 2) OVER (PARTITION BY g) AS b, count_if(x > 2) OVER (PARTITION BY g) AS c FROM t",
    "SELECT id, percentile_cont(0.5) WITHIN GROUP (ORDER BY x) OVER (PARTITION BY g) AS p FROM t",
    "SELECT percentile_disc(0.3) WITHIN GROUP (ORDER BY x DESC) AS p FROM t",
    "SELECT listagg(g, ',') WITHIN GROUP (ORDER BY g DESC) AS l, mode() WITHIN GROUP (ORDER BY x DESC) AS m FROM t",
    "SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY x) FILTER (WHERE id > 2) AS f FROM t",
]
BY_BOTH = "grouping(g) + grouping(x)"
IN_PARENT = f"PARTITION BY {BY_BOTH}, CASE WHEN grouping(x) = 0 THEN g END ORDER BY max(d), g, x"
OVER_SETS = [
    "SELECT g, x, sum(y), rank() OVER (PARTITION BY grouping(g) ORDER BY sum(y) DESC) r FROM t GROUP BY ROLLUP(g, x)",
    "SELECT g, sum(count(*)) OVER (PARTITION BY grouping_id()) FROM t GROUP BY CUBE(g, x) HAVING count(*) > 1",
    f"SELECT {BY_BOTH}, g, row_number() OVER ({IN_PARENT}) r FROM t GROUP BY ROLLUP(g, x) ORDER BY 1, 2, r LIMIT 5",
    "SELECT g AS k, sum(x) AS s, rank() OVER (ORDER BY g) AS r FROM t GROUP BY GROUPING SETS ((k), ()) HAVING s > 2",
    "SELECT x % 2 AS h, max(id) - min(id) AS w, avg(max(id)) OVER () AS a FROM t GROUP BY ROLLUP(1)",
    "SELECT DISTINCT grouping(g) AS h, count(*) OVER (PARTITION BY grouping(g)) AS n FROM t GROUP BY CUBE(g, x)",
    "SELECT t.g, rank() OVER w FROM t JOIN u USING (g) WHERE z > 0 GROUP BY CUBE(t.g) WINDOW w AS (ORDER BY sum(z))",
]
STRUCTS = [
    "SELECT id, s.a, r.s.b, l.k, l[0].v.n FROM r WHERE size(l) > 0",
    "SELECT s.*, id FROM r WHERE s.a > 0 OR s IS NULL",
    "SELECT s.* EXCEPT (b), r.l FROM r",
    "SELECT s, count(*) AS n, max(id) AS m FROM r GROUP BY s",
    "SELECT s.a, count(DISTINCT s) AS n, min(s) AS least, max(s) AS most FROM r GROUP BY s.a",
    "SELECT struct(s.a, max(id) AS m, count(*) + 1) AS q FROM r GROUP BY s.a HAVING s.a > 0",
    "SELECT id, named_struct('x', id, 'Y', s) AS q, struct(*) AS all_of_it FROM r",
    "SELECT DISTINCT struct(s.b, id % 2 AS h) AS q FROM r",
    "SELECT struct(s.*, id AS i) AS q, struct(id AS i, r.s.*) AS p, coalesce(CAST(s.a AS STRING), s.b) AS c FROM r",
    "SELECT p.id, q.id AS other FROM r p JOIN r q ON p.s = q.s",
    "SELECT p.id, q.id AS other FROM r p LEFT JOIN r q ON p.s <=> q.s AND p.id < q.id",
    "SELECT p.id, q.id AS other FROM r p JOIN r q ON p.s.a = q.s.a AND p.s < q.s",
    "SELECT id FROM r WHERE s IN (named_struct('a', 1, 'b', 'x'), named_struct('a', 2, 'b', NULL))",
    "SELECT id FROM r WHERE s NOT IN (SELECT s FROM r WHERE id < 4 AND s IS NOT NULL)",
    "SELECT s FROM r WHERE id < 9 EXCEPT SELECT s FROM r WHERE id < 4",
    "SELECT s FROM r UNION SELECT struct(z, g) FROM u",
    "SELECT id, coalesce(s, named_struct('a', 0, 'b', '-')).b AS b, if(id > 4, s, NULL).a AS a FROM r",
    "SELECT id, row_number() OVER (PARTITION BY s.a ORDER BY s.b, id) AS n, s.b FROM r",
    "SELECT id, rank() OVER (ORDER BY s) AS n, sum(s.a) OVER (PARTITION BY s.b) AS t FROM r",
    "SELECT max_by(s, id) AS m, min_by(id, id) AS n, max_by(s.a, id) FILTER (WHERE id > 3) AS o FROM r",
    "SELECT s.b, max_by(id, id), min_by(s.a, id), max_by(g, x) FROM r LEFT JOIN t USING (id) GROUP BY s.b, x, g",
    "SELECT id, max_by(s.b, id) OVER (ORDER BY id ROWS 2 PRECEDING) AS b FROM (SELECT DISTINCT * FROM r WHERE id > 2)",
    "SELECT id, e.k, e.v.n FROM r LATERAL VIEW explode(l) x AS e",
    "SELECT id, p, e.v FROM r LATERAL VIEW posexplode_outer(l) x AS p, e",
    "SELECT inline(l) FROM r",
    "SELECT id, inline_outer(l) AS (key, value) FROM r",
    "SELECT k, count(*) AS n, max(v.n) AS m FROM r LATERAL VIEW inline(l) q GROUP BY k",
    "SELECT q.k, id FROM r, LATERAL inline(l) AS q(k, w)",
    "SELECT id, (SELECT max(o.s.b) FROM r o WHERE o.s.a = r.s.a) AS b FROM r",
    "SELECT id FROM r WHERE EXISTS (SELECT 1 FROM t WHERE t.x = r.s.a AND t.g = 'a')",
    "SELECT id, CAST(s AS STRING) AS t, CAST(s AS STRUCT<c: BIGINT, d: STRING>), CAST(l AS STRING), typeof(l) FROM r",
    "SELECT id, sort_array(l) AS l, array_contains(l, named_struct('k', 'p', 'v', named_struct('n', 1))) AS c FROM r",
    "SELECT s.a, sum(id) AS n, grouping(s.a) AS g FROM r GROUP BY ROLLUP(s.a)",
    "SELECT id, s.a FROM r ORDER BY s.a DESC, id LIMIT 3",
    "SELECT collect_set(s.a) AS c FROM (SELECT s FROM r WHERE s.a = 1)",
    "SELECT id, q.s.a FROM (SELECT id, struct(s) AS q FROM r)",
]
MAPS = [
    "SELECT id, m FROM m",
    "SELECT id, m['p'] AS p, element_at(m, 'q') AS q, try_element_at(m, 'z') AS z FROM m",
    "SELECT id, map_keys(m), map_values(m), map_entries(m), size(m), cardinality(m) FROM m",
    "SELECT id, map_contains_key(m, 'p') AS p FROM m WHERE NOT map_contains_key(m, 'r')",
    "SELECT id, map('a', id, 'b', m['p']) AS q, map(id, m)[id]['p'] AS p FROM m",
    "SELECT id, map_from_arrays(map_keys(m), map_values(m)) AS q, map_from_entries(map_entries(m)) AS r FROM m",
    "SELECT id, map_concat(m, map('z', 9)) AS q, map_concat(map(1, 2L), map(2, 3)) AS w FROM m",
    "SELECT id, key, value FROM m LATERAL VIEW explode(m) e AS key, value",
    "SELECT id, explode(m) FROM m WHERE id < 9",
    "SELECT id, posexplode_outer(m) AS (p, k, v) FROM m",
    "SELECT k, count(*) AS n, sum(v) AS s FROM m LATERAL VIEW explode(m) e AS k, v GROUP BY k",
    "SELECT m['p'] AS p, count(*) AS n, count(m) AS c FROM m GROUP BY m['p']",
    "SELECT id, map_entries(m)[0].key AS k FROM m WHERE size(m) > 0",
    "SELECT id, CAST(m AS STRING) AS t, typeof(m), CAST(m AS MAP<STRING, BIGINT>) FROM m",
    "SELECT id, coalesce(m, map('n', 0)) AS c, if(id > 4, m, NULL) AS i FROM m UNION ALL SELECT 1, NULL, map('a', 1)",
    "SELECT id, rank() OVER (ORDER BY size(m), id) AS n, m FROM m",
    "SELECT a.id, b.m FROM m a LEFT JOIN m b ON a.m['p'] = b.m['q']",
]
VALUE_ROWS = [
    "SELECT id, to_json(s) AS s, to_json(l) AS l FROM r",
    "SELECT from_json(to_json(s), 'a INT, b STRING') AS s, from_json(to_json(l), 'ARRAY<STRUCT<k: STRING>>') FROM r",
    "SELECT id, json_tuple(to_json(s), 'a', 'b') FROM r",
    "SELECT b, count(*) AS n FROM r LATERAL VIEW json_tuple(to_json(s), 'b') j AS b GROUP BY b",
    "SELECT id, stack(2, id, s.a, 0) FROM r",
    "SELECT k, sum(v) AS n FROM r LATERAL VIEW stack(2, 'a', s.a, 'id', id) q AS k, v GROUP BY k",
]
# Spark has no such comparisons, and no sums in a QUALIFY.
QUANTIFIED = [
    "SELECT g, sum(x) AS s FROM t GROUP BY ROLLUP(g) QUALIFY row_number() OVER (ORDER BY sum(x) DESC, g) <= 2",
    "SELECT id FROM t WHERE x >= ALL (SELECT z FROM u WHERE z IS NOT NULL)",
    "SELECT id FROM t WHERE x > ANY (SELECT z FROM u)",
    "SELECT id FROM t WHERE x <> ALL (SELECT z FROM u WHERE u.g = t.g)",
]
EVENT_TIME = [
    "SELECT window.start, window.end, count(*) AS n, sum(v) AS s FROM e GROUP BY window(at, '10 seconds')",
    "SELECT k, window.start AS s, max(v) AS m FROM e GROUP BY k, window(at, '10 seconds', '5 seconds')",
    "SELECT window.end AS e, count(*) AS n FROM e GROUP BY window(at, '10 seconds', '4 seconds') HAVING count(*) > 1",
    "SELECT window.start AS s, sum(v) AS n FROM e WHERE v > 1 GROUP BY window(at, '1 minute', '1 minute', '7 seconds')",
    "SELECT window.start AS s, count(*) AS n FROM e GROUP BY window(at, 'interval 9 seconds', '9 second', '0 second')",
    "SELECT window(at, '20 seconds').start AS s, count(*) AS n FROM e GROUP BY window(at, '20 seconds')",
    "SELECT window.start AS s, window(at, '20 seconds').end AS e, v FROM e",
    "SELECT a.id, window.start AS s, count(*) AS n FROM e JOIN a ON a.id = e.v GROUP BY a.id, window(at, '30 seconds')",
    "SELECT k, session_window.start, session_window.end, max(v) FROM e GROUP BY k, session_window(at, '5 seconds')",
    "SELECT session_window.end AS e, sum(v) + 1 AS s FROM e WHERE v > 0 GROUP BY session_window(at, '10 seconds')",
    "SELECT k AS n, v % 2 AS h, max(v) FROM e GROUP BY n, v % 2, session_window(at, '8 seconds') HAVING sum(v) > 1",
]
AS_IN_SPARK = [
    *(*EVENT_TIME, *GROUPS, *LISTS, *SETS, *SINGLES, *ELEMENTS, *PIVOTS, *MIXED),
    *(
        *COUNTS,
        *PIPES,
        *MORE_JOINS,
        *MORE_SUBQUERIES,
        *PATTERNS,
        *WINDOW_STATISTICS,
        *OVER_SETS,
        *STRUCTS,
        *MAPS,
        *LAMBDAS,
        *INTERVALS,
        *VALUE_ROWS,
    ),
]
