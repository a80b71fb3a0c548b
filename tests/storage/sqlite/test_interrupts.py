"""Ctrl-C at any moment: what was going on happens completely or not at all, and the next call works."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from random import Random

import pytest

import whence
from benchmarks.interrupts import search
from whence.deadline import check
from whence.incremental.store import KeyedStore
from whence.interrupts import held, interruptible, steady_context, stops_at_checks
from whence.session.journal import Record
from whence.storage.sqlite.journal import StoredJournal

CASES = int(os.environ.get("WHENCE_INTERRUPTS", "60"))


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_every_moment_of_every_call() -> None:
    first = Random().randrange(2**32)
    assert search(CASES, first) >= CASES, f"the first call was number {first}"


def test_it_waits_until_the_end() -> None:
    done = []

    def work() -> None:
        with held():
            press()
            with held():
                press()
            done.append("both")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["both"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_is_raised_at_the_next_check_and_not_while_that_is_undone() -> None:
    done = []

    def work() -> None:
        with held():
            try:
                with stops_at_checks():
                    press()
                    done.append("before")
                    check()
            except KeyboardInterrupt:
                press()
                check()
                done.append("undone")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["before", "undone"]


def test_what_is_interruptible_inside() -> None:
    with held(), pytest.raises(KeyboardInterrupt):
        interruptible(press)


def test_a_context_that_has_begun_is_ended() -> None:
    ended = []

    @steady_context
    def context():  # type: ignore[no-untyped-def]
        press()
        try:
            yield
        finally:
            ended.append(True)

    with pytest.raises(KeyboardInterrupt), context():
        pytest.fail("it was interrupted before")
    assert ended == [True]


def test_a_commit_that_happened_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append = StoredJournal.append

    def pressed(self: StoredJournal, record: Record) -> None:
        press()
        append(self, record)

    with whence.connect(tmp_path) as db:
        db.execute("CREATE TABLE t(x INT)")
        monkeypatch.setattr(StoredJournal, "append", pressed)
        with pytest.raises(KeyboardInterrupt) as caught:
            db.insert("t", [(1,)])
        assert caught.value.__notes__ == ["version 2 has been committed"]
        assert db.rows("t") == {(1,)}


def test_one_subscriber_is_interrupted_and_the_others_hear_of_it_later() -> None:
    heard: list[int] = []
    with whence.connect() as db:
        db.execute("CREATE TABLE t(x INT)")
        db.subscribe("t", lambda _: press() if db.version == 2 else None)
        db.subscribe("t", lambda table: heard.extend(table.column("_commit_version").to_pylist()))
        with pytest.raises(KeyboardInterrupt):
            db.insert("t", [(1,)])
        assert heard == []
        db.insert("t", [(2,)])
        assert heard == [2, 3]


def test_whoever_waits_for_a_turn_can_be_interrupted() -> None:
    has_turn, may_end = threading.Event(), threading.Event()

    def slow(x: int) -> int:
        has_turn.set()
        may_end.wait(20)
        return x

    with whence.connect() as db:
        db.function("slow", slow, returns="INT")
        db.execute("CREATE TABLE t(x INT); CREATE VIEW v AS SELECT slow(x) AS y FROM t")
        thread = threading.Thread(target=db.insert, args=("t", [(1,)]))
        thread.start()
        assert has_turn.wait(20)
        threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            db.rows("t")
        may_end.set()
        thread.join()
        assert db.rows("t") == {(1,)}


def test_whoever_presses_again_after_a_while_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.interrupts._INSISTENT_AFTER_SECONDS", -1)

    def work() -> None:
        with held():
            press()
            press()
            pytest.fail("it waited")

    with pytest.raises(KeyboardInterrupt):
        work()


def test_an_index_is_there_when_it_is_complete() -> None:
    class Rows(dict[int, tuple[int, int]]):
        def items(self):  # type: ignore[no-untyped-def]
            yield from list(super().items())[:1]
            raise KeyboardInterrupt

    store = KeyedStore((0,))
    store.apply({(1, 7): 1, (2, 7): 1})
    rows = store.counts.by_key
    store.counts.by_key = Rows(rows)  # type: ignore[arg-type, assignment]
    with pytest.raises(KeyboardInterrupt):
        store.matching((1,), 7)
    store.counts.by_key = rows
    assert store.matching((1,), 7) == {(1, 7): 1, (2, 7): 1}
