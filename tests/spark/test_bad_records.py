"""Records that cannot be taken: what is said about them, where they go, and that the others are taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark.sql import SparkSession

import whence.spark.bulk_load
from tests.spark.inbox import Inbox
from whence.errors import DataError
from whence.spark.database import SparkDatabase

TABLE = "CREATE TABLE stay(guest STRING NOT NULL, night DATE, price DECIMAL(6, 2), nights INT, PRIMARY KEY (guest))"
SCHEMA = "guest STRING, night DATE, price DECIMAL(10, 3), nights BIGINT, _change_type STRING, _corrupt_record STRING"

Record = dict[str, object]


def stay(guest: str | None, change: str | None = "insert", **values: object) -> Record:
    return {"guest": guest, "night": "2026-01-31", "price": 80, "nights": 1, "_change_type": change, **values}


def row(guest: str | None, price: str = "80.000", nights: int = 1) -> str:
    return f"({'NULL' if guest is None else repr(guest)}, 2026-01-31, {price}, {nights})"


# Each record, and what is said about it.
BAD: dict[str, tuple[Record | str, str]] = {
    "malformed": ('{"guest": "Ada", "night', 'a row of batch 1 for \'stay\' is malformed: \'{"guest": "Ada", "night\''),
    "no guest": (
        stay(None),
        f"column 'guest' is NOT NULL, and the value is NULL, in a row of batch 1 for 'stay': {row(None)}",
    ),
    "too many nights": (
        stay("Ada", nights=2**31),
        (
            "column 'nights' is INT, and 2147483648 does not fit: it is not between -2147483648 and 2147483647, "
            f"in a row of batch 1 for 'stay': {row('Ada', nights=2**31)}"
        ),
    ),
    "half a cent": (
        stay("Ada", price=0.125),
        (
            "column 'price' is DECIMAL(6,2), and 0.125 does not fit: it has more than 2 digits after the point, "
            f"in a row of batch 1 for 'stay': {row('Ada', '0.125')}\nhint: round it first"
        ),
    ),
    "unknown change": (
        stay("Ada", "upsert"),
        (
            f"'upsert' in '_change_type' is no change that 'stay' can follow, in a row of batch 1: {row('Ada')}\n"
            "hint: a change is insert, update_postimage, delete or update_preimage"
        ),
    ),
    "no change": (
        stay("Ada", None),
        (
            f"NULL in '_change_type' is no change that 'stay' can follow, in a row of batch 1: {row('Ada')}\n"
            "hint: a change is insert, update_postimage, delete or update_preimage"
        ),
    ),
    "not there": (
        stay("Eve", "delete"),
        (
            f"a row of batch 1 is not in 'stay', so it cannot be deleted: {row('Eve', '80.00')}\n"
            'hint: missing="ignore" passes over rows that are not there'
        ),
    ),
    "key conflict": (
        stay("Bob", nights=2),
        (
            f"a row of batch 1 has the key of another row of 'stay', column 'guest': {row('Bob', '80.00', 2)}\n"
            f"note: the row with that key is {row('Bob', '80.00')}\n"
            "hint: delete that row first; in the same batch the two make an update"
        ),
    ),
}


@pytest.mark.parametrize("is_large", [False, True])
def test_they_are_set_aside(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    """On the cluster and in the driver the same is said, but for the row that has the key."""
    if is_large:
        monkeypatch.setattr(whence.spark.bulk_load, "TAKEN_AS_ROWS", 0)
    inbox = Inbox(spark, tmp_path / "in", SCHEMA)
    with SparkDatabase(spark, str(tmp_path / "db")) as db:
        db.execute(TABLE)
        db.attach("stay", inbox.stream, bad="quarantine")
        inbox.put(stay("Bob"), stay("Cid"))
        inbox.put(
            *(record for record, _ in BAD.values()),
            stay("Cid", "delete"),
            stay("Cid", nights=9, price=0.5),
            # Two of a kind, of which neither is better.
            stay("Tom", nights=1),
            stay("Tom", nights=2),
        )
        running = db.start(trigger="available now")
        running.awaitTermination()
        assert running.lastProgress is not None
        assert (running.lastProgress.rows, running.lastProgress.bad) == (len(BAD) + 4, len(BAD) + 2)
        assert {(guest, nights) for guest, _, _, nights in db.rows("stay")} == {("Bob", 1), ("Cid", 9)}
    (file,) = (tmp_path / "db" / "quarantine" / "stay").iterdir()
    lines: list[dict[str, Any]] = [json.loads(line) for line in file.read_text().splitlines()]
    assert {(line["relation"], line["batch"]) for line in lines} == {("stay", 1)}
    reasons = {line["reason"] for line in lines if (line["row"] or {}).get("guest") != "Tom"}
    assert reasons == {message.partition("\n")[0] for _, message in BAD.values()}
    toms = [line for line in lines if (line["row"] or {}).get("guest") == "Tom"]
    assert [line["change"] for line in toms] == ["insert", "insert"]
    (malformed,) = [line for line in lines if line["row"] is None]
    assert malformed["record"] == BAD["malformed"][0]
    (missing,) = [line for line in lines if line["change"] == "delete"]
    assert missing["row"] == {"guest": "Eve", "night": "2026-01-31", "price": "80.00", "nights": 1}


def test_or_they_stop_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Each in a stream of its own, with a good record that must not be taken."""
    for name, (record, message) in BAD.items():
        inbox = Inbox(spark, tmp_path / name.replace(" ", "_"), SCHEMA)
        with SparkDatabase(spark, None) as db:
            db.execute(TABLE)
            db.attach("stay", inbox.stream)
            inbox.put(stay("Bob"))
            inbox.put(stay("Zoe"), record)
            with pytest.raises(DataError) as caught:
                db.start(trigger="available now").awaitTermination()
            assert str(caught.value) == message
            assert {guest for guest, *_ in db.rows("stay")} == {"Bob"} and db.version == 2


