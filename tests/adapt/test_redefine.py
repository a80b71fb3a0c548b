"""Definitions that change, one step at a time: what follows, what is refused, and what is left when something fails."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest

import whence
from whence.cli.main import main
from whence.database.database import Database
from whence.errors import DataError, DuplicateNameError, StateError, UnknownNameError, UnsupportedError
from whence.storage.sqlite.journal import StoredJournal

PROGRAM = """
    CREATE TABLE r(a INT, b INT);
    CREATE VIEW v AS SELECT a, b FROM r WHERE a > 1;
    CREATE VIEW w AS SELECT v.a, r.b FROM v, r WHERE v.b = r.b;
    CREATE VIEW n AS SELECT b, count(*) AS many FROM v GROUP BY b;
"""


def filled(db: Database) -> Database:
    db.execute(PROGRAM)
    db.insert("r", [(number, number % 4) for number in range(20)])
    return db


@pytest.fixture
def db() -> Database:
    return filled(whence.connect())


def contents(db: Database) -> dict[str, list[object]]:
    return {name: db.table(name).to_pylist() for name in db.catalog().relations}


def test_several_views_and_rows_are_one_version(db: Database) -> None:
    version = db.version
    heard = []
    db.subscribe("w", lambda table: heard.append(table.num_rows))
    with db.redefine() as change:
        change.execute("CREATE OR REPLACE VIEW v AS SELECT a, b FROM r WHERE a > 1 UNION ALL SELECT a, b FROM r")
        change.insert("r", [(100, 1)])
        change.delete("r", [(0, 0)])
    assert db.version == version + 1
    assert change.commit is not None and change.commit.inserted["r"] == 1
    assert len(heard) == 1
    assert db.changes("v", since=version).num_rows == change.commit.inserted["v"] + change.commit.deleted.get("v", 0)


def test_a_view_above_finds_its_columns_by_name(db: Database) -> None:
    before = contents(db)
    db.execute("CREATE OR REPLACE VIEW v AS SELECT b, a + 0 AS extra, a FROM r WHERE a > 1")
    assert contents(db)["w"] == before["w"]
    assert contents(db)["n"] == before["n"]


def test_what_a_view_above_needs_is_missed_with_the_place(db: Database) -> None:
    before = contents(db)
    with pytest.raises(StateError, match="in use by 'w', which reads column 'b'") as refused:
        db.execute("CREATE OR REPLACE VIEW v AS SELECT a FROM r")
    assert "FROM v, r WHERE v.b = r.b" in str(refused.value)
    assert contents(db) == before


def test_views_above_may_follow_in_the_same_step(db: Database) -> None:
    with db.redefine() as change:
        change.execute("CREATE OR REPLACE VIEW v AS SELECT a FROM r")
        change.execute("CREATE OR REPLACE VIEW w AS SELECT a FROM v WHERE a > 10; DROP VIEW n")
    assert db.rows("w") == {(number,) for number in range(11, 20)}
    assert "n" not in db.catalog().relations


def test_nothing_happens_if_the_block_raises(db: Database) -> None:
    before, version = contents(db), db.version
    with suppress(ZeroDivisionError), db.redefine() as change:
        change.drop("n")
        raise ZeroDivisionError
    assert (contents(db), db.version) == (before, version)


def test_a_view_must_not_come_to_read_itself(db: Database) -> None:
    with pytest.raises(StateError, match="view 'v' would depend on itself, through 'w'"):
        db.execute("CREATE OR REPLACE VIEW v AS SELECT a, b FROM w")


def test_columns_come_go_and_are_renamed(db: Database) -> None:
    before = contents(db)
    db.execute("ALTER TABLE r ADD COLUMN c STRING DEFAULT 'new'")
    assert (5, 1, "new") in db.rows("r")
    db.insert("r", [(5, 1, "other")])
    db.execute("ALTER TABLE r DROP COLUMN c")
    db.delete("r", [(5, 1)])
    db.execute("ALTER TABLE r RENAME COLUMN a TO first")
    assert db.catalog().relations["r"].column_names == ("first", "b")
    assert {name: rows for name, rows in contents(db).items() if name != "r"} == {
        name: rows for name, rows in before.items() if name != "r"
    }


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        ("ALTER TABLE r DROP COLUMN b", StateError, "in use by"),
        ("ALTER TABLE r DROP COLUMN nothing", UnknownNameError, "has no column 'nothing'"),
        ("ALTER TABLE r ADD COLUMN a INT", DuplicateNameError, "has a column 'a' already"),
        ("ALTER TABLE r ADD COLUMN c INT NOT NULL", DataError, "need a value"),
        ("ALTER TABLE v ADD COLUMN c INT", UnsupportedError, "is a view"),
        ("ALTER TABLE r RENAME TO q", UnsupportedError, "not supported in ALTER TABLE"),
        ("ALTER TABLE q ADD COLUMN c INT", UnknownNameError, "unknown table 'q'"),
        ("DROP VIEW v", StateError, "cannot be dropped"),
    ],
)
def test_refused(db: Database, sql: str, error: type[Exception], words: str) -> None:
    before, version = contents(db), db.version
    with pytest.raises(error, match=words):
        db.execute(sql)
    assert (contents(db), db.version) == (before, version)


def test_columns_that_keep_time_are_not_dropped() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE k(a INT PRIMARY KEY, b INT); CREATE TABLE t(a INT) TBLPROPERTIES ('ttl' = '1 minute')")
    with pytest.raises(StateError, match="part of its key"):
        db.execute("ALTER TABLE k DROP COLUMN a")
    with pytest.raises(StateError, match="when its rows came"):
        db.execute("ALTER TABLE t ADD COLUMN b INT")


def test_preview_changes_nothing_and_tells_what_happens(db: Database) -> None:
    before, version = contents(db), db.version
    sql = "CREATE OR REPLACE VIEW v AS SELECT a, b FROM r WHERE a > 1 UNION ALL SELECT a, b FROM r WHERE b = 3"
    preview = db.preview(sql, rows=True)
    assert (contents(db), db.version) == (before, version)
    assert "v" in preview.reused
    assert preview.cost < preview.from_scratch
    assert "v: derived from the old contents of v" in str(preview)
    assert preview.rows is not None
    commit = db.execute(sql)
    assert commit is not None
    came = {name: sum(n for n in delta.values() if n > 0) for name, delta in preview.rows.items()}
    assert {name: n for name, n in came.items() if n} == dict(commit.inserted)


def test_undo(db: Database) -> None:
    before = contents(db)
    db.execute("CREATE OR REPLACE VIEW v AS SELECT a, b FROM r")
    db.execute("CREATE OR REPLACE VIEW w AS SELECT a, b FROM v")
    db.undo_definition()
    db.undo_definition()
    assert contents(db) == before
    db.execute("ALTER TABLE r ADD COLUMN c INT")
    with pytest.raises(StateError, match="table 'r' has other columns"):
        db.undo_definition()
    with pytest.raises(StateError, match="no change of definitions"):
        whence.connect().undo_definition()


def test_a_database_in_a_directory_opens_with_the_new_definitions(tmp_path: Path) -> None:
    db = filled(whence.connect(tmp_path))
    with db.redefine() as change:
        change.execute("ALTER TABLE r ADD COLUMN c INT DEFAULT 7; CREATE OR REPLACE VIEW v AS SELECT a, c, b FROM r")
    expected = contents(db)
    db.close()
    with whence.connect(tmp_path) as again:
        assert contents(again) == expected
        again.execute("ALTER TABLE r RENAME COLUMN c TO d")
        assert {row[1] for row in again.rows("v")} == {7}


def test_when_it_cannot_be_written_the_old_definitions_stand(tmp_path: Path) -> None:
    db = filled(whence.connect(tmp_path))
    before, version = contents(db), db.version
    change = db.redefine()
    change.execute("ALTER TABLE r ADD COLUMN c INT; CREATE OR REPLACE VIEW v AS SELECT a, b FROM r")
    change.insert("r", [(1, 1, 1)])
    with (
        patch.object(StoredJournal, "_write", side_effect=OSError("disk full")),
        pytest.raises(OSError, match="disk full"),
    ):
        change.__exit__(None, None, None)
    assert (contents(db), db.version) == (before, version)
    db.insert("r", [(50, 1)])
    assert (50, 1) in db.rows("v")


def test_mappings_are_checked(db: Database) -> None:
    with pytest.raises(UnsupportedError, match="these mappings are cyclic: p <- q <- p"):
        db.mappings("r(A, B) -> p(A, B). q(A, B) -> p(A, B). p(A, B) -> q(A, B).")
    with pytest.raises(DuplicateNameError, match="there is a relation 'v' already"):
        db.mappings("r(A, B) -> v(A, B).")
    db.execute("CREATE TABLE empty(a INT, b INT)")
    with pytest.raises(StateError, match="'empty' is a table"):
        db.redefine().mappings("v(A, B) -> empty(A, B).")
    db.mappings("r(A, B) -> twice(A, A).")
    assert db.catalog().relations["twice"].column_names == ("A", "A_2")
    db.mappings("r(A, B), B = 1 -> one(A), pair(A, X), other(X, B).")
    assert {row[0] for row in db.rows("one")} == {1, 5, 9, 13, 17}
    assert {row[1] for row in db.rows("pair")} == {row[0] for row in db.rows("other")}


def test_an_existential_in_a_key_is_refused() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE people(name STRING)")
    with pytest.raises(UnsupportedError, match="part of the key of 'person'"):
        db.mappings(".decl person(id: symbol, name: symbol) key(id) people(N) -> person(I, N).")


def test_the_command_prints_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.sql", tmp_path / "new.sql"
    old.write_text(PROGRAM + "INSERT INTO r VALUES (1, 2), (3, 4), (5, 6);")
    new.write_text(PROGRAM.replace("WHERE a > 1", "WHERE a > 1 UNION ALL SELECT a, b FROM r WHERE b = 2"))
    assert main(["diff", str(old), str(new), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {view["name"] for view in found["views"]} == {"v", "w", "n"}
    assert main(["diff", str(old), str(new), "--dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph plan {")
    assert main(["diff", str(old), str(tmp_path / "new.dl")]) == 1


def test_a_view_above_is_read_again_when_a_column_can_be_null_now() -> None:
    """NULL is not equal to NULL in SQL, also in a view that was defined when there could be none."""
    db = whence.connect()
    db.execute("""
        CREATE TABLE r(a INT, b INT); CREATE VIEW v AS SELECT a FROM r WHERE a > 0;
        CREATE VIEW w AS SELECT v.a, r.b FROM v JOIN r ON v.a = r.a; CREATE VIEW n AS SELECT count(a) AS n FROM v;
    """)
    db.insert("r", [(1, 1), (None, 2)])
    db.execute("CREATE OR REPLACE VIEW v AS SELECT a FROM r")
    assert db.rows("w") == {(1, 1)}
    assert db.rows("n") == {(1,)}
    with db.redefine() as change:
        change.execute("CREATE OR REPLACE VIEW v AS SELECT a FROM r WHERE a > 0")
    assert db.rows("w") == {(1, 1)}


def test_derivations_bring_a_column_back() -> None:
    """Example 13: what the view does not show is in the provenance table of its rule."""
    db = whence.connect(derivations="kept")
    db.execute("CREATE TABLE b(e INT NOT NULL, t INT NOT NULL, n INT NOT NULL); CREATE TABLE t(t INT NOT NULL, n INT)")
    db.insert("b", [(number, number % 100, number) for number in range(2_000)])
    db.insert("t", [(number, 7 + number % 2) for number in range(100)])
    db.execute("CREATE VIEW gene AS SELECT b.e, b.n FROM b JOIN t ON b.t = t.t WHERE t.n = 7")
    preview = db.preview("CREATE OR REPLACE VIEW gene AS SELECT b.e, b.t, b.n FROM b JOIN t ON b.t = t.t WHERE t.n = 7")
    assert preview.reused == ("gene",)
    db.execute("CREATE OR REPLACE VIEW gene AS SELECT b.e, b.t, b.n FROM b JOIN t ON b.t = t.t WHERE t.n = 7")
    assert len(db.rows("gene")) == 1_000
    plain = whence.connect()
    plain.execute("CREATE TABLE b(e INT)")
    plain.execute("CREATE VIEW v TBLPROPERTIES ('derivations' = 'kept') AS SELECT e FROM b WHERE e > 1")
    plain.insert("b", [(1,), (2,)])
    assert plain.rows("v") == {(2,)}


def test_a_view_under_another_name_is_the_same(db: Database) -> None:
    before = db.rows("w")
    with db.redefine() as change:
        change.drop("w")
        change.execute("CREATE VIEW renamed AS SELECT v.a AS x, r.b AS y FROM v, r WHERE v.b = r.b")
        assert change.preview().reused == ("w",)
    assert db.rows("renamed") == before


def test_views_above_an_aggregate_go_on_when_it_changes(db: Database) -> None:
    db.execute("CREATE VIEW many AS SELECT b FROM n WHERE many > 2")
    version = db.version
    change = "CREATE OR REPLACE VIEW n AS SELECT b, count(*) AS many FROM v WHERE a < 10 GROUP BY b"
    preview = {view.name: view.kind for view in db.preview(change).views}
    assert preview == {"n": "rebuilt", "many": "follows"}
    commit = db.execute(change)
    assert commit is not None
    assert db.rows("n") == {(0, 2), (1, 2), (2, 2), (3, 2)} and db.rows("many") == set()
    assert commit.deleted == {"n": 4, "many": 4} and commit.inserted == {"n": 4}
    assert db.changes("many", since=version).num_rows == 4
    db.insert("r", [(4, 1), (5, 1)])
    assert db.rows("many") == {(1,)}


def test_who_begins_to_read_an_aggregate_that_changes_has_all_its_rows(db: Database) -> None:
    """Also those that are the same as before, which a join finds when something else changes."""
    with db.redefine() as change:
        change.execute("CREATE OR REPLACE VIEW n AS SELECT b, count(*) AS many FROM v WHERE b > 1 GROUP BY b")
        change.execute("CREATE OR REPLACE VIEW w AS SELECT n.many, r.b FROM n JOIN r ON n.b = r.b WHERE r.a < 0")
    assert db.rows("n") == {(2, 5), (3, 5)}
    db.insert("r", [(-1, 2)])
    assert db.rows("w") == {(5, 2)}


def test_a_large_aggregate_changes_by_what_differs() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE r(a INT NOT NULL, b INT NOT NULL)")
    db.insert("r", [(number % 5_000, number) for number in range(10_000)])
    db.execute("CREATE VIEW n AS SELECT a, max(b) AS most FROM r GROUP BY a")
    db.execute("CREATE VIEW even AS SELECT a FROM n WHERE most % 2 = 0")
    commit = db.execute("CREATE OR REPLACE VIEW n AS SELECT a, max(b) AS most FROM r WHERE b < 9001 GROUP BY a")
    assert commit is not None
    assert commit.inserted["n"] == commit.deleted["n"] == 999
    assert db.rows("even") == {(number,) for number in range(0, 5_000, 2)}
    db.delete("r", [(7, 5007), (7, 7)])
    assert (7,) not in {row[:1] for row in db.rows("n")}
    db.undo_definition()
    assert len(db.rows("n")) == 4_999 and ((4_001, 9_001) in db.rows("n"))


def test_copies_of_large_tables_hold_what_the_table_holds() -> None:
    """With columns in another order and constants beside them; then rows come and go in both."""
    db = whence.connect()
    db.execute("CREATE TABLE r(a INT NOT NULL, b STRING)")
    db.insert("r", [(number, None if number % 3 == 0 else f"text {number % 7}") for number in range(9_000)])
    db.insert("r", [(1, "text 1")])
    db.execute("CREATE VIEW turned AS SELECT b, a, 7 AS c, CAST(NULL AS STRING) AS d FROM r")
    assert db.changes("turned").num_rows == 9_001
    db.delete("r", [(1, "text 1"), (0, None)])
    db.insert("r", [(0, "now")])
    expected = sorted((b or "", a, 7, "") for a, b in ((*row.values(),) for row in db.table("r").to_pylist()))
    found = sorted(
        (b or "", a, c, d or "") for b, a, c, d in ((*row.values(),) for row in db.table("turned").to_pylist())
    )
    assert found == expected


@pytest.mark.parametrize("again", ["r(a INT, b INT)", "r(a INT, b INT) TBLPROPERTIES ('ttl' = '1 day')"])
def test_a_table_is_not_dropped_and_made_again_in_one_step(db: Database, again: str) -> None:
    before = contents(db)
    with pytest.raises(StateError, match="cannot be dropped and made again") as refused, db.redefine() as change:
        change.drop("r")
        change.execute(f"CREATE TABLE {again}")
    assert "CREATE TABLE r" in str(refused.value)
    assert contents(db) == before


def test_a_new_table_is_joined_in_the_step_that_makes_it(db: Database) -> None:
    """Nothing is known of its values when plans are made."""
    with db.redefine() as change:
        change.execute("CREATE TABLE names(b INT, name STRING)")
        change.execute(
            "CREATE OR REPLACE VIEW w AS SELECT v.a, n.name FROM v, names n WHERE v.b = n.b AND n.name = 'x'"
        )
        change.insert("names", [(1, "x"), (2, "y")])
    assert db.rows("w") == {(number, "x") for number in range(2, 20) if number % 4 == 1}


def test_mappings_with_other_variables_keep_the_columns(db: Database) -> None:
    db.mappings("r(A, B) -> m(A, B). m(A, B) -> above(B).")
    with db.redefine() as change:
        change.mappings("r(X, 1) -> m(X, X).")
    assert db.catalog().relations["m"].column_names == ("A", "B")
    assert db.rows("above") == {(number,) for number in range(20) if number % 4 == 1}
