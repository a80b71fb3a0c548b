"""What a disk got wrong is found, and files that are not what they should be are refused."""

from __future__ import annotations

import datetime
import os
import shutil
import sqlite3
from pathlib import Path
from random import Random

import pytest

import whence
from benchmarks.damage import search
from whence.model.schema import Column, Relation
from whence.model.types import INT
from whence.session.lifetimes import Arrival, Lifetimes
from whence.storage.sqlite.files import DATABASE_FILE

FLIPS = int(os.environ.get("WHENCE_FLIPS", "60"))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with whence.connect(tmp_path / "state") as db:
        db.execute("CREATE TABLE beat(x INT) TBLPROPERTIES ('ttl' = '1 day')")
        db.execute("CREATE TABLE last(x INT) TBLPROPERTIES ('window_rows' = '2')")
        db.advance("2026-01-01")
        for x in range(4):
            db.insert("beat", [(x,)])
            db.insert("last", [(x,)])
    return tmp_path / "state"


def edit(state: Path, statement: str) -> None:
    connection = sqlite3.connect(state / DATABASE_FILE)
    with connection:
        assert connection.execute(statement).rowcount == 1
    connection.close()


def test_any_bit() -> None:
    seed = Random().randrange(2**32)
    assert search(whence.connect, 20, Random(seed), FLIPS).total() == FLIPS, f"the seed was {seed}"


@pytest.mark.parametrize("change", ["DROP COLUMN leaves", "RENAME COLUMN leaves TO leavds"])
def test_a_table_of_other_columns(tmp_path: Path, change: str) -> None:
    with whence.connect(tmp_path / "state") as db:
        db.execute("CREATE TABLE plain(x INT); INSERT INTO plain VALUES (1), (2)")
    connection = sqlite3.connect(tmp_path / "state" / DATABASE_FILE)
    with connection:
        connection.execute(f"ALTER TABLE rows_1 {change}")
    connection.close()
    with pytest.raises(whence.StateError, match="the rows of 'plain' are not those that were written"):
        whence.connect(tmp_path / "state")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE rows_1 SET leaves = replace(leaves, '2026', '2036') WHERE c0 = 1", "rows of 'beat' are not those"),
        ("UPDATE rows_1 SET leaves = NULL WHERE c0 = 1", "rows of 'beat' are not those"),
        ("UPDATE rows_1 SET leaves = 'no list' WHERE c0 = 1", "rows of 'beat' are not those"),
        ("UPDATE rows_2 SET arrivals = '[0]' WHERE c0 = 3", "rows of 'last' are not those"),
        ("UPDATE rows_1 SET c0 = 'text' WHERE c0 = 1", "rows of 'beat' are not those"),
        ("UPDATE state SET time = '2027-01-01 00:00:00'", "its version is not the one"),
        ("DELETE FROM state", "its version is not the one"),
        ("UPDATE relations SET number = 7 WHERE number = 1", "its definitions are not those"),
        ("UPDATE sources SET text = '' WHERE number = 1", "its definitions are not those"),
        ("UPDATE vitals SET dropped = 0, newest = 0 WHERE relation = 1", "what it knows about a table or view"),
        ("DELETE FROM vitals WHERE relation = 1", "rows of 'beat' are not those"),
    ],
)
def test_what_is_not_what_was_written(state: Path, statement: str, message: str) -> None:
    edit(state, statement)
    with pytest.raises(whence.StateError, match=f"is damaged: .*{message}"):
        whence.connect(state)


@pytest.mark.parametrize(
    ("version", "message"), [(4, "before version 6"), (6, "before version 8"), (10, "in version 10")]
)
def test_a_missing_change(state: Path, version: int, message: str) -> None:
    edit(state, f"DELETE FROM changes WHERE version = {version} AND relation = 1")
    with whence.connect(state) as db:
        with pytest.raises(whence.StateError, match=f"changes of 'beat' {message} (are|is)? ?missing"):
            db.changes("beat")
        assert db.changes("last").num_rows == 8 - 2
        if version < 10:
            assert db.changes("beat", since=version).num_rows == (10 - version) // 2


