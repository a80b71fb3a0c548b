"""A directory followed while another process commits to it: each version that is seen is what that process has."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import whence
from benchmarks.killing import Victims, commit
from whence.database.connect import FollowedDatabase, open_snapshot
from whence.engines.local.engine import LocalEngine
from whence.model.types import Row
from whence.storage.sqlite.files import DATABASE_FILE
from whence.storage.sqlite.follower import Follower

RUN = """
import sys, whence
with whence.connect(sys.argv[1]) as db:
    for line in sys.stdin:
        db.execute(line)
        print(db.version, flush=True)
"""
KILLS = 12
LOG = f"{DATABASE_FILE}-wal"
# A page of SQLite in the log, with its header; and what is before the first.
FRAME, HEADER = 4096 + 24, 32


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def writer(state: Path) -> Iterator[whence.Database]:
    with whence.connect(state) as db:
        db.execute("CREATE TABLE link(src STRING, dst STRING, PRIMARY KEY (src, dst))")
        db.rules("reachable(x, y) :- link(x, y). reachable(x, y) :- link(x, z), reachable(z, y).")
        db.insert("link", [("a", "b"), ("b", "c")])
        yield db


class OtherProcess:
    """Has a directory open, and runs statements there until it is killed."""

    def __init__(self, directory: Path) -> None:
        command = [sys.executable, "-c", RUN, str(directory)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, statement: str) -> int:
        """The version after it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(statement, file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def other(writer: whence.Database, state: Path) -> Iterator[OtherProcess]:
    """What the writer has made, in the hands of another process."""
    writer.close()
    other = OtherProcess(state)
    yield other
    other.kill()


def follow(directory: Path) -> Follower:
    return Follower(directory, LocalEngine)


def contents(db: whence.Database) -> dict[str, set[Row]]:
    return {name: db.rows(name) for name in sorted(db.catalog().relations)}


def check_equal(follower: Follower, twin: whence.Database) -> None:
    """The twin has made the same commits in memory."""
    followed = whence.Database(follower.session)
    assert followed.version == twin.version
    assert contents(followed) == contents(twin), f"at version {twin.version}"
    for name in twin.catalog().relations:
        since = max(0, twin.version - 20)
        ours, theirs = (each.changes(name, since).drop(["_commit_timestamp"]) for each in (followed, twin))
        assert ours == theirs, f"the changes of {name!r} at version {twin.version}"


def stamps(directory: Path) -> Mapping[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()}


def test_a_process_that_commits_and_is_killed(state: Path) -> None:
    """With other definitions in between, time that advances, and logs that are moved to their place."""
    seed = Random().randrange(2**32)
    chance = Random(seed)
    followed = begun = 0
    with whence.connect(state) as db:
        commit(db)
    with whence.connect() as twin, Victims() as victims, ThreadPoolExecutor(1) as pool:
        follower = follow(state)
        for _ in range(KILLS):
            killing = pool.submit(victims.kill_one, state, chance)
            is_over = False
            while not is_over:
                is_over = killing.done()
                session, version = follower.session, follower.session.version
                follower.catch_up()
                if follower.session.version == version:
                    continue
                if follower.session is session:
                    followed += 1
                else:
                    begun += 1
                while twin.version < follower.session.version:
                    commit(twin)
                check_equal(follower, twin)
            assert follower.session.version >= killing.result(), f"a commit is missing; the seed was {seed}"
    assert followed > 0 and begun > 0, f"the seed was {seed}"


def test_a_commit_is_followed_and_not_computed_anew(writer: whence.Database, state: Path) -> None:
    follower = follow(state)
    session = follower.session
    for node in "defg":
        writer.insert("link", [("c", node)])
        writer.delete("link", [("c", node)])
        writer.insert("link", [("c", node), (node, "a")])
        follower.catch_up()
        check_equal(follower, writer)
    assert follower.session is session


def test_other_definitions(writer: whence.Database, state: Path) -> None:
    with FollowedDatabase(state) as followed:
        writer.execute("CREATE VIEW ends AS SELECT dst FROM link WHERE src = 'a'")
        assert followed.rows("ends") == {("b",)}
        writer.execute("CREATE OR REPLACE VIEW ends AS SELECT src FROM link WHERE dst = 'c'")
        writer.insert("link", [("z", "c")])
        assert followed.rows("ends") == {("b",), ("z",)}
        writer.execute("DROP VIEW ends")
        assert sorted(followed.catalog().relations) == ["link", "reachable"]
        writer.execute("DROP VIEW reachable; DROP TABLE link; CREATE TABLE link(n INT)")
        writer.insert("link", [(1,)])
        assert followed.rows("link") == {(1,)} and followed.version == writer.version


def test_changes_that_are_forgotten(state: Path) -> None:
    with whence.connect(state, keep_versions=2) as writer:
        writer.execute("CREATE TABLE t(x INT); CREATE VIEW v AS SELECT count(*) AS n FROM t")
        follower = follow(state)
        for x in range(5):
            writer.insert("t", [(x,)])
        follower.catch_up()
        assert whence.Database(follower.session).rows("v") == {(5,)}
        session = follower.session
        writer.delete("t", [(0,)])
        follower.catch_up()
        assert whence.Database(follower.session).rows("v") == {(4,)} and follower.session is session


def test_another_database_in_the_same_place(writer: whence.Database, state: Path) -> None:
    with FollowedDatabase(state) as followed:
        writer.close()
        shutil.rmtree(state)
        with pytest.raises(whence.StateError, match="cannot be read: unable to open database file"):
            followed.rows("link")
        with whence.connect(state) as other:
            other.execute("CREATE TABLE link(src STRING, dst STRING, PRIMARY KEY (src, dst))")
            other.rules("reachable(x, y) :- link(x, y). reachable(x, y) :- link(x, z), reachable(z, y).")
            other.insert("link", [("x", "y")])
            assert followed.rows("reachable") == {("x", "y")}


def test_nothing_is_written(other: OtherProcess, state: Path) -> None:
    assert other.run("INSERT INTO link VALUES ('c', 'd')") == 4
    before = stamps(state)
    with FollowedDatabase(state) as followed:
        assert len(followed.rows("reachable")) == 6 and followed.changes("link").num_rows == 3
        assert stamps(state) == before
        other.run("INSERT INTO link VALUES ('d', 'e')")
        before = stamps(state)
        assert len(followed.rows("reachable")) == 10
        assert stamps(state) == before
        other.kill()
        assert LOG in before
        assert followed.rows("link") == {*zip("abcd", "bcde", strict=True)} and followed.version == 5
        with FollowedDatabase(state) as again:
            assert len(again.rows("reachable")) == 10
        assert stamps(state) == before
        whence.connect(state).close()
        before = stamps(state)
        assert LOG not in before
        assert len(followed.rows("reachable")) == 10 and followed.version == 5
        assert stamps(state) == before


def test_the_writer_is_not_kept_from_putting_its_log_away(writer: whence.Database, state: Path) -> None:
    with FollowedDatabase(state) as followed:
        for number in range(20):
            writer.insert("link", [(f"{number}", f"{n} {'long ' * 20}") for n in range(500)])
            assert followed.version == writer.version and len(followed.rows("link")) == len(writer.rows("link"))
        assert (state / LOG).stat().st_size < 8_000_000


def test_a_log_that_ends_anywhere(writer: whence.Database, state: Path, tmp_path: Path) -> None:
    """As it is written, byte by byte: a commit is there when all of it is, and not before."""
    known = {writer.version: contents(writer)}
    for row in (("c", "d"), ("d", "e"), ("d", "a")):
        writer.insert("link", [row])
        known[writer.version] = contents(writer)
    log = (state / LOG).read_bytes()
    frames = range(HEADER, len(log) + 1, FRAME)
    ends = {0, 1, HEADER - 1, *frames, *(at + by for at in frames for by in (-1, 1, 23, 24, 25, 24 + 2048))}
    ends.update(Random(1).sample(range(len(log)), 100))
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(state / DATABASE_FILE, copy)
    follower: Follower | None = None
    seen: list[int] = []
    for end in sorted(ends):
        (copy / LOG).write_bytes(log[:end])
        if follower is None:
            # Before the first commit is whole there is no database yet.
            with suppress(whence.StateError):
                follower = follow(copy)
        if follower is None:
            continue
        follower.catch_up()
        version = follower.session.version
        if version in known:
            assert contents(whence.Database(follower.session)) == known[version], f"{end} bytes"
        for path in copy.glob("*-shm"):
            path.unlink()
        whole = open_snapshot(copy)
        assert whole.version == version and contents(whole) == contents(whence.Database(follower.session))
        seen.append(version)
    assert seen == sorted(seen) and set(seen) >= known.keys()


def test_windows_keys_and_time_are_those_of_the_writer(state: Path) -> None:
    with whence.connect(state) as writer:
        writer.execute("CREATE TABLE last(x INT) TBLPROPERTIES ('window_rows' = '3')")
        writer.execute("CREATE TABLE named(name STRING PRIMARY KEY, n INT)")
        writer.execute("CREATE TABLE event(at TIMESTAMP, x INT) TBLPROPERTIES ('ttl' = '1 hour', 'ttl_column' = 'at')")
        with FollowedDatabase(state) as followed:
            for x in (1, 2, 3, 4):
                writer.insert("last", [(x,)])
            writer.insert("named", [("a", 1)])
            with writer.batch() as batch:
                batch.delete("named", [("a", 1)])
                batch.insert("named", [("a", 2)])
            writer.advance("2026-01-01 12:00:00")
            for change in (
                {"last": [(5,)]},
                {"named": [("b", 1)]},
                {"event": [("2026-01-01 10:00:00", 1), ("2026-01-01 11:30:00", 2)]},
            ):
                assert followed.what_if(insert=change).changes == writer.what_if(insert=change).changes
            with pytest.raises(whence.DataError, match=r"has the key of another row of 'named'"):
                followed.what_if(insert={"named": [("a", 3)]})


def test_a_function_that_only_the_writer_has(state: Path) -> None:
    with whence.connect(state) as writer:
        writer.function("double", lambda x: None if x is None else 2 * x, returns="INT")
        writer.execute(
            "CREATE TABLE t(x INT); CREATE VIEW v AS SELECT double(x) AS y FROM t; CREATE VIEW w AS SELECT x FROM t"
        )
        with FollowedDatabase(state) as followed:
            writer.insert("t", [(1,)])
            assert followed.rows("t") == followed.rows("w") == {(1,)}
            with pytest.raises(whence.StateError, match="view 'v' calls function 'double'"):
                followed.rows("v")


def test_it_changes_nothing(writer: whence.Database, state: Path) -> None:
    with FollowedDatabase(state) as followed:
        with pytest.raises(whence.StateError, match="was opened for reading, and takes no version 4"):
            followed.insert("link", [("x", "y")])
        with pytest.raises(whence.StateError, match="was opened for reading"):
            followed.advance()
        with pytest.raises(whence.UnsupportedError, match="only the process that makes the commits"):
            followed.subscribe("link", print)
        assert followed.rows("link") == writer.rows("link")
    with pytest.raises(whence.StateError, match="this database is closed"):
        followed.rows("link")


def test_a_proof_is_of_one_version(writer: whence.Database, state: Path) -> None:
    with FollowedDatabase(state) as followed:
        proof = followed.why("reachable", ("a", "c"))
        writer.insert("link", [("c", "d")])
        assert followed.critical("reachable", ("a", "d")) == {("link", row) for row in writer.rows("link")}
        with pytest.raises(whence.StateError, match="has changed since reachable"):
            proof.supports()
