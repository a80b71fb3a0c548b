"""What a database remembers of its changes, and what it says about the rest."""

from __future__ import annotations

import pytest

import whence


@pytest.fixture
def db() -> whence.Database:
    db = whence.connect(keep_versions=3)
    db.execute("CREATE TABLE t(x INT); CREATE TABLE other(x INT); CREATE VIEW v AS SELECT x + 1 AS y FROM t")
    return db


def versions(db: whence.Database, relation: str, since: int | None = None) -> list[int]:
    found: list[int] = db.changes(relation, since).column("_commit_version").to_pylist()
    return found


def test_the_last_versions_are_kept(db: whence.Database) -> None:
    for x in range(5):
        db.insert("t", [(x,)])
    assert db.version == 8
    assert versions(db, "v", since=5) == [6, 7, 8]
    assert versions(db, "v", since=7) == [8]


def test_there_is_no_silent_gap(db: whence.Database) -> None:
    for x in range(5):
        db.insert("t", [(x,)])
    for since in (4, 0, None):
        with pytest.raises(whence.StateError) as caught:
            db.changes("v", since)
        assert str(caught.value) == (
            "the changes of 'v' are there from version 6 on; older ones are forgotten\n"
            "hint: ask for those since=5 or later, or keep more with connect(keep_versions=...), which is 3 now"
        )


def test_nothing_is_missing_where_nothing_happened(db: whence.Database) -> None:
    db.insert("other", [(1,)])
    for x in range(9):
        db.insert("t", [(x,)])
    db.execute("CREATE VIEW late AS SELECT x FROM t")
    assert versions(db, "late") == [14] * 9, "a view that is newer than what was forgotten"
    assert versions(db, "other", since=4) == [], "nothing came after that version"
    with pytest.raises(whence.StateError, match="the changes of 'other' are there from version 5 on"):
        db.changes("other", since=3)


def test_a_name_that_is_given_again_has_a_history_of_its_own(db: whence.Database) -> None:
    for x in range(5):
        db.insert("t", [(x,)])
    db.execute("DROP VIEW v; CREATE VIEW v AS SELECT count(*) AS n FROM t")
    assert versions(db, "v") == [10]
    db.insert("t", [(9,)])
    assert versions(db, "v") == [10, 11, 11]
    for x in range(3):
        db.insert("t", [(x,)])
    with pytest.raises(whence.StateError, match="from version 12 on"):
        db.changes("v")


def test_a_thousand_unless_said_otherwise() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(x INT)")
    for x in range(1001):
        db.insert("t", [(x,)])
    assert len(versions(db, "t", since=2)) == 1000
    with pytest.raises(whence.StateError):
        db.changes("t", since=1)


@pytest.mark.parametrize("number", [0, -1, "10", None, 1.5])
def test_it_is_a_number_of_versions(number: object) -> None:
    with pytest.raises(whence.TypeMismatchError, match="keep_versions is a number of versions, not"):
        whence.connect(keep_versions=number)  # type: ignore[arg-type]
