"""What happens in the database while the page is looked at.

The database's own change feed is what waits for slow readers: a watcher reads it while anybody looks, the last commits
are remembered, and a reader who falls behind them is told how many it has missed.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from whence.database import Database
from whence.errors import WhenceError
from whence.questions.looking import Happening
from whence.web.limits import Limits
from whence.web.problems import RefusedError
from whence.web.values import plain_row
from whence.web.working import Workers

# The version is a number in memory: looking at it often costs nothing.
_LOOK = 0.2
_SIGN_OF_LIFE = 15.0
# Rows of a change that are sent along.
_ROWS = 20
# Commits from before anybody looked: to read them takes time where they are on a disk.
_BEFORE = 20


@dataclass(frozen=True, slots=True)
class News:
    """One commit, as the page is told of it."""

    version: int
    content: dict[str, object]


class Feed:
    """The last commits, and whoever waits for the next."""

    def __init__(self, db: Database, workers: Workers, limits: Limits) -> None:
        self._db = db
        self._workers = workers
        self._news: deque[News] = deque(maxlen=limits.commits)
        self._seen = max(0, db.version - min(_BEFORE, limits.commits))
        self._most_listeners = limits.listeners
        self._listeners = 0
        self._reading = asyncio.Lock()
        self._closed = False
        # The version of the newest commit that is not remembered any more.
        self._forgotten = self._seen

    async def recent(self) -> list[News]:
        """The commits that are remembered, newest first."""
        await self._catch_up()
        return list(reversed(self._news))

    def close(self) -> None:
        """Whoever waits goes home."""
        self._closed = True

    def check_room(self) -> None:
        if self._listeners >= self._most_listeners:
            raise RefusedError(503, f"{self._listeners} pages are listening already", "close some of them")

    async def events(self, since: int | None) -> AsyncIterator[str]:
        """Server-sent events: `hello` with the version, `commit` for each after `since`, `missed` for a gap.

        Where the last commits changed no rows, but perhaps definitions, there is `version`.
        """
        self._listeners += 1
        try:
            async for event in self._events(since):
                yield event
        finally:
            self._listeners -= 1

    async def _events(self, since: int | None) -> AsyncIterator[str]:
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
            await asyncio.sleep(_LOOK)
            quiet += _LOOK
            if quiet >= _SIGN_OF_LIFE:
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
            except RefusedError:
                # Too much at once, or too large to be read in time. Readers are told that there is a gap.
                self._seen = self._forgotten = now
                return
            except WhenceError:
                # It is closed, or cannot be read just now: whoever asks it anything is told so.
                self._closed = self._db.closed
                return
            by_version: dict[int, list[Happening]] = {}
            for each in happened:
                by_version.setdefault(each.version, []).append(each)
            for version, parts in sorted(by_version.items()):
                if len(self._news) == self._news.maxlen:
                    self._forgotten = self._news[0].version
                self._news.append(News(version, _content(version, parts)))
            self._seen = max(now, *by_version) if by_version else now

    def _newest(self) -> int:
        try:
            return self._db.version
        except WhenceError:
            return self._seen


def _content(version: int, parts: list[Happening]) -> dict[str, object]:
    return {
        "version": version,
        "timestamp": parts[0].timestamp.isoformat(),
        "relations": [_part(each) for each in parts],
    }


def _part(happening: Happening) -> dict[str, object]:
    rows = []
    for row, count in (happening.delta or {}).items():
        rows.append({"sign": "+" if count > 0 else "-", "row": plain_row(row)})
        if len(rows) == _ROWS:
            break
    return {
        "relation": happening.relation,
        "inserted": happening.inserted,
        "deleted": happening.deleted,
        "rows": rows,
    }


def _event(kind: str, content: object, number: int | None = None) -> str:
    identified = "" if number is None else f"id: {number}\n"
    return f"event: {kind}\n{identified}data: {json.dumps(content)}\n\n"