def test_missing_rows_may_be_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    inbox = Inbox(spark, tmp_path / "in", "op STRING, word STRING")
    with SparkDatabase(spark, None) as db:
        db.execute("CREATE TABLE said(word STRING)")
        db.attach("said", inbox.stream, changes="op", missing="ignore", bad="quarantine", quarantine=tmp_path / "bad")
        inbox.put({"op": "insert", "word": "a"}, {"op": "insert", "word": "a"}, {"op": "delete", "word": "b"})
        inbox.put({"op": "delete", "word": "a"}, {"op": "delete", "word": "c"})
        db.start(trigger="available now").awaitTermination()
        assert db.table("said").to_pylist() == [{"word": "a"}]
        assert not (tmp_path / "bad").exists()


def test_values_that_python_does_not_have(spark: SparkSession, tmp_path: Path) -> None:
    inbox = Inbox(spark, tmp_path / "in", "at STRING, bytes STRING")
    stream = inbox.stream.select(
        F.col("at").cast("date").alias("at"), F.unhex("bytes").cast("string").alias("text"), F.lit(0).alias("n")
    )
    with SparkDatabase(spark, None) as db:
        db.execute("CREATE TABLE said(at DATE, text STRING, n INT)")
        db.attach("said", stream, bad="quarantine", quarantine=tmp_path / "bad")
        inbox.put({"at": "+10000-01-01", "bytes": "61"}, {"at": "9999-12-31", "bytes": "62ff"}, {"bytes": "63"})
        db.start(trigger="available now").awaitTermination()
        assert db.rows("said") == {(None, "c", 0)}
    (file,) = (tmp_path / "bad").iterdir()
    assert {json.loads(line)["reason"] for line in file.read_text().splitlines()} == {
        "column 'at' of 'said' takes times of the years 1 to 9999, in a row of batch 0: (NULL, 'a', 0)",
        "column 'text' of 'said' takes text in UTF-8, in a row of batch 0: (9999-12-31, 'b\ufffd', 0)",
    }
