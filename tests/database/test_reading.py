"""Rows, tables and ad hoc queries."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import whence


@pytest.fixture
def db() -> Iterator[whence.Database]:
    with whence.connect() as opened:
        opened.execute("CREATE TABLE link(src STRING NOT NULL, dst STRING, cost INT)")
        opened.insert("link", [("b", "c", 2), ("a", None, 5), ("a", "b", 1), ("a", "b", 1), ("a", "b", None)])
        yield opened


class TestTable:
    def test_sorted_with_duplicates_and_null_first(self, db: whence.Database) -> None:
        assert [tuple(row.values()) for row in db.table("link").to_pylist()] == [
            ("a", None, 5),
            ("a", "b", None),
            ("a", "b", 1),
            ("a", "b", 1),
            ("b", "c", 2),
        ]
        assert len(db.rows("link")) == 4

    def test_types_and_nullability(self) -> None:
        db = whence.connect()
        db.execute(
            "CREATE TABLE t(s STRING NOT NULL, i INT, b BIGINT, d DOUBLE, n DECIMAL(10,2), f BOOLEAN, day DATE, "
            "at TIMESTAMP, a ARRAY<ARRAY<INT>>)"
        )
        assert db.table("t").schema == pa.schema(
            [
                pa.field("s", pa.string(), nullable=False),
                ("i", pa.int32()),
                ("b", pa.int64()),
                ("d", pa.float64()),
                ("n", pa.decimal128(10, 2)),
                ("f", pa.bool_()),
                ("day", pa.date32()),
                ("at", pa.timestamp("us")),
                ("a", pa.list_(pa.list_(pa.int32()))),
            ]
        )
        moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 6)
        rows = [("x", 1, 2, 1.5, Decimal("2.50"), True, moment.date(), moment, ((1, None), None)), ("", *[None] * 8)]
        db.insert("t", rows)
        assert [row["a"] for row in db.table("t").to_pylist()] == [None, [[1, None], None]]
        assert db.table("t").column("at").to_pylist() == [None, moment]

    def test_arrays_sort(self) -> None:
        db = whence.connect()
        db.execute("CREATE TABLE t(a ARRAY<INT>)")
        db.insert("t", [([2],), ([None],), ([1, 2],), (None,), ([],), ([1],)])
        assert db.table("t").column("a").to_pylist() == [None, [], [None], [1], [1, 2], [2]]

    def test_an_unknown_relation(self, db: whence.Database) -> None:
        for read in (db.rows, db.table, db.changes):
            with pytest.raises(whence.UnknownNameError, match="there is no relation 'lnk'") as caught:
                read("lnk")
            assert "hint: did you mean 'link'?" in str(caught.value)

    def test_counts_below_zero_are_not_shown(self) -> None:
        db = whence.connect()
        db.rules(".decl p(x: number)\n.decl q(x: number)")
        db.execute("CREATE VIEW bag AS SELECT x FROM p")
        db.rules("v(x) :- p(x).\n-v(x) :- q(x).")
        db.insert("q", [(1,)])
        assert (db.rows("v"), db.table("v").num_rows, db.changes("v").num_rows) == (set(), 0, 0)
        db.insert("p", [(2,)])
        assert db.rows("v") == {(2,)}


class TestQuery:
    def test_a_query(self, db: whence.Database) -> None:
        answer = db.query("SELECT src, count(*) AS n FROM link GROUP BY src ORDER BY src")
        assert answer.to_pydict() == {"src": ["a", "b"], "n": [4, 1]}

    def test_integers_keep_their_types(self, db: whence.Database) -> None:
        schema = db.query("SELECT cost, count(*) AS n, sum(cost) AS s FROM link GROUP BY cost").schema
        assert [schema.field(i).type for i in range(3)] == [pa.int32(), pa.int64(), pa.int64()]

    def test_a_sum_that_does_not_fit(self, db: whence.Database) -> None:
        db.execute("CREATE TABLE big(x BIGINT)")
        db.insert("big", [(2**63 - 1,), (1,)])
        with pytest.raises(whence.EvaluationError, match="column 's' does not fit BIGINT"):
            db.query("SELECT sum(x) AS s FROM big")

    def test_the_dialect_is_spark(self, db: whence.Database) -> None:
        answer = db.query(
            "SELECT `dst` d, if(cost > 1, 'dear', 'cheap') p, 7 div 2 h FROM link ORDER BY 1, cost LIMIT 2"
        )
        assert answer.to_pylist() == [{"d": None, "p": "dear", "h": 3}, {"d": "b", "p": "cheap", "h": 3}]

    def test_computed_columns_are_named_by_their_words(self, db: whence.Database) -> None:
        assert db.query("SELECT sum(cost), max(src) FROM link").column_names == ["sum(cost)", "max(src)"]

    def test_views_and_with_and_union(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT DISTINCT src FROM link")
        answer = db.query("WITH w AS (SELECT src FROM V) SELECT * FROM w UNION ALL SELECT dst FROM link WHERE cost = 2")
        assert sorted(answer.column("src").to_pylist()) == ["a", "b", "c"]

    def test_values(self, db: whence.Database) -> None:
        assert db.query("VALUES (1, 'a')").num_rows == 1

    def test_bytes(self, db: whence.Database) -> None:
        assert db.query(b"SELECT 1 AS x").to_pydict() == {"x": [1]}

    @pytest.mark.parametrize(
        "sql",
        [
            "DROP TABLE link",
            "INSERT INTO link VALUES ('a', 'b', 1)",
            "DELETE FROM link",
            "CREATE TABLE x(y INT)",
            "SET x = 1",
            "SHOW GRANTS ON link",
        ],
    )
    def test_only_queries(self, db: whence.Database, sql: str) -> None:
        with pytest.raises((whence.UnsupportedError, whence.ParseError)):
            db.query(sql)
        assert len(db.rows("link")) == 4

    def test_one_query(self, db: whence.Database) -> None:
        with pytest.raises(whence.UnsupportedError, match="query takes one statement"):
            db.query("SELECT 1; SELECT 2")
        with pytest.raises(whence.ParseError, match="the query is empty"):
            db.query(" ")

    def test_an_unknown_relation(self, db: whence.Database) -> None:
        with pytest.raises(whence.UnknownNameError) as caught:
            db.query("SELECT 1 FROM lnk")
        assert "there is no relation 'lnk'" in str(caught.value)
        assert "<query>:1:15" in str(caught.value)
        assert "hint: did you mean 'link'?" in str(caught.value)
        with pytest.raises(whence.UnknownNameError, match=r"there is no relation 'other\.link'"):
            db.query("SELECT 1 FROM other.link")

    def test_an_unknown_column(self, db: whence.Database) -> None:
        with pytest.raises(whence.UnknownNameError, match="there is no column 'cots'") as caught:
            db.query("SELECT cots FROM link")
        assert "hint: did you mean 'cost'?" in str(caught.value)

    def test_errors_do_not_show_translated_sql(self, db: whence.Database) -> None:
        with pytest.raises(whence.EvaluationError) as caught:
            db.query("SELECT CAST(src AS INT) FROM link")
        assert "LINE 1" not in str(caught.value)
        assert "Could not convert string 'a' to INT32" in str(caught.value)

    def test_files_are_out_of_reach(self, db: whence.Database, tmp_path: Path) -> None:
        secret = tmp_path / "secret.csv"
        secret.write_text("x\n1\n")
        for sql in (
            f"SELECT * FROM read_csv('{secret}')",
            f"SELECT * FROM read_text('{secret}')",
            f"SELECT * FROM glob('{tmp_path}/*')",
            f"SELECT * FROM csv.`{secret}`",
            f"SELECT * FROM `{secret}`",
        ):
            with pytest.raises(whence.WhenceError):
                db.query(sql)
        with pytest.raises(whence.UnsupportedError, match="a query reads the relations of this database, and no files"):
            db.query(f"SELECT * FROM read_csv('{secret}')")

    def test_python_variables_are_out_of_reach(self, db: whence.Database) -> None:
        secret = pa.table({"x": [1]})
        with pytest.raises(whence.UnknownNameError, match="there is no relation 'secret'"):
            db.query("SELECT * FROM secret")
        assert secret.num_rows == 1
