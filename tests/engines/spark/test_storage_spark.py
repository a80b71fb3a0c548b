"""Storage with Spark: files through Hadoop, segments as Parquet, feeds as frames."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession

from tests.engines.spark.storage_model import check, commit, timestamp
from tests.engines.spark.test_storage import EVERYTHING, ROWS
from whence.engines.spark.types import rows_from_arrow, rows_to_arrow
from whence.errors import StateError
from whence.model.schema import Column, Relation
from whence.model.types import INT, STRING, Row
from whence.model.updates import Version
from whence.session.journal import Entry, changes
from whence.storage.files.changes import CommitChange, NewTable
from whence.storage.files.feeds import feed_entries, feed_frame
from whence.storage.files.files import Files, LocalFiles, open_files
from whence.storage.files.hadoop_files import HadoopFiles, home_directory
from whence.storage.files.segments import columns_of_arrow, columns_of_frame
from whence.storage.files.store import Storage

# A name that has to be escaped in addresses.
STATE = "a state%20#ü"


@pytest.fixture
def storage(spark: SparkSession, tmp_path: Path) -> Iterator[Storage]:
    storage = Storage.open(spark, str(tmp_path / STATE))
    yield storage
    storage.close()


class TestHadoop:
    """A local directory, reached as if it were elsewhere."""

    @pytest.fixture
    def files(self, spark: SparkSession, tmp_path: Path) -> HadoopFiles:
        return HadoopFiles(spark, f"file:{tmp_path}/a root%20#ü")

    def test_it_does_what_local_files_do(self, files: HadoopFiles, tmp_path: Path) -> None:
        local = LocalFiles(tmp_path / "local")
        for each in (files, local):
            self._use(each)
        root, other = (
            {path.relative_to(top): path.is_file() and path.read_bytes() for path in top.rglob("*")}
            for top in (tmp_path / "a root%20#ü", tmp_path / "local")
        )
        assert root == other
        assert files.root == f"file:{tmp_path}/a root%20#ü"

    def _use(self, files: Files) -> None:
        assert files.entries("") == []
        assert files.entries("nowhere") == []
        with pytest.raises(FileNotFoundError):
            files.read("a/file")
        with pytest.raises(OSError, match=r"No such file|does not exist"):
            files.create("a/file", b"without a directory")
        files.make_directory("a/b")
        files.make_directory("a/b")
        everything = bytes(range(256)) * 1000
        assert files.create("a/file", everything)
        assert not files.create("a/file", b"other")
        assert files.create("a/b/empty", b"")
        assert files.read("a/file") == everything
        assert files.read("a/b/empty") == b""
        assert sorted((name, is_directory) for name, is_directory, _ in files.entries("a")) == [
            ("b", True),
            ("file", False),
        ]
        assert {entry.size for entry in files.entries("a") if not entry.is_directory} == {256_000}
        files.sync("a")
        files.delete("a/file")
        files.delete("a/file")
        assert files.create("a/file", b"new")
        files.make_directory("c/d")
        assert files.create("c/d/e", b"")
        files.delete("c")

    def test_of_those_who_create_a_file_one_succeeds(self, files: HadoopFiles) -> None:
        files.make_directory("")
        won: list[tuple[int, int]] = []

        def race(racer: int) -> None:
            won.extend((number, racer) for number in range(40) if files.create(f"{number}", f"{racer}".encode()))

        threads = [Thread(target=race, args=(racer,)) for racer in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(number for number, _ in won) == list(range(40))
        assert all(files.read(f"{number}") == f"{racer}".encode() for number, racer in won)
        assert len(files.entries("")) == 40

    @pytest.mark.parametrize("scheme", ["gs", "hdfs"])
    def test_other_ways_to_create(self, files: HadoopFiles, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
        """What is done elsewhere, as far as a disk can do it: a local rename cannot tell that a name is taken."""
        monkeypatch.setattr(files, "_scheme", scheme)
        files.make_directory("")
        assert files.create("file", b"bytes")
        assert files.read("file") == b"bytes"
        assert [entry.name for entry in files.entries("")] == ["file"]
        if scheme == "gs":
            assert not files.create("file", b"other")
            assert files.read("file") == b"bytes"
        with pytest.raises(OSError, match=r"No such file|does not exist"):
            files.create("nowhere/file", b"bytes")

    def test_a_store_without_conditions_is_refused(
        self, files: HadoopFiles, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "_scheme", "s3a")
        with pytest.raises(StateError, match="the connector for s3a: cannot create a file only where there is none"):
            Storage(spark, files, 1000)

    def test_commits(self, files: HadoopFiles, spark: SparkSession) -> None:
        first = Storage(spark, files, 1000)
        for _ in range(11):
            commit(first)
        check(first, 1000)
        second = Storage(spark, files, 1000)
        assert second.current.version == 11
        with pytest.raises(StateError, match=rf"opened by process {os.getpid()} on"):
            commit(first)
        check(second, 1000)
        second.close()

    def test_a_root_that_cannot_be_reached(self, spark: SparkSession, tmp_path: Path) -> None:
        with pytest.raises(StateError, match=r"the database in nowhere://x/y cannot be opened: .*nowhere"):
            Storage.open(spark, "nowhere://x/y")
        assert isinstance(open_files(spark, str(tmp_path)), LocalFiles)
        assert home_directory(spark) == f"file:{Path.home()}"


class TestSegments:
    def test_every_type_comes_back(self, spark: SparkSession, storage: Storage) -> None:
        written = rows_to_arrow(ROWS, EVERYTHING).append_column("support", pa.array([[1, -(2**63)], [], None]))
        frame = spark.createDataFrame(written)
        columns = columns_of_frame(frame.schema)
        assert columns == columns_of_arrow(written.schema)
        segment = storage.write_segment(frame)
        assert segment.rows == 3
        found = storage.read_segment(segment, columns).toArrow()
        assert found.column_names == written.column_names
        assert sorted(rows_from_arrow(found, EVERYTHING), key=repr) == sorted(ROWS, key=repr)
        assert sorted(found["support"].to_pylist(), key=repr) == [None, [1, -(2**63)], []]

    def test_reading_runs_no_job(self, spark: SparkSession, storage: Storage) -> None:
        frame = spark.range(10).selectExpr("id AS c0", "1L AS n")
        segment = storage.write_segment(frame)
        spark.sparkContext.setJobGroup("reading", "")
        read = storage.read_segment(segment, columns_of_frame(frame.schema))
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("reading") == []
        assert read.count() == 10

    def test_they_are_part_of_a_commit(self, spark: SparkSession, storage: Storage, tmp_path: Path) -> None:
        frame = spark.range(10).selectExpr("id AS c0", "1L AS n")
        columns = columns_of_frame(frame.schema)
        segment, more, empty = (storage.write_segment(each) for each in (frame, frame, frame.where("c0 < 0")))
        assert empty.rows == 0
        tables = {"t": NewTable("rows", columns, segments=(segment, empty))}
        storage.commit(CommitChange(timestamp=timestamp(1), tables=tables, appended={"t": [more]}, feed={"t": segment}))
        storage.close()
        again = Storage.open(spark, str(tmp_path / STATE))
        table = again.current.tables["t"]
        assert sum(again.read_segment(each, table.columns).count() for each in table.segments) == 20
        again.close()

    def test_other_bytes_are_never_taken_for_rows(self, spark: SparkSession, storage: Storage, tmp_path: Path) -> None:
        frame = spark.range(1000).selectExpr("id AS c0", "1L AS n").coalesce(1)
        segment = storage.write_segment(frame)
        directory = tmp_path / STATE / segment.path
        (file,) = directory.glob("part-*")
        # Hadoop's own checksums are there on a local disk only.
        for other in directory.glob(".*.crc"):
            other.unlink()
        whole = file.read_bytes()
        for at in (40, 1000, 3000):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            with pytest.raises(Py4JJavaError, match="FAILED_READ_FILE"):
                storage.read_segment(segment, columns_of_frame(frame.schema)).toArrow()

    def test_a_disk_that_does_not_take_them(self, spark: SparkSession, storage: Storage, tmp_path: Path) -> None:
        (tmp_path / STATE / "segments").rmdir()
        (tmp_path / STATE / "segments").write_text("in the way")
        with pytest.raises(
            StateError, match=r"rows could not be written to .*: Parent path is not a directory"
        ) as caught:
            storage.write_segment(spark.range(10).toDF("c0"))
        assert caught.value.hint == "nothing has happened; the database can be read as before"

    def test_rows_that_cannot_be_computed(self, spark: SparkSession, storage: Storage) -> None:
        with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
            storage.write_segment(spark.range(10).selectExpr("1 / (id - 5) AS c0"))
        assert storage.files.entries("segments") == []


KEYED = Relation("keyed", (Column("k", INT, nullable=False), Column("v", STRING)), distinct=True, key=("k",))
BAG = Relation("bag", KEYED.columns)


@pytest.mark.parametrize("relation", [KEYED, BAG])
def test_feeds_as_frames(spark: SparkSession, storage: Storage, relation: Relation) -> None:
    copies = 1 if relation.distinct else 3
    deltas: list[dict[Row, int]] = [
        {(1, "a"): copies, (2, None): 1},
        {(1, "a"): -copies, (1, "b"): 1},
        {(2, None): -1, (3, "c"): copies, (4, "d"): 1},
        {(3, "c"): -copies, (3, None): 1, (4, "d"): -1},
    ]
    tables = [
        rows_to_arrow(list(delta), relation).append_column("n", pa.array(delta.values(), pa.int64()))
        for delta in deltas
    ]
    storage.commit(
        CommitChange(
            timestamp=timestamp(1), tables={relation.name: NewTable("rows", columns_of_arrow(tables[0].schema))}
        )
    )
    entries = []
    for version, (delta, table) in enumerate(zip(deltas, tables, strict=True), 2):
        # Large changes are segments.
        feed = table if version % 2 else storage.write_segment(spark.createDataFrame(table))
        storage.commit(
            CommitChange(timestamp=timestamp(version), logs={relation.name: table}, feed={relation.name: feed})
        )
        entries.append(Entry(Version(version), timestamp(version), delta))
    parts = storage.feed(relation.name, Version(0))
    assert feed_entries(spark, storage.files, relation, parts) == entries
    for since in (0, 3, 5):
        frame = feed_frame(spark, storage.files, relation, storage.feed(relation.name, Version(since)))
        assert frame.columns == ["k", "v", "_change_type", "_commit_version", "_commit_timestamp"]
        wanted = [
            (*row, *stamp) for row, *stamp in changes(relation, [each for each in entries if each.version > since])
        ]
        assert sorted(_rows(frame), key=repr) == sorted(wanted, key=repr)


def _rows(frame: DataFrame) -> list[tuple[object, ...]]:
    found = frame.toArrow().to_pylist()
    return [
        tuple(
            value.replace(tzinfo=datetime.UTC) if name == "_commit_timestamp" else value for name, value in each.items()
        )
        for each in found
    ]
