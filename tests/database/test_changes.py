"""Change feeds: what they tell, and who hears of it."""

from __future__ import annotations

import datetime
import logging
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

import whence


@pytest.fixture
def db() -> Iterator[whence.Database]:
    with whence.connect() as opened:
        opened.execute("CREATE TABLE link(src STRING, cost INT); CREATE TABLE person(id INT PRIMARY KEY, name STRING)")
        opened.execute("CREATE VIEW n AS SELECT src, count(*) AS n FROM link GROUP BY src")
        yield opened


def brief(table: pa.Table) -> list[tuple[object, ...]]:
    """The changes without their times."""
    return [tuple(row.values()) for row in table.drop_columns("_commit_timestamp").to_pylist()]


class TestChanges:
    def test_the_columns(self, db: whence.Database) -> None:
        assert db.changes("link").schema == pa.schema(
            [
                ("src", pa.string()),
                ("cost", pa.int32()),
                pa.field("_change_type", pa.string(), nullable=False),
                pa.field("_commit_version", pa.int64(), nullable=False),
                pa.field("_commit_timestamp", pa.timestamp("us", "UTC"), nullable=False),
            ]
        )

    def test_inserts_and_deletes_with_duplicates(self, db: whence.Database) -> None:
        db.insert("link", [("a", 1), ("a", 1), ("b", 2)])
        commit = db.delete("link", [("a", 1)])
        assert brief(db.changes("link")) == [
            ("a", 1, "insert", 4),
            ("a", 1, "insert", 4),
            ("b", 2, "insert", 4),
            ("a", 1, "delete", 5),
        ]
        assert db.changes("link").column("_commit_timestamp")[3].as_py() == commit.timestamp

    def test_since(self, db: whence.Database) -> None:
        for i in range(3):
            db.insert("link", [("a", i)])
        assert [row[3] for row in brief(db.changes("link", since=5))] == [6]
        assert db.changes("link", since=6).num_rows == 0
        assert brief(db.changes("link", 0)) == brief(db.changes("link"))

    def test_since_is_a_number(self, db: whence.Database) -> None:
        for since in ("yesterday", True, 1.5):
            with pytest.raises(whence.TypeMismatchError, match="since is the version of a commit"):
                db.changes("link", since=since)  # type: ignore[arg-type]

    def test_a_view_has_deletes_and_inserts(self, db: whence.Database) -> None:
        db.insert("link", [("a", 1)])
        db.insert("link", [("a", 2)])
        assert brief(db.changes("n", since=4)) == [("a", 1, "delete", 5), ("a", 2, "insert", 5)]

    def test_a_view_starts_with_all_its_rows(self, db: whence.Database) -> None:
        db.insert("link", [("a", 1)])
        db.execute("CREATE VIEW late AS SELECT src FROM link")
        assert brief(db.changes("late")) == [("a", "insert", 5)]

    def test_a_key_that_stays_is_an_update(self, db: whence.Database) -> None:
        db.insert("person", [(1, "Ann"), (2, "Bob")])
        with db.batch() as batch:
            batch.delete("person", [(1, "Ann"), (2, "Bob")])
            batch.insert("person", [(1, "Ida"), (3, "Eve")])
        assert brief(db.changes("person", since=4)) == [
            (2, "Bob", "delete", 5),
            (1, "Ann", "update_preimage", 5),
            (1, "Ida", "update_postimage", 5),
            (3, "Eve", "insert", 5),
        ]

    def test_what_cancels_out_is_not_told(self, db: whence.Database) -> None:
        db.insert("person", [(1, "Ann")])
        with db.batch() as batch:
            batch.delete("person", [(1, "Ann")])
            batch.insert("person", [(1, "Ann")])
        assert db.changes("person", since=4).num_rows == 0


