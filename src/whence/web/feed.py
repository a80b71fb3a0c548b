"""The commits of the database while the page is looked at, as server-sent events.

The database's own change feed is what waits for slow readers: it is read while there are listeners, the last commits
are remembered, and a reader who falls behind them is told how many it has missed.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from whence.database.database import Database
from whence.database.overview import RelationChange
from whence.errors import WhenceError
from whence.web.cells import Cells, RequestLimits
from whence.web.requests import RefusedRequestError, Workers

# The version is a number in memory: looking at it often costs nothing.
_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_BETWEEN_KEEPALIVES = 15.0
# Rows of a change that are sent along.
_ROWS = 20
# Of one commit, and of one of its cells: two hundred of them are remembered, and each listener is sent them.
_BYTES = 20_000
_CELL = 200
# Commits from before the first listener: to read them takes time where they are on a disk.
_BEFORE = 20


@dataclass(frozen=True, slots=True)
class CommitNews:
    """One commit, as the page is told of it."""

    version: int
    content: dict[str, object]


class Events(StreamingResponse):
    """What a listener is sent, as long as it has its place."""

    def __init__(self, feed: PageFeed, since: int | None) -> None:
        super().__init__(feed.events(since), media_type="text/event-stream")
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._feed.listening():
            await super().__call__(scope, receive, send)


class PageFeed:
    """The last commits, and the listeners that wait for the next."""

    def __init__(self, db: Database, workers: Workers, limits: RequestLimits) -> None:
        self._db = db
        self._workers = workers
        self._news: deque[CommitNews] = deque(maxlen=limits.commits)
        self._seen = max(0, db.version - min(_BEFORE, limits.commits))
        self._limits = limits
        self._most_listeners = limits.listeners
        self._listeners = 0
        self._reading = asyncio.Lock()
        self._closed = False
        # The version of the newest commit that is not remembered any more.
        self._forgotten = self._seen

    async def recent(self) -> list[CommitNews]:
        """The commits that are remembered, newest first."""
        await self._catch_up()
        return list(reversed(self._news))

    def close(self) -> None:
        """End the streams of all listeners."""
        self._closed = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """A place among those who listen: there is no moment between looking for one and taking it."""
        if self._listeners >= self._most_listeners:
            raise RefusedRequestError(503, f"{self._listeners} pages are listening already", "close some of them")
        self._listeners += 1
        try:
            yield
        finally:
            self._listeners -= 1

    async def events(self, since: int | None) -> AsyncIterator[str]:
        """Server-sent events: `hello` with the version, `commit` for each after `since`, `missed` for a gap.

        Where the last commits changed no rows, but perhaps definitions, there is `version`.
        """
        await self._catch_up()
        told = self._seen if since is None else min(since, self._seen)
        yield f"retry: 2000\n{_event('hello', {'version': self._seen})}"
        quiet = 0.0
        while not self._closed:
            news = [each for each in self._news if each.version > told]
            if told < self._forgotten:
                quiet = 0.0
                yield _event("missed", {"after": told, "before": news[0].version if news else self._seen + 1})
            for each in news:
                quiet = 0.0
                yield _event("commit", each.content, each.version)
            newest = news[-1].version if news else told
            if newest < self._seen:
                quiet = 0.0
                yield _event("version", {"version": self._seen})
            told = max(self._seen, newest)
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            quiet += _SECONDS_BETWEEN_LOOKS
            if quiet >= _SECONDS_BETWEEN_KEEPALIVES:
                quiet = 0.0
                yield ": still here\n\n"
            await self._catch_up()

    async def _catch_up(self) -> None:
        if self._newest() == self._seen:
            return
        async with self._reading:
            since, now = self._seen, self._newest()
            if now == since:
                return
            try:
                happened = await self._workers.run(lambda: self._db.happened(since))
            except RefusedRequestError:
                # Too much at once, or too large to be read in time. Readers are told that there is a gap.
                self._seen = self._forgotten = now
                return
            except WhenceError:
                # It is closed, or cannot be read just now: the next question is told so.
                self._closed = self._db.closed
                return
            by_version: dict[int, list[RelationChange]] = {}
            for each in happened:
                by_version.setdefault(each.version, []).append(each)
            for version, parts in sorted(by_version.items()):
                if len(self._news) == self._news.maxlen:
                    self._forgotten = self._news[0].version
                self._news.append(CommitNews(version, _content(version, parts, self._limits)))
            self._seen = max(now, *by_version) if by_version else now

    def _newest(self) -> int:
        try:
            return self._db.version
        except WhenceError:
            return self._seen


def _content(version: int, parts: list[RelationChange], limits: RequestLimits) -> dict[str, object]:
    cells = Cells(replace(limits, answer=_BYTES, cell=_CELL))
    return {
        "version": version,
        "timestamp": parts[0].timestamp.isoformat(),
        "relations": [_part(each, cells) for each in parts],
    }


def _part(change: RelationChange, cells: Cells) -> dict[str, object]:
    rows = []
    for row, count in islice((change.delta or {}).items(), _ROWS):
        if cells.full:
            break
        before = cells.shortened
        shown = cells.row(row)
        rows.append({"sign": "+" if count > 0 else "-", "row": shown, "whole": cells.shortened == before})
    return {
        "relation": change.relation,
        "inserted": change.inserted,
        "deleted": change.deleted,
        "rows": rows,
    }


def _event(kind: str, content: object, number: int | None = None) -> str:
    identified = "" if number is None else f"id: {number}\n"
    return f"event: {kind}\n{identified}data: {json.dumps(content)}\n\n"
