"""CREATE TABLE ... AS SELECT, and UPDATE ... FROM."""

from __future__ import annotations

from pathlib import Path

import pytest

import whence

SETUP = """
    CREATE TABLE t(id INT PRIMARY KEY, x INT); CREATE TABLE s(id INT, y INT);
    INSERT INTO t VALUES (1, 1), (2, 2), (3, 3); INSERT INTO s VALUES (1, 10), (3, 30)
"""


def test_a_table_has_the_rows_of_then(tmp_path: Path) -> None:
    with whence.connect(tmp_path) as db:
        db.execute(SETUP)
        db.execute("CREATE TABLE c AS SELECT id % 2 AS odd, sum(x) AS n FROM t GROUP BY ALL")
        assert db.execute("CREATE TABLE IF NOT EXISTS c AS SELECT 1 AS a") is None
        db.execute("INSERT INTO t VALUES (4, 4)")
        db.insert("c", [(None, None)])
    with whence.connect(tmp_path) as again:
        assert again.rows("c") == {(0, 2), (1, 4), (None, None)}
        again.execute("CREATE VIEW v AS SELECT count(*) AS n FROM c")
        assert again.rows("v") == {(3,)}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE t AS SELECT 1 AS a", "there is a table named 't' already"),
        ("CREATE TABLE d AS SELECT NULL AS a", "the type of column 'a' cannot be told"),
        ("CREATE TABLE d(a INT) AS SELECT 1", "takes its columns from the query alone"),
        ("CREATE TABLE d AS SELECT 1 AS a, 2 AS a", "two columns are named 'a'"),
        ("UPDATE t SET x = s.y FROM s", "several rows of the source match one row of 't'"),
        ("UPDATE t SET x = s.z FROM s WHERE s.id = t.id", "unknown column 's.z'"),
    ],
)
def test_refused(statement: str, message: str) -> None:
    with whence.connect() as db:
        db.execute(SETUP)
        with pytest.raises(whence.WhenceError, match=message):
            db.execute(statement)
        assert db.rows("t") == {(1, 1), (2, 2), (3, 3)}


def test_update_from() -> None:
    with whence.connect() as db:
        db.execute(SETUP)
        db.execute("CREATE VIEW total AS SELECT sum(x) AS x FROM t")
        db.execute("UPDATE t SET x = s.y + t.x FROM s WHERE t.id = s.id")
        assert db.rows("t") == {(1, 11), (2, 2), (3, 33)}
        assert db.rows("total") == {(46,)}
        db.execute("UPDATE t AS q SET x = 0 FROM (SELECT id FROM s WHERE y > 10) AS z WHERE q.id = z.id")
        db.execute("UPDATE t SET x = y FROM s JOIN (SELECT 1 AS one) o ON o.one = s.id WHERE t.id = s.id")
        assert db.rows("t") == {(1, 10), (2, 2), (3, 0)}
