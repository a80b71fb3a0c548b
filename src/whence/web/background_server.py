"""An application that is served in a thread of its own, until it is closed, over connections that end."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Self

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from whence.errors import StateError, UnsupportedError
from whence.web.cells import DEFAULT_LIMITS, RequestLimits
from whence.web.requests import problem_content, written

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


def bounded_protocol(limits: RequestLimits) -> type[H11Protocol]:
    """HTTP as uvicorn has it, within these limits."""
    return type("LimitedProtocol", (BoundedProtocol,), {"limits": limits})


class BoundedProtocol(H11Protocol):
    """Connections that end: what uvicorn leaves to a proxy, for a page that has none before it.

    uvicorn waits for ever for the first byte, for the rest of a request that has begun, and for a reader who does not
    read. Here each of these has its time, and there are only so many connections.
    """

    limits: ClassVar[RequestLimits] = DEFAULT_LIMITS
    # Until a request is there, and until a reader takes what was written.
    _arrival: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, f"{self.limits.connections} connections are open already", "try again later")
        else:
            self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._arrival is None and self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._await_request()
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._end_wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reading is None:
            self._reading = self.loop.call_later(self.limits.arrival, self.transport.abort)

    def resume_writing(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._hang_up_if_closing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._hang_up_if_closing()

    def send_400_response(self, _: str) -> None:
        self._refuse(400, "this is no HTTP request")

    def _await_request(self) -> None:
        self._arrival = self.loop.call_later(self.limits.arrival, self._too_slow)

    def _end_wait(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _too_slow(self) -> None:
        if self.conn.our_state in (h11.SEND_BODY, h11.DONE):
            # It was answered before all of it was there, and the rest is not read.
            self.transport.abort()
        elif not self.transport.is_closing():
            self._refuse(408, f"the request did not come within {self.limits.arrival:g} seconds")

    def _refuse(self, status: int, message: str, hint: str | None = None) -> None:
        """An answer of the connection itself: there is no request that the page could answer, or not all of it."""
        self._end_wait()
        body = written(problem_content(message, hint))
        self.transport.write(
            f"HTTP/1.1 {status} Refused\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
            + body
        )
        self.transport.close()
        self._hang_up_if_closing()

    def _hang_up_if_closing(self) -> None:
        # To close waits for the reader, who may never read.
        if self.transport.is_closing():
            self.loop.call_later(self.limits.arrival, self.transport.abort)
