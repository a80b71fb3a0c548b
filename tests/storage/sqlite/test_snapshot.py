"""A directory that is read while another process, or nobody, has it open."""

from __future__ import annotations

from pathlib import Path

import pytest

import whence
from whence.cli.targets import snapshot
from whence.model.updates import Version
from whence.storage.sqlite.directory import FeedReader

PROGRAM = """
.decl link(src: symbol, dst: symbol)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""


@pytest.fixture
def db(tmp_path: Path) -> whence.Database:
    db = whence.connect(tmp_path / "db")
    db.rules(PROGRAM)
    db.insert("link", [("a", "b"), ("b", "c")])
    return db


def test_it_is_what_the_last_commit_left(db: whence.Database, tmp_path: Path) -> None:
    with snapshot(tmp_path / "db") as copy:
        db.insert("link", [("c", "d")])
        assert (copy.version, copy.rows("link")) == (2, {("a", "b"), ("b", "c")})
        assert copy.rows("reachable") == {("a", "b"), ("b", "c"), ("a", "c")}
        assert copy.changes("reachable", 1).num_rows == 3
    with snapshot(tmp_path / "db") as copy:
        assert copy.version == 3 and ("a", "d") in copy.rows("reachable")


def test_it_takes_no_commits(db: whence.Database, tmp_path: Path) -> None:
    with snapshot(tmp_path / "db") as copy:
        with pytest.raises(whence.StateError, match="was opened for reading, and takes no version 3") as error:
            copy.insert("link", [("x", "y")])
        assert error.value.hint == "whence.connect() opens it for changes"
        assert copy.rows("link") == db.rows("link") == {("a", "b"), ("b", "c")}
        assert ("x", "y") in copy.what_if(insert={"link": [("x", "y")]}).changes["reachable"]
    db.insert("link", [("x", "y")])
    assert db.version == 3


def test_a_directory_that_nobody_has_open(db: whence.Database, tmp_path: Path) -> None:
    db.close()
    for _ in range(2):
        with snapshot(tmp_path / "db") as copy:
            assert ("a", "c") in copy.rows("reachable")
    with whence.connect(tmp_path / "db") as again:
        again.insert("link", [("c", "d")])


def test_changes_are_read_one_after_the_other(db: whence.Database, tmp_path: Path) -> None:
    reader = FeedReader(tmp_path / "db")
    assert [entry.version for entry in reader.changes("REACHABLE", Version(0)).entries] == [2]
    db.insert("link", [("c", "d")])
    db.execute("CREATE TABLE other(x INT)")
    news = reader.changes("reachable", Version(2))
    assert (news.version, [entry.version for entry in news.entries]) == (4, [3])
    assert news.entries[0].delta == {("a", "d"): 1, ("b", "d"): 1, ("c", "d"): 1}
    with pytest.raises(whence.UnknownNameError, match="there is no relation 'reach'"):
        reader.changes("reach", Version(0))
    # An error leaves nothing open that would keep a commit waiting.
    db.insert("link", [("d", "e")])
    assert reader.version() == 5


def test_what_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(whence.UnknownNameError, match="there is no database in"):
        snapshot(tmp_path / "none")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(whence.StateError, match="holds other files, and no database of whence"):
        snapshot(tmp_path)
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "whence.db").write_bytes(b"not a database" * 100)
    with pytest.raises(whence.StateError, match=r"is damaged: whence\.db does not begin as it should"):
        snapshot(tmp_path / "db")
    assert not (tmp_path / "none").exists()
