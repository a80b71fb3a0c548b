"""Change feeds as files: every version once, whole, and in order."""

from __future__ import annotations

import errno
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from whence.errors import DataError, StateError
from whence.spark.database import SparkDatabase
from whence.storage.files.files import LocalFiles

TABLE = "CREATE TABLE price(item STRING, day DATE, cents DECIMAL(8, 2), PRIMARY KEY (item))"
TEA = ("tea", "2026-01-31")
VIEW = "CREATE VIEW dear AS SELECT item, cents FROM price WHERE cents > 10"


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if not path.name.startswith("_"))


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for name in files(directory) for line in (directory / name).read_text().splitlines()]


def test_every_version_once(spark: SparkSession, tmp_path: Path) -> None:
    root, feed = str(tmp_path / "db"), tmp_path / "feed"
    with SparkDatabase(spark, root) as db:
        db.execute(TABLE)
        db.execute(VIEW)
        db.insert("price", [(*TEA, Decimal("12.50")), ("bun", "2026-01-31", 3)])
        export = db.export("dear", feed)
        # What has happened is there at once.
        assert files(feed) == ["00000000000000000003.json"] and export.version == 3
        db.insert("price", [("pie", None, 9)])
        with db.batch() as batch:
            batch.delete("price", [(*TEA, Decimal("12.50"))])
            batch.insert("price", [(*TEA, 14)])
        assert files(feed)[1:] == ["00000000000000000005.json"]
        export.cancel()
        db.insert("price", [("ham", None, 30)])
    with SparkDatabase(spark, root) as db:
        db.export("dear", feed)
        db.export("price", tmp_path / "prices", format="parquet")
        db.delete("price", [("ham", None, 30)])
        assert [name[18:] for name in files(feed)] == ["03.json", "05.json", "06.json", "07.json"]
        told = [(line["item"], line["cents"], line["_change_type"], line["_commit_version"]) for line in lines(feed)]
        assert told == [
            ("tea", "12.50", "insert", 3),
            ("tea", "12.50", "delete", 5),
            ("tea", "14.00", "insert", 5),
            ("ham", "30.00", "insert", 6),
            ("ham", "30.00", "delete", 7),
        ]
        # Spark reads them as they were.
        schema = (
            "item STRING, cents DECIMAL(8, 2), _change_type STRING, _commit_version BIGINT, _commit_timestamp TIMESTAMP"
        )
        read = spark.read.schema(schema).json(str(feed)).orderBy("_commit_version", "_change_type").toArrow()
        assert read.to_pylist() == db.changes("dear").to_pylist()
        prices = parquet.read_table(tmp_path / "prices")
        assert prices.to_pylist() == db.changes("price").to_pylist()
        assert prices.column("_change_type").to_pylist()[3:5] == ["update_preimage", "update_postimage"]


def test_a_file_that_cannot_be_written_is_tried_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with SparkDatabase(spark, None) as db:
        db.execute("CREATE TABLE said(word STRING)")
        db.export("said", tmp_path / "feed")
        create = LocalFiles.create

        def full(self: LocalFiles, path: str, data: bytes) -> bool:
            if path.endswith(".json"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return create(self, path, data)

        monkeypatch.setattr(LocalFiles, "create", full)
        assert db.insert("said", [("a",)]).version == 2
        assert f"the changes of 'said' do not get to {tmp_path / 'feed'}" in caplog.text
        assert "No space left on device" in caplog.text
        monkeypatch.undo()
        db.insert("said", [("b",)])
        assert [line["word"] for line in lines(tmp_path / "feed")] == ["a", "b"]
        # A relation that goes takes its export with it, and says so.
        db.execute("DROP TABLE said")
        assert "'said' has gone, or has other columns now" in caplog.text
        db.execute("CREATE TABLE said(word INT)")
        assert len(files(tmp_path / "feed")) == 2


def test_what_cannot_be_exported(spark: SparkSession, tmp_path: Path) -> None:
    with SparkDatabase(spark, None, keep_versions=2) as db:
        db.execute("CREATE TABLE said(word STRING)")
        db.execute("CREATE TABLE heard(word STRING)")
        db.insert("said", [("a",)])
        db.export("said", tmp_path / "said").cancel()
        for word in "bcd":
            db.insert("said", [(word,)])
        with pytest.raises(StateError) as caught:
            db.export("said", tmp_path / "said")
        assert str(caught.value) == (
            "the changes of 'said' are there from version 5 on; older ones are forgotten\n"
            "hint: ask for those since=4 or later, or keep more with connect(keep_versions=...), which is 2 now"
        )
        with pytest.raises(DataError, match="""format is "json" or "parquet", not 'csv'"""):
            db.export("said", tmp_path / "csv", format="csv")  # type: ignore[arg-type]
        for name, form in (("heard", "json"), ("said", "parquet")):
            with pytest.raises(StateError, match="holds changes of another relation, or in another form"):
                db.export(name, tmp_path / "said", format=form)  # type: ignore[arg-type]
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "a.txt").touch()
        with pytest.raises(StateError, match="notes holds other files, and no changes"):
            db.export("heard", tmp_path / "notes")
    with SparkDatabase(spark, None) as db:
        db.execute("CREATE TABLE said(word STRING)")
        with pytest.raises(StateError) as caught:
            db.export("said", tmp_path / "said")
        assert str(caught.value) == (
            f"{tmp_path / 'said'} has changes of version 3, and the database is at version 1\n"
            "hint: these are changes of another database; choose another directory"
        )
