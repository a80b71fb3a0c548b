"""The change feed of the page."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator

import pytest

from whence.database.database import Database
from whence.web.cells import RequestLimits
from whence.web.feed import PageFeed
from whence.web.requests import RefusedRequestError, Workers


def feed_of(db: Database, commits: int = 200) -> PageFeed:
    limits = RequestLimits(commits=commits)
    return PageFeed(db, Workers(limits), limits)


async def next_event(events: AsyncIterator[str]) -> tuple[str, dict[str, object]]:
    text = await asyncio.wait_for(anext(events), 20)
    fields = dict(line.split(": ", 1) for line in text.strip().splitlines())
    return fields["event"], json.loads(fields["data"])


def test_commits_are_told_in_order(db: Database) -> None:
    async def listen() -> None:
        feed = feed_of(db)
        events = feed.events(None)
        assert await next_event(events) == ("hello", {"version": db.version})
        db.insert("link", [("d", "e", 1)])
        db.delete("link", [("d", "e", 1)])
        for version in (db.version - 1, db.version):
            kind, news = await next_event(events)
            assert (kind, news["version"]) == ("commit", version)
        feed.close()
        assert [event async for event in events] == []

    asyncio.run(listen())


def test_commits_without_rows_are_told_by_their_version(db: Database) -> None:
    async def listen() -> None:
        feed = feed_of(db)
        events = feed.events(None)
        await next_event(events)
        db.execute("CREATE TABLE empty(x INT)")
        assert await next_event(events) == ("version", {"version": db.version})
        db.insert("closed", [("a",)])
        kind, news = await next_event(events)
        assert (kind, news["version"]) == ("commit", db.version)
        feed.close()
        assert [event async for event in events] == []

    asyncio.run(listen())


def test_who_comes_back_gets_what_happened_meanwhile(db: Database) -> None:
    async def listen() -> None:
        feed, before = feed_of(db), db.version
        db.insert("closed", [("a",)])
        events = feed.events(before)
        await next_event(events)
        kind, news = await next_event(events)
        assert (kind, news["version"]) == ("commit", db.version)
        feed.close()

    asyncio.run(listen())


def test_who_is_too_slow_is_told_what_is_missing(db: Database) -> None:
    async def listen() -> None:
        feed = feed_of(db, commits=5)
        events = feed.events(None)
        await next_event(events)
        before = db.version
        for at in range(20):
            db.insert("closed", [(f"n{at}",)])
        assert await next_event(events) == ("missed", {"after": before, "before": db.version - 4})
        versions = [(await next_event(events))[1]["version"] for _ in range(5)]
        assert versions == list(range(db.version - 4, db.version + 1))
        feed.close()

    asyncio.run(listen())


def test_a_large_change_is_counted_and_not_listed(db: Database) -> None:
    async def listen() -> None:
        feed = feed_of(db)
        events = feed.events(None)
        await next_event(events)
        db.insert("closed", [(f"n{at}",) for at in range(5_000)])
        _, news = await next_event(events)
        assert news["relations"] == [{"relation": "closed", "inserted": 5_000, "deleted": 0, "rows": []}]
        feed.close()

    asyncio.run(listen())


def test_only_so_many_listen(db: Database) -> None:
    async def listen() -> None:
        limits = RequestLimits(listeners=1)
        feed = PageFeed(db, Workers(limits), limits)
        refused = pytest.raises(RefusedRequestError, match="1 pages are listening already")
        with feed.listening(), refused, feed.listening():
            pass
        with feed.listening():
            pass

    asyncio.run(listen())


def test_what_cannot_be_read_in_time_is_a_gap(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async def listen() -> None:
        limits = RequestLimits(seconds=0.1)
        feed = PageFeed(db, Workers(limits), limits)
        events = feed.events(None)
        await next_event(events)
        before, ready = db.version, threading.Event()
        monkeypatch.setattr(type(db), "happened", lambda *_: ready.wait(20) and [])
        db.insert("closed", [("a",)])
        assert await next_event(events) == ("missed", {"after": before, "before": db.version + 1})
        ready.set()
        feed.close()

    asyncio.run(listen())


def test_the_feed_ends_with_the_database(db: Database) -> None:
    async def listen() -> None:
        feed = feed_of(db)
        events = feed.events(None)
        await next_event(events)
        db.insert("closed", [("a",)])
        db.close()
        assert [event async for event in events] == []

    asyncio.run(listen())
