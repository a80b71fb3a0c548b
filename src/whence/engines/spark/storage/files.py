"""Files below one root, wherever that is. No file is ever written over, and each is there whole or not at all."""

from __future__ import annotations

import re
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from whence.errors import StateError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
# Spark takes a path with any of these for a pattern.
_PATTERN = frozenset("*?[]{}\\")


class Entry(NamedTuple):
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

    def entries(self, path: str) -> list[Entry]:
        """What is in a directory, which need not exist."""

    def delete(self, path: str) -> None:
        """A file, or a directory with all that is in it. It need not exist."""

    def sync(self, path: str) -> None:
        """What others have written below a directory is safe on disk from here on."""


def open_files(spark: SparkSession | None, root: str) -> Files:
    """The files of a root that may not exist yet. Without a Spark session only this machine's disks are in reach."""
    from whence.engines.spark.storage.local_files import LocalFiles

    if not _PATTERN.isdisjoint(root):
        raise StateError(f"the path {root!r} is a pattern to Spark", hint="choose one without any of * ? [ ] { } \\")
    scheme = _SCHEME.match(root)
    if scheme is None and (spark is None or _default_scheme(spark) == "file"):
        return LocalFiles(Path(root))
    if scheme is not None and scheme[1].lower() == "file":
        return LocalFiles(Path(re.sub(r"^/*", "/", root[scheme.end() :])))
    if spark is None:
        raise StateError(f"{root} can only be reached with a Spark session")
    from whence.engines.spark.storage.hadoop_files import HadoopFiles

    return HadoopFiles(spark, root)


def temporary_files(spark: SparkSession | None) -> Files:
    """A new directory that this process and all of Spark reach."""
    from whence.engines.spark.storage.local_files import LocalFiles

    if spark is None or (spark.sparkContext.master or "local").startswith("local"):
        return LocalFiles(Path(tempfile.mkdtemp(prefix="whence-")), survives_power_loss=False)
    if _default_scheme(spark) == "file":
        raise StateError(
            "a database on a cluster needs a directory that all machines of the cluster reach",
            hint="give it a path, such as hdfs://host/path",
        )
    from whence.engines.spark.storage.hadoop_files import HadoopFiles, home_directory

    return HadoopFiles(spark, f"{home_directory(spark)}/.whence-{secrets.token_hex(8)}")


def _default_scheme(spark: SparkSession) -> str:
    from whence.engines.spark.storage.hadoop_files import default_scheme

    return default_scheme(spark)
