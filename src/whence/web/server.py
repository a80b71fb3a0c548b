"""The page and what it asks: an application for any ASGI server."""

from __future__ import annotations

import ipaddress
import logging
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.routing import Match, Mount
from starlette.types import Scope

from whence.database.database import Database
from whence.errors import StateError, UnsupportedError
from whence.web.cells import DEFAULT_LIMITS, RequestLimits
from whence.web.connection import bounded_protocol
from whence.web.feed import PageFeed
from whence.web.guard import SHORTEST_TOKEN, RequestGuard
from whence.web.overview import overview_routes
from whence.web.query_process import QueryProcesses
from whence.web.questions import question_routes
from whence.web.requests import Workers, tell_problems
from whence.web.values import JsonAnswer

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
    page.router.routes.append(_Files("/", StaticFiles(directory=STATIC, html=True)))
    page.add_middleware(RequestGuard, token=token, hosts=hosts, limits=limits)
    return page


HOST = "127.0.0.1"
PORT = 8753
_SECONDS_TO_START_OR_END = 10.0


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
    if token is not None and (len(token) < SHORTEST_TOKEN or not _is_plain(token)):
        raise UnsupportedError(
            f"a token has at least {SHORTEST_TOKEN} letters, digits, '-' and '_'", hint="leave it out, and one is made"
        )
    listening = _listen(host, port)
    hosts = LOOPBACK | {_in_url(host)} if local else None
    page = app(db, token=token, hosts=hosts, allow_changes=allow_changes, title=title, limits=limits)
    return Page(page, listening, host, token, limits)


class Page:
    """A page that is being served. It can be used in a `with` statement."""

    def __init__(
        self, page: FastAPI, listening: socket.socket, host: str, token: str | None, limits: RequestLimits
    ) -> None:
        self.token = token
        self.port: int = listening.getsockname()[1]
        shown = socket.gethostname() if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
        query = "" if token is None else f"?token={token}"
        self.url = f"http://{_in_url(shown)}:{self.port}/{query}"
        config = uvicorn.Config(
            page,
            http=bounded_protocol(limits),
            # Bytes that are no request are nothing for the log.
            log_level=logging.ERROR,
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=2,
        )
        self._server = _Server(config, page.state.feed)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, name="whence-page", daemon=True
        )
        self._thread.start()
        self._server.is_up.wait(_SECONDS_TO_START_OR_END)

    def wait(self) -> None:
        """Return when it is closed."""
        while self._thread.is_alive():
            # In pieces, so that Ctrl-C gets through.
            self._thread.join(1.0)

    def close(self) -> None:
        """No more requests are answered. The database stays open."""
        self._server.should_exit = True
        self._thread.join(_SECONDS_TO_START_OR_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Server(uvicorn.Server):
    """A server that ends although browsers wait for events, and that can be waited for."""

    def __init__(self, config: uvicorn.Config, feed: PageFeed) -> None:
        super().__init__(config)
        self.is_up = threading.Event()
        self._feed = feed

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._feed.close()
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, OverflowError):
        raise UnsupportedError(f"there is no address {host}:{port} to serve the page at") from None
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise StateError(
            f"the page cannot be served at {host}:{port}: {(error.strerror or str(error)).lower()}",
            hint="port 0 takes a free one",
        ) from None
    return listening


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_plain(token: str) -> bool:
    return token.isascii() and token.replace("-", "").replace("_", "").isalnum()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