class TestSubscribe:
    def test_a_subscriber_gets_the_changes(self, db: whence.Database) -> None:
        heard: list[pa.Table] = []
        db.subscribe("n", heard.append)
        db.insert("link", [("a", 1), ("b", 1)])
        db.insert("person", [(1, "Ann")])
        db.insert("link", [("a", 2)])
        assert [brief(table) for table in heard] == [
            [("a", 1, "insert", 4), ("b", 1, "insert", 4)],
            [("a", 1, "delete", 6), ("a", 2, "insert", 6)],
        ]
        assert heard[0].schema == db.changes("n").schema

    def test_the_commit_is_visible_by_then(self, db: whence.Database) -> None:
        seen: list[object] = []
        db.subscribe("link", lambda changes: seen.append((db.version, db.rows("n"))))
        commit = db.insert("link", [("a", 1)])
        assert seen == [(commit.version, {("a", 1)})]

    def test_statements_before_a_failing_one_are_heard_of(self, db: whence.Database) -> None:
        heard: list[pa.Table] = []
        db.subscribe("person", heard.append)
        with pytest.raises(whence.DataError):
            db.execute("INSERT INTO person VALUES (1, 'Ann'); INSERT INTO person VALUES (1, 'Ida')")
        assert len(heard) == 1

    def test_cancel(self, db: whence.Database) -> None:
        heard: list[pa.Table] = []
        subscription = db.subscribe("link", heard.append)
        db.insert("link", [("a", 1)])
        subscription.cancel()
        subscription.cancel()
        db.insert("link", [("a", 2)])
        assert len(heard) == 1

    def test_one_that_raises_stops_neither_the_commit_nor_the_others(
        self, db: whence.Database, caplog: pytest.LogCaptureFixture
    ) -> None:
        heard: list[pa.Table] = []

        def fails(changes: pa.Table) -> None:
            raise KeyError("oops")

        db.subscribe("link", fails)
        db.subscribe("link", heard.append)
        with caplog.at_level(logging.ERROR, "whence"):
            commit = db.insert("link", [("a", 1)])
        assert (db.rows("link"), len(heard)) == ({("a", 1)}, 1)
        (record,) = caplog.records
        assert record.getMessage() == f"a subscriber of 'link' failed at version {commit.version}"
        assert record.exc_info is not None

    def test_one_that_changes_the_database(self, db: whence.Database) -> None:
        """Everyone hears of a change before anyone hears of what it led to."""
        heard: list[tuple[str, object]] = []

        def echo(changes: pa.Table) -> None:
            heard.append(("first", changes.column("cost").to_pylist()))
            if db.version < 6:
                db.insert("link", [("echo", db.version)])

        db.subscribe("link", echo)
        db.subscribe("link", lambda changes: heard.append(("second", changes.column("cost").to_pylist())))
        db.insert("link", [("a", 1)])
        assert heard == [(who, [cost]) for cost in (1, 4, 5) for who in ("first", "second")]

    def test_one_that_waits_for_another_thread(self, db: whence.Database) -> None:
        seen: list[object] = []

        def wait(changes: pa.Table) -> None:
            thread = threading.Thread(target=lambda: seen.append(len(db.rows("link"))))
            thread.start()
            thread.join(timeout=30)

        db.subscribe("link", wait)
        db.insert("link", [("a", 1)])
        assert seen == [1]

    def test_expiry_is_heard_of(self) -> None:
        db = whence.connect()
        db.execute("CREATE TABLE t(x INT) TBLPROPERTIES ('ttl' = '1 day')")
        heard: list[pa.Table] = []
        db.subscribe("t", heard.append)
        db.advance("2026-01-01")
        db.insert("t", [(1,)])
        db.advance(datetime.date(2026, 1, 2))
        assert [table.column("_change_type").to_pylist() for table in heard] == [["insert"], ["delete"]]

    def test_a_dropped_relation_has_no_subscribers(self, db: whence.Database) -> None:
        heard: list[pa.Table] = []
        subscription = db.subscribe("person", heard.append)
        db.execute("DROP TABLE person; CREATE TABLE person(x INT)")
        db.insert("person", [(1,)])
        assert (heard, subscription.active) == ([], False)

    def test_what_cannot_be_called(self, db: whence.Database) -> None:
        with pytest.raises(whence.TypeMismatchError, match="subscribe needs something that can be called, not a str"):
            db.subscribe("link", "print")  # type: ignore[arg-type]
        with pytest.raises(whence.UnknownNameError):
            db.subscribe("lnk", print)


def test_threads_take_turns(db: whence.Database) -> None:
    heard: list[int] = []
    db.subscribe("link", lambda changes: heard.extend(changes.column("_commit_version").to_pylist()))

    def work(number: int) -> None:
        for i in range(25):
            db.insert("link", [(f"t{number}", i)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db.rows("n") == {(f"t{number}", 25) for number in range(4)}
    assert heard == list(range(4, 104))
