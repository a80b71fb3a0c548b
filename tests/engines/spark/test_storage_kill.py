"""Killed or failing at any instant, a database comes back with every commit that was acknowledged."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, cast
from unittest import mock

import pytest
from pyspark.sql import DataFrame

from tests.engines.spark.storage_model import arrow, check, commit, contents, names, without_spark
from tests.engines.spark.storage_victim import KEEP_VERSIONS
from whence.errors import StateError
from whence.storage.files import store
from whence.storage.files.files import DirectoryEntry, LocalFiles
from whence.storage.files.store import STEPS, Storage

ROOT = Path(__file__).parents[3]
KILLS = 30


def test_no_acknowledged_commit_is_lost(tmp_path: Path) -> None:
    seed = Random().randrange(2**32)
    chance = Random(seed)
    version = 0
    command = [sys.executable, "-m", "tests.engines.spark.storage_victim"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        for _ in range(KILLS):
            print(tmp_path / "state", file=parent.stdin, flush=True)
            child = int(parent.stdout.readline())
            safe = version
            # Some die while they open the directory, most while they commit.
            if chance.random() < 0.8:
                safe = int(parent.stdout.readline())
            time.sleep(chance.random() * 0.2)
            os.kill(child, signal.SIGKILL)
            while (line := parent.stdout.readline()) != "dead\n":
                safe = int(line)
            storage = Storage.open(None, str(tmp_path / "state"), KEEP_VERSIONS)
            assert safe <= storage.current.version <= safe + 1, f"the seed was {seed}"
            check(storage, KEEP_VERSIONS)
            version = storage.current.version
            storage.close()
        parent.stdin.close()
    assert version > 0


class CrashError(BaseException):
    """The process is gone."""


class CrashingFiles(LocalFiles):
    """Files with which everything ends at some operation: before it, in the middle of it, or after it."""

    def __init__(self, directory: Path, at: int, *, done: bool) -> None:
        super().__init__(directory, survives_power_loss=False)
        self._left = at
        self._done = done

    @contextmanager
    def _operation(self) -> Iterator[bool]:
        """Whether it is to be done."""
        self._left -= 1
        if self._left < 0:
            raise CrashError
        yield self._left > 0 or self._done
        if self._left == 0:
            raise CrashError

    def create(self, path: str, data: bytes) -> bool:
        with self._operation() as whole:
            if whole:
                return super().create(path, data)
            target = self.directory / path
            target.with_name(f".{target.name}.unfinished").write_bytes(data[: len(data) // 2])
        raise AssertionError

    def delete(self, path: str) -> None:
        with self._operation() as whole:
            if whole:
                super().delete(path)

    def sync(self, path: str) -> None:
        with self._operation():
            super().sync(path)

    def entries(self, path: str) -> list[DirectoryEntry]:
        with self._operation():
            return super().entries(path)


@pytest.mark.parametrize("done", [False, True])
def test_a_crash_at_every_operation(tmp_path: Path, done: bool) -> None:
    """Each life ends one operation later than the one before, over and over in the same directory."""
    acknowledged = 0
    with without_spark():
        for life in range(1, 161):
            storage = None
            try:
                storage = Storage(None, CrashingFiles(tmp_path, life % 40 + 1, done=done), keep_versions=5)
                while True:
                    commit(storage)
                    acknowledged = storage.current.version
            except CrashError:
                if storage is not None:
                    acknowledged = max(acknowledged, storage.current.version)
                    storage.close()
            again = Storage(None, LocalFiles(tmp_path, survives_power_loss=False), keep_versions=5)
            assert acknowledged <= again.current.version <= acknowledged + 1
            acknowledged = again.current.version
            check(again, 5)
            again.close()
    assert acknowledged > STEPS


class TestAFullDisk:
    """What a commit needs of the disk, it does not get."""

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Iterator[Storage]:
        with without_spark():
            storage = Storage.open(None, str(tmp_path / "state"))
            for _ in range(5):
                commit(storage)
            yield storage
            storage.close()

    @pytest.mark.parametrize("call", ["link", "fsync"])
    def test_nothing_has_happened(
        self, storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        before, files = storage.current, names(tmp_path)

        def full(*_: Any) -> Any:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, call, full)
        with pytest.raises(StateError, match=r"could not be written to .*state: No space left on device") as caught:
            commit(storage)
        assert caught.value.hint == "it did not happen; the database can be read as before"
        monkeypatch.undo()
        with without_spark():
            assert storage.current is before
            assert names(tmp_path) == files
            check(storage, 1000)
            commit(storage)
            assert storage.current.version == before.version + 1
            check(storage, 1000)

    def test_a_commit_that_may_not_last_is_there(self, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        """The file has its name, and then the directory cannot be written to the disk."""
        calls = 0
        fsync = os.fsync

        def second_fails(descriptor: int) -> None:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise OSError(errno.EIO, "Input/output error")
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", second_fails)
        version = storage.current.version
        with pytest.raises(StateError, match="and may not survive there: Input/output error"):
            commit(storage)
        assert storage.current.version == version + 1
        check(storage, 1000)
        commit(storage)
        check(storage, 1000)

    def test_an_interrupt(self, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        link = os.link

        def interrupted(*arguments: Any) -> None:
            link(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "link", interrupted)
        version = storage.current.version
        with pytest.raises(KeyboardInterrupt):
            commit(storage)
        monkeypatch.undo()
        assert storage.current.version == version + 1
        with without_spark():
            commit(storage)
            check(storage, 1000)

    def test_a_vanished_directory(self, storage: Storage, tmp_path: Path) -> None:
        (tmp_path / "state").rename(tmp_path / "elsewhere")
        with pytest.raises(StateError, match=r"could not be written to .*: No such file or directory"):
            commit(storage)
        assert not (tmp_path / "state").exists()
        (tmp_path / "elsewhere").rename(tmp_path / "state")
        commit(storage)
        check(storage, 1000)

    def test_a_limit_on_the_size_of_files(self, tmp_path: Path) -> None:
        script = (
            "import resource, sys\n"
            "from tests.engines.spark.storage_model import *\n"
            "from whence.errors import StateError\n"
            "storage = Storage.open(None, sys.argv[1])\n"
            "commit(storage)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
            "rows = arrow({(x, 'y' * x): 1 for x in range(9_000)})\n"
            "change = CommitChange(timestamp=timestamp(2), logs={'link': rows})\n"
            "try:\n    storage.commit(change)\n"
            "except StateError as error:\n    print(error.message)\n"
            "commit(storage); check(storage, 1000); print(storage.current.version)\n"
        )
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        command = [sys.executable, "-c", script, str(tmp_path / "s")]
        said = subprocess.check_output(command, env=environment, text=True)
        assert said.splitlines() == [f"the commit could not be written to {tmp_path / 's'}: File too large", "2"]


@pytest.mark.parametrize("may_be_read", [False, True])
def test_files_that_are_in_the_way_are_collected(tmp_path: Path, *, may_be_read: bool) -> None:
    with mock.patch.object(store, "READER_SECONDS", 1_000 if may_be_read else 0), without_spark():
        storage = Storage.open(None, str(tmp_path), keep_versions=3)
        for _ in range(3 * STEPS):
            commit(storage)
        assert len(list((tmp_path / "commits").iterdir())) <= STEPS + 20
        storage.write_segment(cast(DataFrame, arrow({(1, "a"): 1})))
        storage.close()
        (tmp_path / "commits" / f".{7:020}.commit.abc").write_bytes(b"half")
        again = Storage.open(None, str(tmp_path), keep_versions=3)
        check(again, 3)
        used = {segment.path for segment in again.current.segments()}
        there = {f"segments/{path.name}" for path in (tmp_path / "segments").iterdir()}
        assert there > used if may_be_read else there == used
        assert not list((tmp_path / "commits").glob(".*"))
        assert contents(again)
        again.close()
