"""What is not a database of this program and version, not whole, or not free, is left as it is, and told so."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast
from unittest.mock import Mock

import pytest

import whence
from tests.engines.spark.storage_model import check, commit, timestamp, without_spark
from whence.errors import StateError
from whence.storage.files.changes import CommitChange
from whence.storage.files.files import Files, LocalFiles
from whence.storage.files.store import Storage

ROOT = Path(__file__).parents[3]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}

HOLD = """
import sys
from whence.storage.files.store import Storage
storage = Storage.open(None, sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""
RACE = """
import sys
from pathlib import Path
from whence.storage.files.files import LocalFiles
files = LocalFiles(Path(sys.argv[1]), survives_power_loss=False)
print("ready", flush=True)
sys.stdin.readline()
print([number for number in range(300) if files.create(f"{number}", sys.argv[2].encode() * 1000)], flush=True)
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A closed database with a chain of steps, segments and feeds."""
    with without_spark():
        storage = Storage.open(None, str(tmp_path / "state"))
        for _ in range(36):
            commit(storage)
        storage.close()
    return tmp_path / "state"


def files_of(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.name != "lock"}


def newest(state: Path) -> Path:
    return max((state / "commits").iterdir())


def refused(state: Path, match: str) -> StateError:
    """Opening it is an error, and changes nothing."""
    before = files_of(state)
    with pytest.raises(StateError, match=match) as caught:
        Storage.open(None, str(state))
    assert files_of(state) == before
    return caught.value


def test_a_second_process_is_refused(state: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(state)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        refused(state, rf"database in .*/state is open already, in process {other.pid}")
        other.kill()
        other.wait()
    # The lock went with the process.
    Storage.open(None, str(state)).close()


def test_of_those_who_create_a_file_one_succeeds(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path), str(number)],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    said = [racer.communicate("go\n")[0] for racer in racers]
    won = [set(json.loads(each)) for each in said]
    assert won[0] | won[1] == set(range(300))
    assert not won[0] & won[1]
    for number, numbers in enumerate(won):
        assert all((tmp_path / f"{each}").read_text() == f"{number}" * 1000 for each in numbers)
    assert len(list(tmp_path.iterdir())) == 300


class RemoteFiles:
    """Files that look as if they were elsewhere, where no lock of an operating system reaches."""

    directory = None

    def __init__(self, directory: Path) -> None:
        self._files = LocalFiles(directory, survives_power_loss=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def create(self, path: str, data: bytes) -> bool:
        return self._files.create(path, data)


def taken_over(directory: Path) -> Storage:
    return Storage(None, cast(Files, RemoteFiles(directory)), 1000)


class TestElsewhere:
    """Whoever opens takes over."""

    def test_the_former_writer_is_refused(self, state: Path) -> None:
        with without_spark():
            first = taken_over(state)
            version = first.current.version
            second = taken_over(state)
            assert second.current.version == version
            for _ in range(2):
                with pytest.raises(StateError, match=rf"has been opened by process {os.getpid()} on .*, and goes on"):
                    commit(first)
            commit_small(second)
            third = taken_over(state)
            assert third.current.version == version + 1
            assert [path.name for path in (state / "epochs").iterdir()] == [f"{3:020}"]

    def test_one_who_did_not_notice_has_no_number(self, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The check of the epoch came too early: the next number is taken nevertheless."""
        first = taken_over(state)
        monkeypatch.setattr(first._lock, "check", lambda: None)  # noqa: SLF001
        second = taken_over(state)
        for _ in range(2):
            with pytest.raises(StateError, match="another process has committed to the database"):
                commit_small(first)
        commit_small(second)
        assert taken_over(state).current.version == second.current.version

    def test_a_number_that_was_collected_fools_nobody(self, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        first = taken_over(state)
        second = taken_over(state)
        taken = state / "commits" / f"{first.current.number + 1:020}.commit"
        commit_small(second)
        checks = Mock(side_effect=[None, StateError("it has been opened elsewhere")])
        monkeypatch.setattr(first._lock, "check", checks)  # noqa: SLF001
        aside = taken.rename(taken.with_name("aside"))
        for _ in range(2):
            with pytest.raises(StateError, match="elsewhere; whether it has the last commit is to be seen there"):
                commit_small(first)
        aside.replace(taken)
        assert taken_over(state).current.version == second.current.version

    def test_one_who_opens_meanwhile_sees_the_last_commit(self, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first writer commits after the second has looked, and before it takes over."""
        first = taken_over(state)
        monkeypatch.setattr(first._lock, "can_be_taken", False)  # noqa: SLF001
        create = RemoteFiles.create

        def late(self: RemoteFiles, path: str, data: bytes) -> bool:
            if path.startswith("commits"):
                monkeypatch.undo()
                monkeypatch.setattr(first._lock, "check", lambda: None)  # noqa: SLF001
                monkeypatch.setattr(first._lock, "can_be_taken", False)  # noqa: SLF001
                commit_small(first)
            return create(self, path, data)

        monkeypatch.setattr(RemoteFiles, "create", late)
        second = taken_over(state)
        assert second.current.version == first.current.version
        assert second.current.number == first.current.number + 1

    def test_one_who_was_faster_removes_what_others_began(self, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        files = LocalFiles(state, survives_power_loss=False)
        link = os.link

        def late(new: Path, target: Path) -> None:
            monkeypatch.undo()
            assert files.create("commits/next", b"theirs")
            new.unlink()
            link(new, target)

        monkeypatch.setattr(os, "link", late)
        assert not files.create("commits/next", b"mine")
        assert files.read("commits/next") == b"theirs"

    def test_many_open_at_once(self, tmp_path: Path) -> None:
        """A new root: each has an epoch of its own, or hears of another; and whoever comes after them has it all."""
        opened: list[Storage] = []
        refused: list[str] = []

        def open_one() -> None:
            try:
                opened.append(taken_over(tmp_path / "new"))
            except StateError as error:
                refused.append(error.message)

        threads = [threading.Thread(target=open_one) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert opened
        assert all("has been opened by" in message for message in refused)
        epochs = [storage._lock.epoch for storage in opened]  # noqa: SLF001
        assert len(set(epochs)) == len(epochs)
        last = taken_over(tmp_path / "new")
        assert last.current.version == 0
        commit_small(last)
        for storage in opened:
            with pytest.raises(StateError):
                commit_small(storage)


def commit_small(storage: Storage) -> None:
    """Nothing is in it."""
    storage.commit(CommitChange(timestamp=timestamp(storage.current.version + 1)))


def test_other_things_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(StateError, match="file is a file, and a database is kept in a directory"):
        Storage.open(None, str(tmp_path / "file"))
    with pytest.raises(StateError, match=r"the database in .*/file/below cannot be opened"):
        Storage.open(None, str(tmp_path / "file" / "below"))
    refused(tmp_path, "holds other files, and no database of whence")
    with pytest.raises(StateError, match="is a pattern to Spark"):
        Storage.open(None, str(tmp_path / "{a,b}"))
    with pytest.raises(StateError, match="can only be reached with a Spark session"):
        Storage.open(None, "hdfs://host/path")


def test_the_database_of_the_local_engine(tmp_path: Path) -> None:
    whence.connect(tmp_path / "state").close()
    refused(tmp_path / "state", "belongs to the local engine")


def test_a_file_uri_is_a_path(tmp_path: Path) -> None:
    for root in (f"file:{tmp_path}/a", f"file://{tmp_path}/a"):
        storage = Storage.open(None, root)
        assert storage.files.directory == tmp_path / "a"
        storage.close()


def test_a_crash_while_it_was_made_leaves_a_new_one(tmp_path: Path) -> None:
    for names in ((), ("segments",), ("commits", "segments", "epochs")):
        directory = tmp_path / str(len(names))
        for name in names:
            (directory / name).mkdir(parents=True)
        storage = Storage.open(None, str(directory))
        assert storage.current.version == 0
        storage.close()


def test_another_version_of_the_format(state: Path) -> None:
    file = newest(state)
    file.write_bytes(file.read_bytes().replace(b"whence commit 2 ", b"whence commit 9 ", 1))
    refused(state, "has format 9, and this version of whence reads formats 1 to 2")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.5, 0.99])
def test_a_truncated_commit(state: Path, share: float) -> None:
    file = newest(state)
    os.truncate(file, int(file.stat().st_size * share))
    error = refused(state, r"the database in .*/state is damaged: commits/\d*\.commit: it")
    assert "nothing has been written to it" in str(error.hint)


def test_a_missing_commit(state: Path) -> None:
    files = sorted((state / "commits").iterdir())
    files[-2].rename(state / "hidden")
    assert "is missing" in refused(state, "damaged").message
    (state / "hidden").rename(files[-2])
    (state / "commits").rename(state.parent / "commits")
    assert "commits is missing" in refused(state, "damaged").message
    (state / "commits").mkdir()
    assert "commits is empty" in refused(state, "damaged").message


def test_a_commit_under_another_name(state: Path) -> None:
    file = newest(state)
    shutil.copy(file, file.with_name(f"{int(file.stem) + 1:020}.commit"))
    refused(state, "it is commit .* under another name")


def test_a_truncated_segment(state: Path) -> None:
    (file, *_) = (state / "segments").rglob("*.parquet")
    os.truncate(file, 100)
    assert "has 100 bytes, and" in refused(state, "damaged").message
    shutil.rmtree(file.parent)
    assert "has 0 bytes, and" in refused(state, "damaged").message


def test_other_bytes_are_never_taken_for_data(state: Path) -> None:
    """Wherever a byte of a commit is wrong, it is noticed when that commit is read."""
    chance = Random()
    for _ in range(60):
        file = chance.choice(sorted((state / "commits").iterdir())[-12:])
        whole = file.read_bytes()
        at = chance.randrange(len(whole))
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :])
        with pytest.raises(StateError):
            open_and_check(state)
        file.write_bytes(whole)


def open_and_check(state: Path) -> None:
    storage = Storage.open(None, str(state))
    try:
        check(storage, 1000)
    finally:
        storage.close()


def altered(state: Path, change: Callable[[Any], object]) -> None:
    """The newest whole manifest says something else, and has a checksum that fits."""
    for file in sorted((state / "commits").iterdir(), reverse=True):
        _, line, body = file.read_bytes().split(b"\n", 2)
        header = json.loads(line)
        if "manifest" in header:
            change(header["manifest"])
            rest = json.dumps(header).encode() + b"\n" + body
            file.write_bytes(b"whence commit 2 " + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
            return


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.update(more=1),
        lambda manifest: manifest.pop("clock"),
        lambda manifest: manifest.update(version=-1),
        lambda manifest: manifest.update(version=True),
        lambda manifest: manifest.update(timestamp="soon"),
        lambda manifest: manifest.update(notices=[1]),
        lambda manifest: manifest.update(feeds={}),
        lambda manifest: manifest.update(tables=[]),
        lambda manifest: manifest.update(clock=["2026-01-01", 1]),
        lambda manifest: manifest["tables"]["link"].update(columns=[["c0", "NONSENSE(", True]]),
        lambda manifest: manifest["tables"]["link"].update(logs=[[1, 2]]),
        lambda manifest: manifest["program"].update(definitions=[["v", True, "", 3, []]]),
        lambda manifest: manifest["program"].update(functions={"f": None}),
        lambda manifest: manifest["tables"].pop("link"),
    ],
)
def test_only_what_is_written_is_read(state: Path, change: Callable[[Any], object]) -> None:
    altered(state, change)
    refused(state, "damaged")


def _with_logs(logs: list[list[int]], manifest: Any) -> None:
    manifest["tables"]["link"].update(logs=logs)


def test_logs_that_are_not_there(state: Path) -> None:
    for logs in ([[1, 0, 5]], [[35, 99, 1]]):
        altered(state, partial(_with_logs, logs))
        storage = Storage.open(None, str(state))
        with pytest.raises(StateError, match="damaged"):
            storage.logs(["link"])
        storage.close()


def test_definitions_that_cannot_be_understood(state: Path) -> None:
    altered(state, lambda manifest: manifest["program"].update(definitions=[["v", True, "v(x) :-", None, []]]))
    storage = Storage.open(None, str(state))
    with pytest.raises(StateError, match="damaged: its definitions cannot be understood"):
        storage.definitions()
    storage.close()


def test_without_the_newest_commit(state: Path) -> None:
    newest(state).unlink()
    refused(state, r"damaged: version \d+ was committed, and what is left is version \d+")
