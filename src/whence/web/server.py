"""The page and what it asks: an application for any ASGI server."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.routing import Match, Mount
from starlette.types import Scope

from whence.database.database import Database
from whence.errors import UnsupportedError
from whence.web.background_server import BackgroundServer, bounded_protocol, listen
from whence.web.cells import DEFAULT_LIMITS, RequestLimits
from whence.web.feed import PageFeed
from whence.web.guard import SHORTEST_TOKEN, RequestGuard
from whence.web.metrics import metrics_routes
from whence.web.overview import overview_routes
from whence.web.query_process import QueryProcesses
from whence.web.questions import question_routes
from whence.web.requests import JsonAnswer, Workers, tell_problems

STATIC = Path(__file__).parent / "static"
# The names of this machine as seen from itself.
LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))


class _Files(Mount):
    """What the page is made of. Questions are no files: one that is asked by a wrong method is told so."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.NONE, {}) if scope["path"].startswith("/api/") else super().matches(scope)


def app(
    db: Database,
    *,
    token: str | None = None,
    hosts: Collection[str] | None = LOOPBACK,
    allow_changes: bool = False,
    title: str = "a database",
    limits: RequestLimits = DEFAULT_LIMITS,
) -> FastAPI:
    """The page of a database, for a server of one's own.

    With a token every request has to bring it. `hosts` are the names that the server is known by, and requests under
    another name are refused; None takes all, and needs a token. Rows can be changed only with `allow_changes`.
    """
    if hosts is None and token is None:
        raise ValueError("a page that answers to every name needs a token")
    workers = Workers(limits)
    processes = QueryProcesses(limits)
    feed = PageFeed(db, workers, limits)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        yield
        feed.close()
        processes.close()

    # FastAPI's own documentation pages load scripts from elsewhere.
    page = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=living, default_response_class=JsonAnswer)
    page.state.feed = feed
    tell_problems(page)
    page.include_router(overview_routes(db, feed, workers, limits, title=title, allow_changes=allow_changes))
    page.include_router(question_routes(db, workers, processes, limits, allow_changes=allow_changes))
    page.include_router(metrics_routes(db, workers))
    page.router.routes.append(_Files("/", StaticFiles(directory=STATIC, html=True)))
    page.add_middleware(RequestGuard, token=token, hosts=hosts, limits=limits)
    return page


HOST = "127.0.0.1"
PORT = 8753


def serve(
    db: Database,
    *,
    host: str = HOST,
    port: int = PORT,
    token: str | None = None,
    allow_changes: bool = False,
    title: str = "a database",
    limits: RequestLimits = DEFAULT_LIMITS,
) -> Page:
    """Show a database in the browser, at the `url` of the answer, until its `close()` or the end of the process.

    The page reads, and only this machine reaches it. On another `host` every request needs a token, which is made if
    none is given and is part of the `url`. Port 0 takes a free one. Rows can be changed only with `allow_changes`.
    """
    local = _is_loopback(host)
    if token is None and not local:
        token = secrets.token_urlsafe(32)
    if token is not None and (len(token) < SHORTEST_TOKEN or not is_plain_token(token)):
        raise UnsupportedError(
            f"a token has at least {SHORTEST_TOKEN} letters, digits, '-' and '_'", hint="leave it out, and one is made"
        )
    listening = listen(host, port, "the page")
    hosts = LOOPBACK | {_in_url(host)} if local else None
    page = app(db, token=token, hosts=hosts, allow_changes=allow_changes, title=title, limits=limits)
    return Page(page, listening, host, token, limits)


class Page(BackgroundServer):
    """A page that is being served."""

    def __init__(
        self, page: FastAPI, listening: socket.socket, host: str, token: str | None, limits: RequestLimits
    ) -> None:
        self.token = token
        options = {"http": bounded_protocol(limits)}
        super().__init__(page, listening, "whence-page", before_end=page.state.feed.close, **options)
        shown = socket.gethostname() if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
        query = "" if token is None else f"?token={token}"
        self.url = f"http://{_in_url(shown)}:{self.port}/{query}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_plain_token(token: str) -> bool:
    return token.isascii() and token.replace("-", "").replace("_", "").isalnum()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
