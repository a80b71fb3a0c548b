"""Files below one root, wherever that is. No file is ever written over, and each is there whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from whence.errors import StateError
from whence.storage.sqlite.files import sync

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
# Spark takes a path with any of these for a pattern.
_PATTERN = frozenset("*?[]{}\\")


class DirectoryEntry(NamedTuple):
    """What is in a directory."""

    name: str
    is_directory: bool
    size: int


class Files(Protocol):
    """Paths are relative to the root, with slashes. What goes wrong is an OSError."""

    @property
    def root(self) -> str:
        """As its user knows it."""

    @property
    def directory(self) -> Path | None:
        """The root, if it is on a disk of this machine."""

    def uri(self, path: str) -> str:
        """The path as Spark takes it."""

    def make_directory(self, path: str) -> None:
        """With all that lead to it. It may exist."""

    def create(self, path: str, data: bytes) -> bool:
        """A new file, safe on disk; False if there is one already. Of several who try at once, one succeeds."""

    def read(self, path: str) -> bytes: ...

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Of one file, so many bytes from there on for each of these. That there are fewer is an error."""

    def entries(self, path: str) -> list[DirectoryEntry]:
        """What is in a directory, which need not exist."""

    def delete(self, path: str) -> None:
        """A file, or a directory with all that is in it. It need not exist."""

    def sync(self, path: str) -> None:
        """What others have written below a directory is safe on disk from here on."""


def checked_ranges(path: str, ranges: Sequence[tuple[int, int]], found: list[bytes]) -> list[bytes]:
    """What was found of a file, which is all that was asked for."""
    for (start, length), data in zip(ranges, found, strict=True):
        if len(data) != length:
            raise OSError(f"{path} has no {length} bytes from {start} on")
    return found


def worker_files(root: str, properties: Mapping[str, str]) -> Files:
    """The files of a root in a process of Spark's without a session. `properties` are what Hadoop needs to know."""
    scheme = _SCHEME.match(root)
    default = properties.get("fs.defaultFS", "file:///")
    if (scheme is None and default.startswith("file:")) or (scheme is not None and scheme[1].lower() == "file"):
        return open_files(None, root)
    from whence.storage.files.worker_files import WorkerFiles

    return WorkerFiles(root, properties)


def open_files(spark: SparkSession | None, root: str) -> Files:
    """The files of a root that may not exist yet. Without a Spark session only this machine's disks are in reach."""
    if not _PATTERN.isdisjoint(root):
        raise StateError(f"the path {root!r} is a pattern to Spark", hint="choose one without any of * ? [ ] { } \\")
    scheme = _SCHEME.match(root)
    if scheme is None and (spark is None or _default_scheme(spark) == "file"):
        return LocalFiles(Path(root))
    if scheme is not None and scheme[1].lower() == "file":
        return LocalFiles(Path(re.sub(r"^/*", "/", root[scheme.end() :])))
    if spark is None:
        raise StateError(f"{root} can only be reached with a Spark session")
    from whence.storage.files.hadoop_files import HadoopFiles

    return HadoopFiles(spark, root)


def temporary_files(spark: SparkSession | None) -> Files:
    """A new directory that this process and all of Spark reach."""
    if spark is None or (spark.sparkContext.master or "local").startswith("local"):
        return LocalFiles(Path(tempfile.mkdtemp(prefix="whence-")), survives_power_loss=False)
    if _default_scheme(spark) == "file":
        raise StateError(
            "a database on a cluster needs a directory that all machines of the cluster reach",
            hint="give it a path, such as hdfs://host/path",
        )
    from whence.storage.files.hadoop_files import HadoopFiles, home_directory

    return HadoopFiles(spark, f"{home_directory(spark)}/.whence-{secrets.token_hex(8)}")


def _default_scheme(spark: SparkSession) -> str:
    from whence.storage.files.hadoop_files import default_scheme

    return default_scheme(spark)


class LocalFiles:
    """With `survives_power_loss`, what was created is on disk and not only in the memory of the operating system."""

    def __init__(self, directory: Path, *, survives_power_loss: bool = True) -> None:
        self.root = str(directory)
        # A process may change its working directory.
        self.directory = directory.absolute()
        self._synced = survives_power_loss

    def uri(self, path: str) -> str:
        return f"file://{self.directory / path}"

    def make_directory(self, path: str) -> None:
        directory = self.directory / path
        new = [each for each in (directory, *directory.parents) if not each.exists()]
        directory.mkdir(parents=True, exist_ok=True)
        for each in new:
            self._sync_one(each.parent)

    def create(self, path: str, data: bytes) -> bool:
        target = self.directory / path
        new = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            with new.open("xb") as opened:
                opened.write(data)
                opened.flush()
                if self._synced:
                    os.fsync(opened.fileno())
            # Unlike a rename, a link never replaces what is there.
            os.link(new, target)
        except FileExistsError:
            return False
        except FileNotFoundError:
            # One who came first may have removed what others began under its name.
            if target.exists():
                return False
            raise
        finally:
            new.unlink(missing_ok=True)
        self._sync_one(target.parent)
        return True

    def read(self, path: str) -> bytes:
        return (self.directory / path).read_bytes()

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        with (self.directory / path).open("rb", buffering=0) as opened:
            found = [os.pread(opened.fileno(), length, start) for start, length in ranges]
        return checked_ranges(path, ranges, found)

    def entries(self, path: str) -> list[DirectoryEntry]:
        try:
            with os.scandir(self.directory / path) as scanned:
                found = list(scanned)
        except FileNotFoundError:
            return []
        entries = []
        for each in found:
            # Another process may have deleted it by now.
            with suppress(FileNotFoundError):
                entries.append(DirectoryEntry(each.name, each.is_dir(), each.stat().st_size))
        return entries

    def delete(self, path: str) -> None:
        target = self.directory / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    def sync(self, path: str) -> None:
        top = self.directory / path
        for directory, _, names in os.walk(top):
            for name in names:
                self._sync_one(Path(directory, name))
            self._sync_one(Path(directory))
        self._sync_one(top.parent)

    def _sync_one(self, path: Path) -> None:
        if self._synced:
            sync(path)
