"""Files wherever Hadoop reaches: HDFS, object stores, and what else Spark was given a connector for."""

from __future__ import annotations

import secrets
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError

from whence.storage.files.files import DirectoryEntry, checked_ranges

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What Hadoop is told of a file of which some ranges are read: not to read on beyond them.
_IN_RANGES = {"fs.option.openfile.read.policy": "random", "fs.option.openfile.buffer.size": "4096"}
_TO_THE_END = 1 << 62
# A store with this gives a new object its name only if no other has it by then.
_CREATE_IF_ABSENT = "fs.option.create.conditional.overwrite"
# Here an object has its name when its stream is closed, and never that of another unless it may.
_NAMED_AT_CLOSE = frozenset({"gs"})
# Here a rename is a copy, and says nothing about what was there meanwhile.
_COPYING = frozenset({"s3a", "s3", "s3n", "oss", "cosn", "obs"})


def default_scheme(spark: SparkSession) -> str:
    """Where Spark looks for a path that does not say."""
    jvm, configuration = _gateway(spark)
    return str(jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(configuration).getScheme())


def home_directory(spark: SparkSession) -> str:
    """Where Spark's user may write."""
    jvm, configuration = _gateway(spark)
    with _as_os_error():
        return str(jvm.org.apache.hadoop.fs.FileSystem.get(configuration).getHomeDirectory().toString())


class HadoopFiles:
    def __init__(self, spark: SparkSession, root: str) -> None:
        self._open(*_gateway(spark), root)

    def _open(self, jvm: Any, configuration: Any, root: str) -> None:
        self._jvm = jvm
        with _as_os_error():
            top = self._jvm.org.apache.hadoop.fs.Path(root)
            system = top.getFileSystem(configuration)
            self.root = str(system.makeQualified(top).toString())
            self._scheme = str(system.getUri().getScheme())
            # Checksums of Hadoop's own would be files of their own.
            self._system = system.getRawFileSystem() if self._scheme == "file" else system

    @property
    def directory(self) -> None:
        return None

    def uri(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def make_directory(self, path: str) -> None:
        with _as_os_error():
            self._system.mkdirs(self._path(path))

    def create(self, path: str, data: bytes) -> bool:
        target = self._path(path)
        with _as_os_error():
            if self._system.hasPathCapability(target, _CREATE_IF_ABSENT) or self._scheme in _NAMED_AT_CLOSE:
                return self._create_at_close(target, data)
            if self._scheme in _COPYING:
                raise OSError(
                    f"the connector for {self._scheme}: cannot create a file only where there is none "
                    f"(it lacks {_CREATE_IF_ABSENT})"
                )
            return self._create_and_name(target, data)

    def read(self, path: str) -> bytes:
        with _as_os_error():
            stream = self._system.open(self._path(path))
            try:
                return self._copied(stream, [(0, _TO_THE_END)])
            finally:
                stream.close()

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        with _as_os_error():
            opening = self._system.openFile(self._path(path))
            for option, value in _IN_RANGES.items():
                opening = opening.opt(option, value)
            stream = opening.build().get()
            try:
                data = self._copied(stream, ranges)
            finally:
                stream.close()
        ends = accumulate(length for _, length in ranges)
        return checked_ranges(
            path, ranges, [data[end - length : end] for end, (_, length) in zip(ends, ranges, strict=True)]
        )

    def _copied(self, stream: Any, ranges: Sequence[tuple[int, int]]) -> bytes:
        """The bytes of all ranges, as one text: Py4J takes bytes apart, one by one."""
        held = self._jvm.java.io.ByteArrayOutputStream()
        encoded = self._jvm.java.util.Base64.getEncoder().wrap(held)
        for start, length in ranges:
            stream.seek(start)
            self._jvm.org.apache.commons.io.IOUtils.copyLarge(stream, encoded, 0, length)
        encoded.close()
        return b64decode(held.toString())

    def entries(self, path: str) -> list[DirectoryEntry]:
        try:
            with _as_os_error():
                found = self._system.listStatus(self._path(path))
        except FileNotFoundError:
            return []
        return [
            DirectoryEntry(str(each.getPath().getName()), bool(each.isDirectory()), int(each.getLen()))
            for each in found
        ]

    def delete(self, path: str) -> None:
        with _as_os_error():
            self._system.delete(self._path(path), True)

    def sync(self, path: str) -> None:
        """A closed file is safe there: it is on several machines."""

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.uri(path))

    def _create_at_close(self, target: Any, data: bytes) -> bool:
        builder = self._system.createFile(target).overwrite(False)
        if self._scheme not in _NAMED_AT_CLOSE:
            builder = builder.must(_CREATE_IF_ABSENT, True)
        try:
            self._fill(builder, data)
        except Py4JJavaError:
            if self._system.exists(target):
                return False
            raise
        return True

    def _create_and_name(self, target: Any, data: bytes) -> bool:
        """On a file system, where giving a name is one step."""
        new = self._jvm.org.apache.hadoop.fs.Path(target.getParent(), f".{target.getName()}.{secrets.token_hex(8)}")
        try:
            self._fill(self._system.createFile(new).overwrite(False), data)
            return self._name(new, target)
        finally:
            self._system.delete(new, False)

    def _fill(self, builder: Any, data: bytes) -> None:
        stream = builder.build()
        try:
            stream.write(bytearray(data))
            if stream.hasCapability("hsync"):
                stream.hsync()
        except BaseException:
            # An object store would take what is there for all of it.
            if stream.hasCapability("fs.capability.outputstream.abortable"):
                stream.abort()
            raise
        finally:
            stream.close()

    def _name(self, new: Any, target: Any) -> bool:
        """False if the name is taken."""
        if self._scheme == "file":
            return self._link(new, target)
        try:
            done = bool(self._system.rename(new, target))
        except Py4JJavaError:
            # One who came first may also have removed what others began under its name.
            if self._system.exists(target):
                return False
            raise
        if not done and not self._system.exists(target):
            raise OSError(f"{target.getName()} could not be given its name")
        return done

    def _link(self, new: Any, target: Any) -> bool:
        """Hadoop's rename on a local disk replaces what is there."""
        at = self._jvm.java.nio.file.Paths.get
        try:
            self._jvm.java.nio.file.Files.createLink(at(target.toUri()), at(new.toUri()))
        except Py4JJavaError:
            if self._system.exists(target):
                return False
            raise
        return True


def _gateway(spark: SparkSession) -> tuple[Any, Any]:
    """The JVM and its Hadoop configuration, which PySpark has no public way to."""
    context = spark.sparkContext
    return context._jvm, context._jsc.hadoopConfiguration()  # noqa: SLF001


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        kind, message = _kind(error), str(error.java_exception.getMessage())
        raise (FileNotFoundError if kind == "FileNotFoundException" else OSError)(f"{kind}: {message}") from error
    except Py4JError as error:
        raise OSError(f"Spark does not answer: {error}") from error


def _kind(error: Py4JJavaError) -> str:
    return str(error.java_exception.getClass().getSimpleName())
