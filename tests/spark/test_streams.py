"""Streams as the source of tables: every batch is a commit, once, whatever happens in between."""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

import whence
from tests.spark.inbox import Inbox
from whence.errors import DataError, StateError, TypeMismatchError, UnknownNameError
from whence.spark.database import SparkDatabase

LINK = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, cost INT NOT NULL, PRIMARY KEY (src, dst))"
RULES = """
    .decl distance(x: number, y: number, cost: number)
    reachable(x, y) :- link(x, y, _).
    reachable(x, y) :- link(x, z, _), reachable(z, y).
    distance(x, y, min<c>) :- link(x, y, c).
    distance(x, y, min<c + d>) :- link(x, z, c), distance(z, y, d).
"""
SCHEMA = "src INT, dst INT, cost INT, _change_type STRING"


def link(src: int, dst: int, cost: int = 1, change: str = "insert") -> dict[str, object]:
    return {"src": src, "dst": dst, "cost": cost, "_change_type": change}


def replay_last(root: Path, table: str) -> None:
    """Let Spark think that it has not finished the last batch."""
    commits = root / "streams" / table / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink()


def test_recursion_follows_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Cycles that come and go, and costs that only a minimum keeps finite."""
    inbox = Inbox(spark, tmp_path / "in", SCHEMA)
    chance = Random(7)
    with SparkDatabase(spark, str(tmp_path / "db")) as db, whence.connect(engine="reference") as reference:
        for each in (db, reference):
            each.execute(LINK)
            each.rules(RULES)
        heard: list[Any] = []
        db.subscribe("distance", heard.append)
        db.attach("link", inbox.stream)
        links: dict[tuple[int, int], int] = {}
        version = db.version
        running = db.start()
        for batch in range(4):
            records = []
            for _ in range(6):
                ends = chance.randrange(5), chance.randrange(5)
                if ends in links:
                    records.append(link(*ends, links.pop(ends), "update_preimage" if batch % 2 else "delete"))
                if chance.random() < 0.7:
                    links[ends] = chance.randrange(1, 9)
                    records.append(link(*ends, links[ends], "update_postimage" if batch % 2 else "insert"))
            chance.shuffle(records)
            inbox.put(*records)
            running.processAllAvailable()
            reference.delete("link", sorted(reference.rows("link")))
            reference.insert("link", [(*ends, cost) for ends, cost in links.items()])
            for name in ("link", "reachable", "distance"):
                assert db.rows(name) == reference.rows(name)
            progress = running.lastProgress
            assert progress is not None
            assert (progress.relation, progress.batch, progress.rows, progress.bad) == ("link", batch, len(records), 0)
            assert progress.version == db.version == version + batch + 1
        assert sum(table.num_rows for table in heard) == db.changes("distance").num_rows
        assert running.status.keys() == {"link"} and running.exception() is None
        assert not running.awaitTermination(0.01)
        running.stop()
        running.stop()
        assert running.awaitTermination()


def test_a_batch_that_is_replayed_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    inbox = Inbox(spark, tmp_path / "in", "word STRING, copies INT")
    root = tmp_path / "db"
    record = {"word": "a", "copies": 1}
    with SparkDatabase(spark, str(root)) as db:
        db.execute("CREATE TABLE said(word STRING, copies INT)")
        db.attach("said", inbox.stream)
        inbox.put(record, record)
        inbox.put(record)
        db.start(trigger="available now").awaitTermination()
        assert db.query("SELECT count(*) AS n FROM said").to_pylist() == [{"n": 3}]
        assert db.version == 3
    replay_last(root, "said")
    with SparkDatabase(spark, str(root)) as db:
        db.attach("said", inbox.stream)
        inbox.put(record)
        running = db.start(trigger="available now")
        running.awaitTermination()
        assert running.lastProgress is not None and running.lastProgress.batch == 2
        assert db.query("SELECT count(*) AS n FROM said").to_pylist() == [{"n": 4}]
        assert db.version == 4
        # The stream from its beginning, as another one.
        db.start(trigger="available now", checkpoint=tmp_path / "elsewhere").awaitTermination()
        assert db.query("SELECT count(*) AS n FROM said").to_pylist() == [{"n": 8}]


def test_a_checkpoint_of_another_database(spark: SparkSession, tmp_path: Path) -> None:
    inbox = Inbox(spark, tmp_path / "in", "word STRING")
    for batches in (2, 1):
        with SparkDatabase(spark, None) as db:
            db.execute("CREATE TABLE said(word STRING)")
            db.attach("said", inbox.stream)
            for _ in range(batches):
                inbox.put({"word": "a"})
            running = db.start(trigger="available now", checkpoint=tmp_path / "checkpoint")
            if batches == 2:
                running.awaitTermination()
                continue
            with pytest.raises(StateError) as caught:
                running.awaitTermination()
            assert str(caught.value) == (
                "batch 2 comes to 'said', and none came before\n"
                "hint: the checkpoint is that of another database, or of another state of this one; "
                "start with a new checkpoint"
            )
            assert db.rows("said") == set()


def test_a_stream_that_fails_stops_all(spark: SparkSession, tmp_path: Path) -> None:
    links = Inbox(spark, tmp_path / "links", SCHEMA)
    words = Inbox(spark, tmp_path / "words", "word STRING")
    with SparkDatabase(spark, str(tmp_path / "db")) as db:
        db.execute(LINK)
        db.execute("CREATE TABLE said(word STRING)")
        db.attach("link", links.stream)
        db.attach("said", words.stream)
        running = db.start()
        links.put(link(1, 2))
        words.put({"word": "a"})
        running.processAllAvailable()
        with pytest.raises(StateError, match="streams are running, and no other can be started"):
            db.start()
        version = db.version
        links.put(link(3, 4), link(1, 2, 9))
        with pytest.raises(DataError) as caught:
            running.processAllAvailable()
        assert str(caught.value) == (
            "a row of batch 1 has the key of another row of 'link', columns 'src', 'dst': (1, 2, 9)\n"
            "note: the row with that key is (1, 2, 1)\n"
            "hint: delete that row first; in the same batch the two make an update"
        )
        assert running.exception() is caught.value and not running.isActive
        with pytest.raises(DataError, match="has the key of another row"):
            running.awaitTermination()
        assert db.version == version and db.rows("link") == {(1, 2, 1)}
        # When the cause is gone, the batch is taken.
        db.delete("link", [(1, 2, 1)])
        words.put({"word": "b"})
        db.start(trigger="available now").awaitTermination()
        assert db.rows("link") == {(3, 4, 1), (1, 2, 9)} and db.rows("said") == {("a",), ("b",)}


def test_stopping_waits_for_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    inbox = Inbox(spark, tmp_path / "in", "word STRING")
    at_work, go_on = threading.Event(), threading.Event()

    def slow(word: str) -> str:
        at_work.set()
        go_on.wait(20)
        return word

    db = SparkDatabase(spark, None)
    db.execute("CREATE TABLE said(word STRING)")
    db.function("slow", slow, returns="STRING")
    db.execute("CREATE VIEW slowly AS SELECT slow(word) AS word FROM said")
    db.attach("said", inbox.stream)
    inbox.put({"word": "a"})
    inbox.put({"word": "b"})
    running = db.start()
    assert at_work.wait(60)
    stopping = threading.Thread(target=running.stop)
    stopping.start()
    go_on.set()
    stopping.join(60)
    assert not stopping.is_alive() and not running.isActive and running.exception() is None
    assert db.rows("slowly") == {("a",)}
    running = db.start()
    running.processAllAvailable()
    assert db.rows("slowly") == {("a",), ("b",)}
    db.close()
    assert not running.isActive


def test_what_cannot_be_attached(spark: SparkSession, tmp_path: Path) -> None:
    inbox = Inbox(spark, tmp_path / "in", SCHEMA)
    with SparkDatabase(spark, None) as db:
        db.execute(LINK)
        db.execute("CREATE VIEW ends AS SELECT src, dst FROM link")
        stream = inbox.stream
        refused: list[tuple[type[Exception], str, dict[str, Any]]] = [
            (
                DataError,
                "'ends' is a view, and its rows follow from its definition\nhint: change the tables it reads: link",
                {"relation": "ends"},
            ),
            (
                TypeMismatchError,
                "attach takes a streaming DataFrame, not a list\nhint: spark.readStream makes one",
                {"stream": []},
            ),
            (
                TypeMismatchError,
                "the DataFrame for 'link' is not a stream\nhint: db.insert('link', frame) takes all its rows at once",
                {"stream": spark.range(1)},
            ),
            (DataError, "the stream for 'link' lacks column 'cost'", {"stream": stream.drop("cost")}),
            (
                DataError,
                "'link' has no column 'costs', which is in the stream for 'link'\nhint: did you mean 'cost'?",
                {"stream": stream.withColumnRenamed("cost", "costs")},
            ),
            (
                TypeMismatchError,
                (
                    "column 'cost' of 'link' is INT, and the stream has STRING\n"
                    'hint: cast it before: .withColumn("cost", col("cost").cast("INT"))'
                ),
                {"stream": stream.withColumn("cost", stream.cost.cast("string"))},
            ),
            (
                UnknownNameError,
                (
                    "the stream for 'link' has no column '_chang_type', which is to name the change\n"
                    "hint: did you mean '_change_type'?"
                ),
                {"changes": "_chang_type"},
            ),
            (
                TypeMismatchError,
                (
                    "column '_change_type' of the stream for 'link' is to name the change, and it is INT\n"
                    "hint: it must be a STRING"
                ),
                {"stream": stream.withColumn("_change_type", stream.cost)},
            ),
            (DataError, 'bad is "stop" or "quarantine", not \'skip\'', {"bad": "skip"}),
            (
                DataError,
                (
                    "a quarantine is where bad rows are set aside, and bad rows stop this stream\n"
                    'hint: give bad="quarantine" as well'
                ),
                {"quarantine": tmp_path},
            ),
            (
                StateError,
                (
                    "this database goes away when it is closed, and bad rows must not\n"
                    "hint: name a directory for them: quarantine='...'"
                ),
                {"bad": "quarantine"},
            ),
            (DataError, 'missing is "error" or "ignore", not \'skip\'', {"missing": "skip"}),
            (
                DataError,
                (
                    "time cannot follow the rows of 'link', which do not tell it\n"
                    "hint: create the table with the properties 'ttl' and 'ttl_column'"
                ),
                {"advance": "1 second"},
            ),
        ]
        for kind, message, arguments in refused:
            with pytest.raises(kind) as caught:
                db.attach(**{"relation": "link", "stream": stream, **arguments})
            assert str(caught.value).startswith(message)
        with pytest.raises(StateError, match="there is no stream to start"):
            db.start()
        db.attach("link", stream)
        with pytest.raises(StateError) as caught_twice:
            db.attach("link", stream)
        assert str(caught_twice.value) == (
            "table 'link' has a stream already\nhint: attach the union of the two, or db.detach('link') first"
        )
        db.detach("link")
        with pytest.raises(StateError, match="table 'link' has no stream"):
            db.detach("link")
