"""The page and what it asks: an application for any ASGI server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from whence.database import Database
from whence.web.answers import Answer
from whence.web.asking import asking
from whence.web.feed import Feed
from whence.web.guard import Guard
from whence.web.limits import DEFAULT_LIMITS, Limits
from whence.web.looking import looking
from whence.web.problems import tell_problems
from whence.web.working import Workers

STATIC = Path(__file__).parent / "static"
# The names of this machine as seen from itself.
LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))


def app(
    db: Database,
    *,
    token: str | None = None,
    hosts: Collection[str] | None = LOOPBACK,
    allow_changes: bool = False,
    title: str = "a database",
    limits: Limits = DEFAULT_LIMITS,
) -> FastAPI:
    """The page of a database, for a server of one's own.

    With a token every request has to bring it. `hosts` are the names that the server is known by, and requests under
    another name are refused; None takes all, and needs a token. Rows can be changed only with `allow_changes`.
    """
    if hosts is None and token is None:
        raise ValueError("a page that answers to every name needs a token")
    workers = Workers(limits)
    feed = Feed(db, workers, limits)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        yield
        feed.close()

    # FastAPI's own documentation pages load scripts from elsewhere.
    page = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=living, default_response_class=Answer)
    page.state.feed = feed
    tell_problems(page)
    page.include_router(looking(db, feed, workers, limits, title=title, allow_changes=allow_changes))
    page.include_router(asking(db, workers, limits, allow_changes=allow_changes))
    page.mount("/", StaticFiles(directory=STATIC, html=True))
    page.add_middleware(Guard, token=token, hosts=hosts, limits=limits)
    return page
