"""How messages get to another site and back: by a link, whatever carries its bytes, or as files in a shared folder."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

from whence.errors import StateError, UnsupportedError, WhenceError
from whence.replica.messages import MOST_BYTES, RefusedMessageError, unpack

if TYPE_CHECKING:
    from whence.replica.site import Site

SECONDS = 30.0  # for one answer
OFFER, ASK = "/site", "/site/messages"
_ENDING = ".message"


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


class Round(NamedTuple):
    """What a look into the folder did: messages taken and left, and why others were refused."""

    taken: int
    left: int
    refused: tuple[str, ...]


def sync_folder(site: Site, folder: str | os.PathLike[str]) -> Round:
    """Take all messages for a site, answer them, and ask all others that have a folder there.

    The folder may be on a drive that is carried around, or one that something else keeps in step. Every site has a
    folder in it, named after it, in which others leave messages. A file has its name when it is complete. Nobody waits
    for an answer: what is lost or comes late is asked for again the next time.
    """
    root = Path(folder)
    inbox = root / site.name
    inbox.mkdir(parents=True, exist_ok=True)
    taken = left = 0
    refused: list[str] = []
    for file in sorted(inbox.glob(f"*{_ENDING}"), key=lambda each: (each.stat().st_mtime_ns, each.name)):
        try:
            if file.stat().st_size > MOST_BYTES:
                raise WhenceError(f"it has more than {MOST_BYTES:,} bytes")
            data = file.read_bytes()
            answer = site.handle(data, from_anybody=False)
            taken += 1
            if answer is not None:
                _leave(root, unpack(data).head.site, answer)
                left += 1
        except WhenceError as error:
            refused.append(f"{file.name}: {error.message}")
        file.unlink(missing_ok=True)
    for other in sorted(root.iterdir()):
        if other.is_dir() and other.name != site.name:
            _leave(root, other.name, site.ask(other.name))
            left += 1
    return Round(taken, left, tuple(refused))


def _leave(root: Path, to: str, data: bytes) -> None:
    name = uuid4().hex
    target = root / to
    # Only who has a folder is written to: a name in a message makes none.
    if target.parent != root or not target.is_dir():
        return
    hidden = target / f".{name}"
    hidden.write_bytes(data)
    hidden.rename(target / f"{name}{_ENDING}")
