"""Reading beside the writer, and at earlier versions: every way gives what the database had then."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from threading import Thread
from unittest import mock

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import whence
from tests.spark.busy_writer import ACCOUNTS
from whence.errors import DataError, StateError, UnknownNameError, UnsupportedError
from whence.spark import bulk_load, journal
from whence.spark.database import SparkDatabase
from whence.spark.source import WhenceSource

PROGRAM = """
CREATE TABLE link (src STRING, dst STRING, cost INT);
CREATE TABLE site (node STRING NOT NULL, at TIMESTAMP, tags ARRAY<STRING>, PRIMARY KEY (node));
CREATE MATERIALIZED VIEW reach AS WITH RECURSIVE r (src, dst) AS (
  SELECT src, dst FROM link UNION SELECT r.src, l.dst FROM r JOIN link l ON r.dst = l.src) SELECT * FROM r;
CREATE MATERIALIZED VIEW out AS SELECT src, count(*) AS links, min(cost) AS least FROM link GROUP BY src;
CREATE MATERIALIZED VIEW ends AS SELECT DISTINCT dst FROM link;
"""
RELATIONS = ("link", "site", "reach", "out", "ends")


def told(frame: DataFrame) -> list[str]:
    return sorted(repr(tuple(row.values())) for row in frame.toArrow().to_pylist())


def contents(db: SparkDatabase) -> dict[str, list[str]]:
    return {name: sorted(repr(tuple(row.values())) for row in db.table(name).to_pylist()) for name in RELATIONS}


def changed(db: SparkDatabase, chance: random.Random) -> Iterator[dict[str, list[str]]]:
    """Commits of all kinds, and what is there after each."""
    links: list[tuple[str | None, str, int | None]] = []
    while True:
        if links and chance.random() < 0.4:
            gone = chance.sample(links, min(len(links), 2))
            for link in gone:
                links.remove(link)
            db.delete("link", gone)
        else:
            come = [
                (chance.choice(["a", "b", None]), chance.choice("abc"), chance.choice([1, None]))
                for _ in range(chance.choice([1, 4]))
            ]
            links += come
            db.insert("link", come)
        db.upsert("site", [(chance.choice("xyz"), None, (chance.choice("pq"), None))])
        yield contents(db)


@pytest.mark.parametrize(
    ("seed", "overlay", "rows", "commits", "step"),
    [
        (0, 3, 5_000, 6, 3),
        pytest.param(1, 20_000, 5_000, 14, 1, marks=pytest.mark.slow),
        pytest.param(2, 3, 5_000, 14, 1, marks=pytest.mark.slow),
        pytest.param(3, 3, 0, 14, 1, marks=pytest.mark.slow),
    ],
)
def test_versions(
    spark: SparkSession, tmp_path: Path, seed: int, overlay: int, rows: int, commits: int, step: int
) -> None:
    """With segments and without, with large changes in the feed and with small ones."""
    with (
        mock.patch.object(journal, "SMALL_OVERLAY", overlay),
        mock.patch.object(bulk_load, "TAKEN_AS_ROWS", rows),
        SparkDatabase(spark, str(tmp_path), keep_versions=commits) as db,
    ):
        db.execute(PROGRAM)
        known = {}
        for found in islice(changed(db, random.Random(seed)), commits):
            known[int(db.version)] = found
        kept = {version: found for version, found in known.items() if version > db.version - commits}
        for version, relations in list(kept.items())[::step]:
            for name, expected in relations.items():
                assert told(db.df(name, version=version)) == expected, (version, name)
                if version % 2 or step == 1:
                    assert told(whence.read(spark, tmp_path, name, version)) == expected, (version, name)
        newest = contents(db)
        for name in RELATIONS:
            assert told(whence.read(spark, tmp_path, name.upper())) == newest[name]
            if name in ("link", "reach") or step == 1:
                source = spark.read.format("whence").option("view", name)
                assert told(source.load(str(tmp_path))) == newest[name]
        version, relations = min(kept.items())
        source = spark.read.format("whence").option("view", "out").option("version", version)
        assert told(source.load(str(tmp_path))) == relations["out"]
        oldest = r"version 1 of 'link' is not there: versions \d+ to \d+ are kept"
        with pytest.raises(StateError, match=oldest) as caught:
            db.df("link", version=1)
        assert "keep_versions" in str(caught.value)
        with pytest.raises(StateError, match=oldest):
            whence.read(spark, tmp_path, "link", version=1)
        with pytest.raises(StateError, match="version 999 of 'link' is not there"):
            db.df("link", version=999)
    # The database is closed now, and can still be read.
    assert told(whence.read(spark, tmp_path, "out")) == newest["out"]


def test_a_view_is_not_there_before_it_was_made(spark: SparkSession, tmp_path: Path) -> None:
    with SparkDatabase(spark, str(tmp_path)) as db:
        db.execute("CREATE TABLE t (a INT)")
        db.insert("t", [(1,)])
        before = db.version
        db.insert("t", [(2,)])
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT a + 1 AS b FROM t")
        began = db.version
        db.insert("t", [(3,)])
        assert told(db.df("v", version=began)) == ["(2,)", "(3,)"]
        assert told(db.df("t", version=before)) == ["(1,)"]
        with pytest.raises(StateError, match=f"version {before} of 'v' is not there: versions {began} to {db.version}"):
            whence.read(spark, tmp_path, "v", before)


def test_version_as_of(spark: SparkSession) -> None:
    with whence.connect(spark) as db:
        db.execute("CREATE TABLE t (a INT)")
        db.insert("t", [(1,)])
        with pytest.raises(UnsupportedError, match="cannot read 't' VERSION AS OF another than the last") as caught:
            db.query("SELECT * FROM t VERSION AS OF 1")
        assert "db.df('t', version=...)" in str(caught.value)
        with pytest.raises(PySparkException, match="Time travel"):
            spark.sql("SELECT * FROM t VERSION AS OF 1")


def test_what_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    with mock.patch.object(journal, "SMALL_OVERLAY", 1), SparkDatabase(spark, str(tmp_path / "db")) as db:
        db.execute("CREATE TABLE t (a INT); CREATE TABLE u (a INT)")
        db.insert("t", [(1,), (2,)])
        db.insert("u", [(1,), (2,)])
        (lost,) = db._storage.current.tables["t"].segments  # noqa: SLF001 - the one to lose
    with pytest.raises(StateError, match="there is no database in"):
        whence.read(spark, tmp_path / "nowhere", "t")
    with pytest.raises(UnknownNameError, match="'v'"):
        whence.read(spark, tmp_path / "db", "v")
    with pytest.raises(DataError, match="a version is a number, and not 'one'"):
        whence.read(spark, tmp_path / "db", "t", "one")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="of Spark Connect cannot be used"):
        whence.read(object(), tmp_path / "db", "t")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="the rows of a view are not a stream"):
        WhenceSource({"path": str(tmp_path / "db"), "view": "t"}).streamReader(StructType())
    shutil.rmtree(tmp_path / "db" / lost.path)
    with pytest.raises(StateError, match=f"{lost.path}, which holds rows of 't', has lost files; other relations can"):
        whence.read(spark, tmp_path / "db", "t")
    assert told(whence.read(spark, tmp_path / "db", "u")) == ["(1,)", "(2,)"]


@pytest.mark.slow
def test_a_writer_that_never_rests(spark: SparkSession, tmp_path: Path) -> None:
    """Every frame is of one version, and whole, while another process commits and writes new bases."""
    command = [sys.executable, "-m", "tests.spark.busy_writer", str(tmp_path)]
    looked: set[int] = set()
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        # The first rows are there.
        commits = [writer.stdout.readline()]
        listener = Thread(target=lambda: commits.extend(writer.stdout or ()), daemon=True)
        listener.start()
        while len(looked) < 8 and writer.poll() is None:
            frames = [whence.read(spark, tmp_path, name) for name in ("entry", "total")]
            found = {(row.account, row.version) for row in frames[0].collect()}
            (number,) = {version for _, version in found}
            assert len(found) == (ACCOUNTS if number % 2 == 0 else ACCOUNTS // 2)
            ((of, count),) = [tuple(row) for row in frames[1].collect()]
            assert count == (ACCOUNTS if of % 2 == 0 else ACCOUNTS // 2)
            looked.add(number)
        writer.stdin.close()
        # It reads until the writer ends, and then nothing is left to close under it.
        listener.join()
    assert writer.returncode == 0
    assert len(looked) == 8
    last = int(commits[-1])
    assert {row.version for row in whence.read(spark, tmp_path, "entry").collect()} == {last}
