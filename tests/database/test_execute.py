"""SQL scripts: each statement is a commit, and a wrong one changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import whence


@pytest.fixture
def db() -> Iterator[whence.Database]:
    with whence.connect() as opened:
        opened.execute("CREATE TABLE link(src STRING, dst STRING, cost INT)")
        opened.insert("link", [("a", "b", 1), ("b", "c", 2)])
        yield opened


def refusal(db: whence.Database, sql: str, kind: type[whence.WhenceError]) -> str:
    """What the error says; the database is as it was."""
    version = db.version
    with pytest.raises(kind) as caught:
        db.execute(sql)
    assert db.version == version
    return str(caught.value)


class TestScripts:
    @pytest.mark.parametrize("text", ["", "  \n ", b"", "-- nothing here", ";;"])
    def test_an_empty_program(self, text: str | bytes) -> None:
        with pytest.raises(whence.ParseError, match=r"^the program is empty$"):
            whence.connect().execute(text)

    def test_bytes_are_utf_8(self, db: whence.Database) -> None:
        db.execute("INSERT INTO link VALUES ('ü', 'é', 1)".encode())
        assert ("ü", "é", 1) in db.rows("link")

    def test_a_byte_order_mark_is_no_text(self, db: whence.Database) -> None:
        assert db.execute(b"\xef\xbb\xbfINSERT INTO link VALUES ('x', 'y', 1)") is not None

    def test_other_bytes_are_refused_with_their_place(self, db: whence.Database) -> None:
        with pytest.raises(whence.ParseError, match=r"p\.sql:2: byte 0xff at offset 5 is not UTF-8"):
            db.execute(b"-- a\n\xff", name="p.sql")

    def test_what_is_no_text_is_refused(self, db: whence.Database) -> None:
        with pytest.raises(whence.TypeMismatchError, match="a program is text, not a int"):
            db.execute(5)  # type: ignore[arg-type]

    def test_the_last_commit_comes_back(self, db: whence.Database) -> None:
        commit = db.execute("DELETE FROM link; INSERT INTO link VALUES ('d', 'e', 1), ('e', 'f', 1);")
        assert commit is not None
        assert (commit.version, commit.inserted, commit.deleted) == (4, {"link": 2}, {})

    def test_nothing_runs_if_a_later_statement_is_no_sql(self, db: whence.Database) -> None:
        refusal(db, "INSERT INTO link VALUES ('c', 'd', 1); SELEC 5", whence.ParseError)

    def test_statements_before_a_failing_one_stay(self, db: whence.Database) -> None:
        with pytest.raises(whence.EvaluationError):
            db.execute(
                "INSERT INTO link VALUES ('c', 'd', 0); CREATE VIEW v AS SELECT 1 div cost AS x FROM link;"
                "INSERT INTO link VALUES ('d', 'e', 0)"
            )
        assert (db.version, len(db.rows("link"))) == (3, 3)

    def test_the_name_of_the_text_is_in_errors(self, db: whence.Database) -> None:
        with pytest.raises(whence.WhenceError, match=r"views\.sql:1:"):
            db.execute("CREATE VIEW v AS SELECT * FROM nothing", name="views.sql")


class TestViews:
    def test_a_view_is_evaluated_at_once(self, db: whence.Database) -> None:
        commit = db.execute("CREATE VIEW sources AS SELECT DISTINCT src FROM link")
        assert commit is not None
        assert (commit.inserted, db.rows("sources")) == ({"sources": 2}, {("a",), ("b",)})

    def test_a_view_follows_its_tables(self, db: whence.Database) -> None:
        db.execute(
            "CREATE MATERIALIZED VIEW reach AS WITH RECURSIVE r(src, dst) AS (SELECT src, dst FROM link UNION "
            "SELECT r.src, link.dst FROM r JOIN link ON r.dst = link.src) SELECT * FROM r"
        )
        assert db.rows("reach") == {("a", "b"), ("b", "c"), ("a", "c")}
        commit = db.delete("link", [("b", "c", 2)])
        assert (commit.deleted, db.rows("reach")) == ({"link": 1, "reach": 2}, {("a", "b")})

    def test_a_name_that_is_taken(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link")
        assert "'v'" in refusal(db, "CREATE VIEW v AS SELECT dst FROM link", whence.DuplicateNameError)
        assert "'link'" in refusal(db, "CREATE OR REPLACE VIEW link AS SELECT 1 AS x", whence.DuplicateNameError)
        assert "'link'" in refusal(db, "CREATE TABLE LINK(x INT)", whence.DuplicateNameError)

    def test_if_not_exists_does_nothing(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link")
        assert db.execute("CREATE VIEW IF NOT EXISTS v AS SELECT dst FROM link") is None
        assert db.execute("CREATE TABLE IF NOT EXISTS link(x INT)") is None
        assert db.table("v").column_names == ["src"]

    def test_replacing_changes_by_the_difference(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link; CREATE VIEW w AS SELECT src FROM v")
        commit = db.execute("CREATE OR REPLACE VIEW v AS SELECT src FROM link WHERE cost > 1")
        assert commit is not None
        assert (commit.inserted, commit.deleted) == ({}, {"v": 1, "w": 1})

    def test_replacing_by_other_columns(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link")
        db.execute("CREATE OR REPLACE VIEW v AS SELECT cost, dst FROM link")
        assert db.rows("v") == {(1, "b"), (2, "c")}
        assert {change["_change_type"] for change in db.changes("v").to_pylist()} == {"insert"}

    def test_replacing_what_others_were_made_for(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link; CREATE VIEW w AS SELECT src FROM v")
        message = refusal(db, "CREATE OR REPLACE VIEW v AS SELECT dst FROM link", whence.StateError)
        assert "view 'v' would get other columns, and it is in use by 'w'" in message
        assert "hint: keep its columns, or drop the views that use it first" in message

    def test_replacing_must_not_go_in_a_circle(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link; CREATE VIEW w AS SELECT src FROM v")
        message = refusal(db, "CREATE OR REPLACE VIEW v AS SELECT src FROM w", whence.StateError)
        assert "view 'v' would depend on itself, through 'w'" in message

    def test_a_view_that_cannot_be_computed_is_not_made(self, db: whence.Database) -> None:
        db.insert("link", [("z", "z", 0)])
        refusal(db, "CREATE VIEW v AS SELECT 1 div cost AS x FROM link", whence.EvaluationError)
        with pytest.raises(whence.UnknownNameError):
            db.rows("v")

    def test_a_change_that_a_view_cannot_follow_is_refused(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT 1 div cost AS x FROM link")
        before = (db.version, db.rows("link"), db.rows("v"))
        with pytest.raises(whence.EvaluationError):
            db.insert("link", [("z", "z", 0)])
        assert (db.version, db.rows("link"), db.rows("v")) == before


class TestDrop:
    def test_dropping(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link")
        db.execute("DROP VIEW v; DROP TABLE link")
        with pytest.raises(whence.UnknownNameError, match="there is no relation 'link'"):
            db.rows("link")

    def test_what_is_in_use_stays(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link; CREATE VIEW w AS SELECT dst FROM link")
        message = refusal(db, "DROP TABLE link", whence.StateError)
        assert "'link' cannot be dropped: it is in use by 'v', 'w'" in message
        assert "hint: drop what uses it first" in message

    def test_a_view_is_no_table(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link")
        assert "'v' is a view" in refusal(db, "DROP TABLE v", whence.WhenceError)
        assert "'link' is a table" in refusal(db, "DROP VIEW link", whence.WhenceError)

    def test_what_is_not_there(self, db: whence.Database) -> None:
        assert "did you mean 'link'?" in refusal(db, "DROP TABLE lnk", whence.UnknownNameError)
        assert db.execute("DROP TABLE IF EXISTS lnk") is None

    def test_a_name_can_be_used_again(self, db: whence.Database) -> None:
        db.execute("DROP TABLE link; CREATE TABLE link(src STRING, dst STRING, cost INT)")
        assert db.rows("link") == set()
        assert db.changes("link").num_rows == 0


class TestChanges:
    def test_insert_values(self, db: whence.Database) -> None:
        db.execute("INSERT INTO link VALUES ('x', NULL, 1 + 1)")
        assert ("x", None, 2) in db.rows("link")

    def test_insert_a_query(self, db: whence.Database) -> None:
        commit = db.execute("INSERT INTO link SELECT dst, src, cost FROM link")
        assert commit is not None
        assert (commit.inserted, ("c", "b", 2) in db.rows("link")) == ({"link": 2}, True)

    def test_a_query_with_duplicates_inserts_all_of_them(self, db: whence.Database) -> None:
        db.execute("CREATE TABLE t(x INT); INSERT INTO t SELECT 1 FROM link")
        assert db.table("t").num_rows == 2

    def test_a_query_reads_views(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT max(cost) AS top FROM link; CREATE TABLE t(x INT)")
        db.execute("INSERT INTO t SELECT top FROM v")
        assert db.rows("t") == {(2,)}

    def test_delete_where(self, db: whence.Database) -> None:
        db.insert("link", [("a", "b", 1)])
        commit = db.execute("DELETE FROM link WHERE cost < 2")
        assert commit is not None
        assert (commit.deleted, db.rows("link")) == ({"link": 2}, {("b", "c", 2)})

    def test_delete_everything(self, db: whence.Database) -> None:
        db.execute("DELETE FROM link")
        assert db.rows("link") == set()

    def test_a_view_takes_no_changes(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link")
        for sql in ("INSERT INTO v VALUES ('x')", "DELETE FROM v"):
            assert "'v' is a view" in refusal(db, sql, whence.WhenceError)

    def test_a_key_is_checked_in_sql_too(self, db: whence.Database) -> None:
        db.execute("CREATE TABLE k(x INT PRIMARY KEY, y INT)")
        assert "the key of another row of 'k'" in refusal(db, "INSERT INTO k VALUES (1, 1), (1, 2)", whence.DataError)


class TestSource:
    def test_a_table_with_a_source_starts_full(self, tmp_path: Path) -> None:
        (tmp_path / "links.csv").write_text("dst,src\nb,a\nc,b\n")
        db = whence.connect()
        commit = db.execute(
            "CREATE TABLE link(src STRING, dst STRING) TBLPROPERTIES ('source' = 'links.csv')", directory=tmp_path
        )
        assert commit is not None
        assert (commit.inserted, db.rows("link")) == ({"link": 2}, {("a", "b"), ("b", "c")})

    def test_a_bad_row_makes_no_table(self, tmp_path: Path) -> None:
        (tmp_path / "n.csv").write_text("x\n1\ntwo\n")
        db = whence.connect()
        with pytest.raises(whence.DataError, match=r"n\.csv:3: column 'x' must be INT, not 'two'"):
            db.execute("CREATE TABLE n(x INT) TBLPROPERTIES ('source' = 'n.csv')", directory=tmp_path)
        with pytest.raises(whence.UnknownNameError):
            db.rows("n")


def test_notices_are_kept_and_logged(db: whence.Database, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "whence"):
        db.execute("CREATE VIEW v AS SELECT src FROM link ORDER BY src; CREATE VIEW w AS SELECT src FROM v")
    assert db.notices == ("ORDER BY in 'v' is ignored: a view has no order",)
    assert [record.getMessage() for record in caplog.records if record.name == "whence"] == list(db.notices)
