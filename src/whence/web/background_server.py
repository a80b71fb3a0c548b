"""An application that is served in a thread of its own, until it is closed."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import uvicorn
from fastapi import FastAPI

from whence.errors import StateError, UnsupportedError

_SECONDS_TO_START_OR_END = 10.0


class BackgroundServer:
    """It can be used in a `with` statement. Whatever it serves stays open."""

    def __init__(
        self,
        app: FastAPI,
        listening: socket.socket,
        name: str,
        *,
        before_end: Callable[[], None] | None = None,
        **options: Any,
    ) -> None:
        """`before_end` lets those go who wait for something to happen. The options are uvicorn's."""
        self.port: int = listening.getsockname()[1]
        config = uvicorn.Config(
            app,
            # Bytes that are no request are nothing for the log.
            log_level=logging.ERROR,
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=2,
            **options,
        )
        self._server = _Server(config, before_end)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, name=name, daemon=True
        )
        self._thread.start()
        self._server.is_up.wait(_SECONDS_TO_START_OR_END)

    def wait(self) -> None:
        """Return when it is closed."""
        while self._thread.is_alive():
            # In pieces, so that Ctrl-C gets through.
            self._thread.join(1.0)

    def close(self) -> None:
        """Nothing more is answered."""
        self._server.should_exit = True
        self._thread.join(_SECONDS_TO_START_OR_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Server(uvicorn.Server):
    """A server that can be waited for, and that ends although others wait for it."""

    def __init__(self, config: uvicorn.Config, before_end: Callable[[], None] | None) -> None:
        super().__init__(config)
        self.is_up = threading.Event()
        self._before_end = before_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._before_end is not None:
            self._before_end()
        await super().shutdown(sockets)


def listen(host: str, port: int, what: str) -> socket.socket:
    """A socket at an address; `what` is to be served there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, OverflowError):
        raise UnsupportedError(f"there is no address {host}:{port} to serve {what} at") from None
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise StateError(
            f"{what} cannot be served at {host}:{port}: {(error.strerror or str(error)).lower()}",
            hint="port 0 takes a free one",
        ) from None
    return listening
