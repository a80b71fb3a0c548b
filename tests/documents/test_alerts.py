"""Times of updates, and alerts when something did not come in time."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import whence
from whence.documents import Document, Documents

TEMPLATE = "<order><?stream bank?><?stream post?></order>"
WITHIN = 4.0
Timed = tuple[str, str, str | None, float]


def test_an_update_out_of_time_order_is_refused_and_nothing_is_lost() -> None:
    doc = Document.xml("<a><?stream f?></a>")
    query = doc.query("/a/b")
    doc.add("f", "<b/>", at=10)
    version = doc.database.version
    refused = r"is of time .*, and the clock is at 10 already"
    with pytest.raises(whence.DataError, match=refused):
        doc.add("f", "<b/>", at=9.5)
    with pytest.raises(whence.DataError, match=refused):
        doc.end("f", at=3)
    with pytest.raises(whence.DataError, match=refused):
        doc.advance(9)
    assert (doc.database.version, len(query.answers), doc.streams) == (version, 1, ("f",))
    doc.add("f", "<b/>", at=10)
    doc.add("f", "<b/>")
    assert (len(query.answers), doc.clock.time) == (3, 10.0)
    for wrong in ("noon", True, float("nan")):
        with pytest.raises(whence.TypeMismatchError, match="a time is a number of seconds or a datetime"):
            doc.add("f", "<b/>", at=wrong)  # type: ignore[arg-type]


def test_no_delivery_within_four_seconds_is_a_change_feed() -> None:
    doc = Document.xml("<orders><?stream shop?></orders>")
    doc.alert("/orders/order", after="payment", unless="delivery", within=WITHIN, name="late")
    heard: list[tuple[str, float]] = []
    doc.database.subscribe(
        "late", lambda table: heard.extend((row["_change_type"], row["due"]) for row in table.to_pylist())
    )
    doc.add("shop", "<order><payment/><?stream one?></order>", at=1)
    doc.add("shop", "<order><payment/><?stream two?></order>", at=2)
    doc.add("one", "<delivery/>", at=5)
    doc.advance(6)
    assert heard == []
    doc.add("two", "<delivery/>", at=6.5)
    assert heard == [("insert", 6.0)]
    doc.advance(100)
    assert doc.database.rows("late") == {(6, "/orders/order", 6.0)}
    assert doc.database.rows("late_waiting") == set()


def test_moments_are_times() -> None:
    doc = Document.xml("<a><?stream f?></a>")
    doc.alert("/a", after="b", unless="c", within=60, name="late")
    doc.add("f", "<b/>", at=datetime(2026, 1, 1, 12, 0, tzinfo=UTC))
    doc.advance(datetime(2026, 1, 1, 12, 1, tzinfo=UTC))
    assert doc.database.rows("late") == set()
    doc.advance(datetime(2026, 1, 1, 12, 2, tzinfo=UTC))
    assert len(doc.database.rows("late")) == 1


def test_a_node_that_is_deleted_is_not_waited_for() -> None:
    doc = Document.xml("<a><b><?stream f?></b></a>")
    doc.alert("/a/b", after="c", unless="d", within=4, name="late")
    doc.add("f", "<c/>", at=1)
    doc.delete(doc.query("/a/b").answers[0])
    doc.advance(10)
    assert doc.database.rows("late") == set()


def random_events(chance: random.Random) -> list[Timed]:
    events: list[Timed] = []
    for key in "abcdef":
        time = chance.randint(3, 20)
        events.append((key, "bank", "<payment/>", time))
        if chance.random() < 0.7:
            events.append((key, "post", "<delivery/>", time + chance.randint(-3, 9)))
        if chance.random() < 0.3:
            events.append((key, "bank", "<note/>", time + chance.randint(0, 5)))
        if chance.random() < 0.2:
            events.append((key, "post", None, time + 10))
    return sorted(events, key=lambda each: each[3])


def expected(events: list[Timed], now: float) -> set[tuple[str, float]]:
    """By going through the events: no documents, no views."""
    paid: dict[str, float] = {}
    sent: dict[str, float] = {}
    for key, _, fragment, time in events:
        if fragment == "<payment/>":
            paid.setdefault(key, time)
        elif fragment == "<delivery/>":
            sent.setdefault(key, time)
    due = {key: time + WITHIN for key, time in paid.items()}
    return {(key, last) for key, last in due.items() if last < now and sent.get(key, last + 1) > last}


def given(documents: Documents) -> set[Any]:
    return {(key, due) for _, key, due in documents.database.rows("late")}


@pytest.mark.parametrize("seed", range(12))
def test_alerts_of_many_documents_are_those_of_the_events_in_batches_of_any_size(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    database = whence.connect(tmp_path)
    orders = Documents(TEMPLATE, name="orders", database=database)
    orders.alert(after="/order[payment]", unless="/order[delivery]", within=WITHIN, name="late")
    events, done = random_events(chance), 0
    while done < len(events):
        batch = events[done : done + chance.randint(1, 7)]
        done += len(batch)
        orders.update(chance.sample(batch, len(batch)) if len({each[3] for each in batch}) == len(batch) else batch)
        assert given(orders) == expected(events[:done], batch[-1][3])
        if chance.random() < 0.3:
            database.close()
            database = whence.connect(tmp_path)
            orders = Documents.reopen("orders", database=database)
    with pytest.raises(whence.DataError, match="an event of 'a' in 'bank' is of time 0"):
        orders.update([("b", "post", "<x/>", 99), ("a", "bank", "<x/>", 0)])
    orders.advance(100)
    assert given(orders) == expected(events, 100)
    database.close()


def test_a_crash_between_a_change_and_what_follows_from_it_loses_no_alert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with whence.connect(tmp_path) as database:
        doc = Document.xml("<a><?stream f?></a>", database=database)
        doc.alert("/a", after="b", unless="c", within=4, name="late")
        monkeypatch.setattr(doc.clock, "follow", lambda *_: None)
        doc.add("f", "<b/>", at=1)
    with whence.connect(tmp_path) as database:
        doc = Document.reopen(database=database)
        doc.advance(6)
        assert {row[2] for row in database.rows("late")} == {5.0}


def test_all_events_of_a_batch_have_a_time_or_none() -> None:
    orders = Documents(TEMPLATE)
    with pytest.raises(whence.TypeMismatchError, match="some events have a time and others have none"):
        orders.update([("1", "bank", "<payment/>", 1.0), ("1", "post", "<delivery/>")])
    assert len(orders) == 0
