"""Connections that end: what uvicorn leaves to a proxy, for a page that has none before it.

uvicorn waits for ever for the first byte, for the rest of a request that has begun, and for a reader who does not read.
Here each of these has its time, and there are only so many connections.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from whence.web.cells import DEFAULT_LIMITS, RequestLimits
from whence.web.requests import problem_content
from whence.web.values import written


def bounded_protocol(limits: RequestLimits) -> type[H11Protocol]:
    """HTTP as uvicorn has it, within these limits."""
    return type("LimitedProtocol", (BoundedProtocol,), {"limits": limits})


class BoundedProtocol(H11Protocol):
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
