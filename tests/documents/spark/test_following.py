"""Micro-batches of a stream of Spark become commits; verdicts are those of the events themselves."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.documents_orders import QUERY, TEMPLATE, events, expected, write
from tests.documents.test_alerts import WITHIN, Timed, given, random_events
from tests.documents.test_alerts import expected as expected_alerts
from whence.documents import Documents


def test_orders_in_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    told = events(300)
    files = tmp_path / "files"
    files.mkdir()
    write(told, files, batches=4)
    frame = (
        spark.readStream.schema("key STRING, stream STRING, fragment STRING")
        .option("maxFilesPerTrigger", 1)
        .json(str(files))
    )
    orders = Documents(TEMPLATE, name="orders")
    quick = orders.query(QUERY, name="quick")
    version = orders.database.version
    following = orders.follow(frame, checkpoint=str(tmp_path / "checkpoint"))
    try:
        following.processAllAvailable()
    finally:
        following.stop()
    assert orders.database.version - version == 4
    assert quick.statuses() == expected(told)


def test_alerts_of_a_stream_are_those_of_its_events(spark: SparkSession, tmp_path: Path) -> None:
    told = [event for seed in range(40) for event in renamed(random_events(random.Random(seed)), seed)]
    told.sort(key=lambda each: each[3])
    files = tmp_path / "files"
    files.mkdir()
    for number in range(0, len(told), 60):
        lines = [
            json.dumps(dict(zip(("key", "stream", "fragment", "time"), row, strict=True)))
            for row in told[number : number + 60]
        ]
        path = files / f"{number:05}.json"
        path.write_text("\n".join(lines))
        os.utime(path, (number, number))
    schema = "key STRING, stream STRING, fragment STRING, time DOUBLE"
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(files))
    orders = Documents(TEMPLATE, name="orders")
    orders.alert(after="/order[payment]", unless="/order[delivery]", within=WITHIN, name="late")
    following = orders.follow(frame, checkpoint=str(tmp_path / "checkpoint"))
    try:
        following.processAllAvailable()
    finally:
        following.stop()
    orders.advance(100)
    assert given(orders) == expected_alerts(told, 100)
    assert {row["_change_type"] for row in orders.database.changes("late").to_pylist()} == {"insert"}


def renamed(events: list[Timed], number: int) -> list[Timed]:
    return [(f"{key}{number}", stream, fragment, time) for key, stream, fragment, time in events]