def test_a_log_without_its_end(state: Path, tmp_path: Path) -> None:
    with whence.connect(state) as db:
        db.insert("beat", [(10,)])
        db.insert("beat", [(11,)])
        copy = Path(shutil.copytree(state, tmp_path / "copy"))
    log = copy / f"{DATABASE_FILE}-wal"
    log.write_bytes(log.read_bytes()[:-100])
    with pytest.raises(whence.StateError, match="version 13 was committed, and what is left is version 12"):
        whence.connect(copy)
    log.unlink()
    with pytest.raises(whence.StateError, match="version 13 was committed, and what is left is version 11"):
        whence.connect(copy)


def test_a_directory_that_was_deleted(state: Path) -> None:
    with whence.connect(state) as db:
        db.insert("beat", [(10,)])
        shutil.rmtree(state)
        with pytest.raises(whence.StateError, match="have been deleted or replaced"):
            db.insert("beat", [(11,)])
        assert (11,) not in db.rows("beat")


def test_a_log_that_was_deleted(state: Path) -> None:
    with whence.connect(state) as db:
        db.insert("beat", [(10,)])
        (state / f"{DATABASE_FILE}-wal").unlink()
        with pytest.raises(whence.StateError, match="have been deleted or replaced"):
            db.insert("beat", [(11,)])


@pytest.mark.parametrize("name", [DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-version", "lock"])
@pytest.mark.parametrize("kind", ["fifo", "directory", "link"])
def test_something_else_in_the_place_of_a_file(state: Path, name: str, kind: str) -> None:
    (state / name).unlink(missing_ok=True)
    elsewhere = state.parent / "elsewhere"
    elsewhere.write_text("mine")
    match kind:
        case "fifo":
            os.mkfifo(state / name)
        case "directory":
            (state / name).mkdir()
        case _:
            (state / name).symlink_to(elsewhere)
    with pytest.raises(whence.StateError, match=f"{name} is not a file of a database"):
        whence.connect(state)
    assert elsewhere.read_text() == "mine"


def test_a_thousand_columns_without_a_key(tmp_path: Path) -> None:
    columns = ", ".join(f"c{at} INT" for at in range(1000))
    with whence.connect(tmp_path) as db:
        db.execute(f"CREATE TABLE wide({columns})")
        rows = [tuple(range(1000)), (*range(999), None)]
        db.insert("wide", rows)
        db.insert("wide", rows[:1])
        db.delete("wide", rows)
    with whence.connect(tmp_path) as db:
        assert db.rows("wide") == {rows[0]}


def test_commits_have_times_that_do_not_go_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
    monkeypatch.setattr("whence.session.session.wall_clock", lambda: now)
    with whence.connect(tmp_path) as db:
        db.execute("CREATE TABLE t(x INT)")
        now -= datetime.timedelta(hours=1)
        assert db.insert("t", [(1,)]).timestamp == now + datetime.timedelta(hours=1)
    with whence.connect(tmp_path) as db:
        assert db.insert("t", [(2,)]).timestamp == now + datetime.timedelta(hours=1)
        assert len(set(db.changes("t").column("_commit_timestamp").to_pylist())) == 1


def test_a_row_that_comes_again_and_again_is_in_the_queue_a_few_times() -> None:
    lifetimes = Lifetimes(Relation("t", (Column("x", INT),), distinct=True))
    beginning = datetime.datetime(2026, 1, 1)
    for second in range(3000):
        lifetimes.record([Arrival((1,), beginning + datetime.timedelta(seconds=second))])
    assert len(lifetimes._queue) < 200  # noqa: SLF001 - nobody sees it from outside
    assert lifetimes.due(beginning + datetime.timedelta(seconds=2998)) == {}
    assert lifetimes.due(beginning + datetime.timedelta(seconds=2999)) == {(1,): 1}
