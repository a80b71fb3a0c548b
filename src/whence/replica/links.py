"""How messages get to another site and back: one small interface, and behind it whatever carries bytes."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from whence.errors import StateError, UnsupportedError
from whence.replica.messages import MOST_BYTES, RefusedMessageError

if TYPE_CHECKING:
    from whence.replica.site import Site

SECONDS = 30.0  # for one answer
OFFER, ASK = "/site", "/site/messages"


class Traffic(NamedTuple):
    """What went over in a meeting, in bytes and messages."""

    sent: int = 0
    received: int = 0
    messages: int = 0

    @property
    def total(self) -> int:
        return self.sent + self.received


class Link(Protocol):
    """Another site that answers at once."""

    @property
    def site(self) -> str:
        """Its name."""

    def send(self, data: bytes) -> bytes | None:
        """Hand over a message; the answer, if there is one."""

    def ask(self, site: str) -> bytes:
        """The message in which it asks the site of that name for what is new."""


class InProcess:
    """A site of this process."""

    def __init__(self, other: Site) -> None:
        self.site = other.name
        self.send = other.handle
        self.ask = other.ask


class Http:
    """A site that `whence site serve` serves, at an address, with its token."""

    def __init__(self, url: str, token: str | None = None, *, certificate: str | None = None) -> None:
        """`certificate` is a file with what the server's certificate is to be checked by, if the system lacks it."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UnsupportedError(
                f"{url!r} is no address of a site", hint="write http://host:port or https://host:port"
            )
        self._url = url
        self._headers = {"Content-Type": "application/octet-stream"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=certificate)
            self._connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=SECONDS, context=context)
        else:
            self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)
        try:
            self.site = self._name()
        except BaseException:
            self.close()
            raise

    def send(self, data: bytes) -> bytes | None:
        return self._request("POST", ASK, data) or None

    def ask(self, site: str) -> bytes:
        return self._request("GET", f"{ASK}?to={site}")

    def close(self) -> None:
        self._connection.close()

    def _name(self) -> str:
        try:
            found = json.loads(self._request("GET", OFFER))
            name = found["site"]
        except (ValueError, TypeError, KeyError):
            name = None
        if not isinstance(name, str):
            raise StateError(f"there is no site of whence at {self._url}")
        return name

    def _request(self, method: str, path: str, data: bytes | None = None) -> bytes:
        try:
            answer, body = self._attempt(method, path, data)
        except (OSError, http.client.HTTPException):
            # A server closes connections that were idle, and nothing that is sent does harm when it comes again.
            try:
                answer, body = self._attempt(method, path, data)
            except (OSError, http.client.HTTPException) as error:
                raise StateError(f"the site at {self._url} does not answer: {error}") from error
        if answer.status in (200, 204):
            return body
        try:
            reason = str(json.loads(body)["error"])
        except (ValueError, TypeError, KeyError):
            reason = f"status {answer.status}"
        raise RefusedMessageError(f"the site at {self._url} refuses: {reason}")

    def _attempt(self, method: str, path: str, data: bytes | None) -> tuple[http.client.HTTPResponse, bytes]:
        try:
            self._connection.request(method, path, data, self._headers)
            answer = self._connection.getresponse()
            return answer, answer.read(MOST_BYTES)
        except BaseException:
            self._connection.close()
            raise
