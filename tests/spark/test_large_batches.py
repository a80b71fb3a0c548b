"""Micro-batches that stay on the cluster come to the same as those that do not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

import whence.spark.bulk_load
from tests.spark.inbox import Inbox
from whence.spark.database import SparkDatabase

KINDS = {"bag": "CREATE TABLE word(a STRING, b INT)", "set": "CREATE TABLE word(a STRING, b INT, PRIMARY KEY (a, b))"}
VIEW = "CREATE VIEW long AS SELECT a, count(*) AS n, sum(b) AS total FROM word WHERE b > 1 GROUP BY a"


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_as_row_by_row(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Copies, NULL, and deletes of what is not there; every other batch is large."""
    chance = Random(kind)
    inbox = Inbox(spark, tmp_path / "in", "a STRING, b BIGINT, op STRING")
    with SparkDatabase(spark, None) as db, whence.connect() as twin:
        for each in (db, twin):
            each.execute(KINDS[kind])
            each.execute(VIEW)
        db.attach("word", inbox.stream, changes="op", missing="ignore")
        running = db.start()
        for number in range(4):
            monkeypatch.setattr(whence.spark.bulk_load, "TAKEN_AS_ROWS", 20_000 * (number % 2))
            net: Counter[tuple[str | None, int]] = Counter()
            records: list[dict[str, object] | str] = []
            for _ in range(15):
                row = chance.choice(["x", "y", None if kind == "bag" else "z"]), chance.choice([1, 2, 3])
                op = chance.choice(["insert", "insert", "delete"])
                records.append({"a": row[0], "b": row[1], "op": op})
                net[row] += 1 if op == "insert" else -1
            inbox.put(*records)
            running.processAllAvailable()
            with twin.batch() as batch:
                batch.delete("word", list((-net).elements()), missing="ignore")
                batch.insert("word", list((+net).elements()))
            for name in ("word", "long"):
                assert db.table(name) == twin.table(name)
