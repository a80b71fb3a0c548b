"""What is not a database of this program and version, not whole, or not free, is left as it is, and told so."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import whence
from whence.storage.sqlite.files import DATABASE_FILE

HOLD = """
import sys, whence
with whence.connect(sys.argv[1]) as db:
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A closed database with some pages of rows and changes."""
    with whence.connect(tmp_path / "state") as db:
        db.execute("CREATE TABLE t(x INT, y STRING); CREATE VIEW v AS SELECT y, count(*) AS n FROM t GROUP BY y")
        for start in range(0, 3000, 1000):
            db.insert("t", [(x, f"row {x % 700}") for x in range(start, start + 1000)])
    return tmp_path / "state"


def files_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "lock"}


def test_a_second_process_is_refused(state: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(state)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        with pytest.raises(whence.StateError, match=rf"database in .*/state is open already, in process {other.pid}"):
            whence.connect(state)
        other.kill()
        other.wait()
        # The lock went with the process.
        with whence.connect(state) as db:
            assert db.version == 5


def test_the_same_process_is_refused_too(state: Path) -> None:
    with whence.connect(state) as db:
        with pytest.raises(whence.StateError, match=f"is open already, in process {os.getpid()}"):
            whence.connect(state)
        db.insert("t", [(1, "still mine")])
    whence.connect(state).close()


# Newer Pythons warn of connections that nobody closed, and are right.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_database_that_nobody_closed_is_free_when_nobody_has_it(state: Path) -> None:
    db = whence.connect(state)
    db.insert("t", [(-1, "last")])
    del db
    with whence.connect(state) as again:
        assert again.version == 6


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a process with threads warns when it forks")
def test_a_forked_child_is_another_process(state: Path) -> None:
    with whence.connect(state) as db:
        child = os.fork()
        if child == 0:
            try:
                db.insert("t", [(1, "child")])
            except whence.StateError as error:
                os._exit(7 if "open in another process" in error.message else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert db.insert("t", [(1, "parent")]).version == 6


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(whence.StateError, match="file is a file, and a database is kept in a directory"):
        whence.connect(tmp_path / "file")
    with pytest.raises(whence.StateError, match=r"the database in .*/file/below cannot be opened"):
        whence.connect(tmp_path / "file" / "below")


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(whence.StateError, match="holds other files, and no database of whence"):
        whence.connect(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_the_database_of_another_program(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / DATABASE_FILE) as connection:
        connection.execute("CREATE TABLE t(x)")
    connection.close()
    before = files_of(tmp_path)
    with pytest.raises(whence.StateError, match=r"whence\.db belongs to another program"):
        whence.connect(tmp_path)
    assert files_of(tmp_path) == before


def test_another_version_of_the_format(state: Path) -> None:
    with sqlite3.connect(state / DATABASE_FILE) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = files_of(state)
    with pytest.raises(whence.StateError, match="has format 99, and this version of whence reads format 3"):
        whence.connect(state)
    assert files_of(state) == before


@pytest.mark.parametrize("share", [0.0, 0.001, 0.2, 0.5, 0.9, 0.99])
def test_a_truncated_file(state: Path, share: float) -> None:
    file = state / DATABASE_FILE
    with file.open("r+b") as opened:
        opened.truncate(int(file.stat().st_size * share))
    before = files_of(state)
    with pytest.raises(whence.StateError, match=r"the database in .*/state is damaged") as caught:
        whence.connect(state)
    assert "nothing has been written to it" in str(caught.value.hint)
    assert files_of(state) == before


def test_a_missing_file(state: Path) -> None:
    (state / DATABASE_FILE).rename(state / f"{DATABASE_FILE}-wal")
    with pytest.raises(whence.StateError, match=r"damaged: whence\.db is missing"):
        whence.connect(state)


def test_other_bytes_are_never_taken_for_data(state: Path, tmp_path: Path) -> None:
    """Wherever a byte is wrong: an error, or a part of the file that holds nothing."""
    with whence.connect(state) as db:
        expected = [db.table("t"), db.table("v"), db.changes("t"), db.changes("v")]
        catalog = db.catalog()
    whole = (state / DATABASE_FILE).read_bytes()
    seed = Random().randrange(2**32)
    chance = Random(seed)
    refused = 0
    for number in range(40):
        copy = tmp_path / str(number)
        shutil.copytree(state, copy)
        damaged = bytearray(whole)
        at = chance.randrange(len(whole))
        damaged[at] ^= 1 << chance.randrange(8)
        (copy / DATABASE_FILE).write_bytes(damaged)
        try:
            with whence.connect(copy) as db:
                found = [db.table("t"), db.table("v"), db.changes("t"), db.changes("v")]
                assert (found, db.catalog()) == (expected, catalog), f"byte {at}, seed {seed}"
        except whence.StateError:
            refused += 1
    assert refused > 10, f"seed {seed}"


def test_a_crash_while_the_database_was_made(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("4711\n")
    (tmp_path / "whence.db.new").write_bytes(b"SQLite format 3\0 and no more")
    with whence.connect(tmp_path) as db:
        db.execute("CREATE TABLE t(x INT)")
    with whence.connect(tmp_path) as db:
        assert db.version == 1


@pytest.mark.parametrize("target", ["", "a\0b"])
def test_what_is_no_path(target: str) -> None:
    with pytest.raises(whence.TypeMismatchError, match="a directory goes by its path"):
        whence.connect(target)
