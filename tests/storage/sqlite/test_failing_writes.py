"""When the disk does not take a commit, it has not happened, and everything can still be read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import whence
from whence.storage.sqlite import files, journal

PAGES = 120

SCHEMA = """
    CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, PRIMARY KEY (src, dst));
    CREATE TABLE beat(node INT, name STRING) TBLPROPERTIES ('ttl' = '2 minutes');
    CREATE TABLE last(node INT, name STRING) TBLPROPERTIES ('window_rows' = '5');
    CREATE VIEW degree AS SELECT src, count(*) AS n FROM link GROUP BY src;
"""
REACHABLE = "reachable(x, y) :- link(x, y). reachable(x, y) :- link(x, z), reachable(z, y)."
RELATIONS = ("link", "beat", "last", "degree", "reachable")


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> whence.Database:
    """A database with little room."""
    original = files.writing

    def small(directory: Path) -> sqlite3.Connection:
        connection = original(directory)
        connection.execute(f"PRAGMA max_page_count = {PAGES}")
        return connection

    monkeypatch.setattr(files, "writing", small)
    db = whence.connect(tmp_path)
    db.execute(SCHEMA)
    db.rules(REACHABLE)
    db.advance("2026-01-01 00:00:00")
    db.insert("link", [(1, 2), (2, 3)])
    db.insert("beat", [(1, "a"), (1, "a")])
    db.insert("last", [(1, "a"), (1, "a"), (2, "b")])
    return db


def everything(db: whence.Database) -> list[object]:
    found = [db.version, db.notices, db.catalog()]
    return found + [part for name in RELATIONS for part in (db.table(name), db.changes(name))]


def many(start: int) -> list[tuple[int, str]]:
    return [(x, f"{x:0100}") for x in range(start, start + 5000)]


def test_a_full_disk(db: whence.Database, tmp_path: Path) -> None:
    before = everything(db)
    for name in ("beat", "last"):
        with pytest.raises(whence.StateError, match=r"could not be written to .*: database or disk is full") as caught:
            db.insert(name, many(0) if name == "beat" else [(x, "long" * 300_000) for x in range(3)])
        assert caught.value.hint == "it did not happen; the database can be read as before"
        assert everything(db) == before
    batch = db.batch()
    batch.delete("link", [(1, 2)])
    batch.insert("beat", many(0))
    with pytest.raises(whence.StateError, match="database or disk is full"), batch:
        pass
    assert everything(db) == before
    # What there is room for still goes, with the keys, lifetimes and windows of before.
    db.delete("link", [(1, 2)])
    db.insert("link", [(1, 2)])
    db.insert("last", [(3, "c"), (4, "d"), (5, "e")])
    assert db.rows("last") == {(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")}
    assert db.advance("2026-01-01 00:02:00").deleted == {"beat": 2}
    after = everything(db)
    db.close()
    with whence.connect(tmp_path) as again:
        assert everything(again) == after


class TestAnyFailure:
    """An error right before the end of the transaction."""

    @pytest.fixture(autouse=True)
    def _failing(self, db: whence.Database, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        monkeypatch.setattr(journal.StoredJournal, "_drop_changes", fail)

    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM link WHERE src = 1",
            "INSERT INTO link VALUES (3, 1)",
            "INSERT INTO last VALUES (7, 'x'), (8, 'x'), (9, 'x')",
            "CREATE TABLE other(x INT)",
            "CREATE VIEW other AS SELECT y FROM reachable",
            "CREATE OR REPLACE VIEW degree AS SELECT src, count(*) AS n FROM link WHERE dst > 2 GROUP BY src",
            "DROP VIEW degree",
            "DROP TABLE beat",
        ],
    )
    def test_nothing_has_happened(
        self, db: whence.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
    ) -> None:
        before = everything(db)
        with pytest.raises(whence.StateError, match=r"could not be written to .*: disk I/O error"):
            db.execute(statement)
        assert everything(db) == before
        with pytest.raises(whence.StateError, match="disk I/O error"):
            db.advance("2026-01-01 01:00:00")
        assert everything(db) == before
        monkeypatch.undo()
        db.execute(statement)
        db.close()
        with whence.connect(tmp_path) as again:
            assert again.version == before[0] + 1  # type: ignore[operator]


@pytest.mark.parametrize("kept", [False, True])
def test_an_interrupted_commit_happens_in_both_places_or_in_none(
    db: whence.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    append = journal.StoredJournal.append

    def interrupted(self: journal.StoredJournal, record: object) -> None:
        if kept:
            append(self, record)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    version = db.version
    monkeypatch.setattr(journal.StoredJournal, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        db.insert("link", [(3, 1)])
    monkeypatch.undo()
    assert db.version == version + kept
    assert ((3, 1) in db.rows("link")) == ((3, 3) in db.rows("reachable")) == kept
    db.delete("link", [(1, 2)])
    after = everything(db)
    db.close()
    with whence.connect(tmp_path) as again:
        assert everything(again) == after


def test_a_change_that_cannot_be_taken_back(
    db: whence.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory and disk differ then, so that only the disk counts."""

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(journal.StoredJournal, "append", fail)
    monkeypatch.setattr("whence.session.journal.ReversibleChanges._take_back", fail)
    with pytest.raises(KeyboardInterrupt):
        db.insert("link", [(3, 1)])
    for use in (lambda: db.rows("link"), lambda: db.insert("link", [(4, 1)])):
        with pytest.raises(whence.StateError, match="a change was interrupted and could not be taken back"):
            use()
    db.close()
    monkeypatch.undo()
    with whence.connect(tmp_path) as again:
        assert again.rows("link") == {(1, 2), (2, 3)}


def test_a_definition_that_cannot_be_kept_is_refused_at_once(
    db: whence.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whence.storage.sqlite.definitions.to_datalog", lambda program: "")
    before = everything(db)
    with pytest.raises(whence.UnsupportedError, match="the definition of 'v' cannot be kept in a file"):
        db.execute("CREATE VIEW v AS SELECT src FROM link")
    assert everything(db) == before
