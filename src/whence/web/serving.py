"""The page on a server of its own, beside whatever else the process does."""

from __future__ import annotations

import ipaddress
import logging
import secrets
import socket
import threading
from types import TracebackType
from typing import Self

import uvicorn
from fastapi import FastAPI

from whence.database import Database
from whence.errors import StateError, UnsupportedError
from whence.web.app import LOOPBACK, app
from whence.web.feed import Feed
from whence.web.guard import SHORTEST_TOKEN
from whence.web.limits import DEFAULT_LIMITS, Limits

HOST = "127.0.0.1"
PORT = 8753
_PATIENCE = 10.0


def serve(
    db: Database,
    *,
    host: str = HOST,
    port: int = PORT,
    token: str | None = None,
    allow_changes: bool = False,
    title: str = "a database",
    limits: Limits = DEFAULT_LIMITS,
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
    return Page(page, listening, host, token)


class Page:
    """A page that is being served. It can be used in a `with` statement."""

    def __init__(self, page: FastAPI, listening: socket.socket, host: str, token: str | None) -> None:
        self.token = token
        self.port: int = listening.getsockname()[1]
        shown = socket.gethostname() if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
        query = "" if token is None else f"?token={token}"
        self.url = f"http://{_in_url(shown)}:{self.port}/{query}"
        config = uvicorn.Config(
            page, log_level=logging.WARNING, access_log=False, ws="none", timeout_graceful_shutdown=2
        )
        self._server = _Server(config, page.state.feed)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, name="whence-page", daemon=True
        )
        self._thread.start()
        self._server.is_up.wait(_PATIENCE)

    def wait(self) -> None:
        """Until somebody closes it."""
        while self._thread.is_alive():
            # In pieces, so that Ctrl-C gets through.
            self._thread.join(1.0)

    def close(self) -> None:
        """No more requests are answered. The database stays open."""
        self._server.should_exit = True
        self._thread.join(_PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Server(uvicorn.Server):
    """A server that ends although browsers wait for events, and that can be waited for."""

    def __init__(self, config: uvicorn.Config, feed: Feed) -> None:
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
