"""Who may ask: the checks in front of the page.

A server on this machine can be reached by every page that the user's browser shows. So a request has to name this
server (a foreign name that was made to point here is refused), must not come from another site, and brings the token
where there is one. Nothing is read that is larger than it may be.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whence.web.cells import RequestLimits
from whence.web.requests import RefusedRequestError, problem

# A token that the user chose has to be hard to guess, too.
SHORTEST_TOKEN = 16

# A name, or an address of numbers, and maybe a port. Who the user is, or a zone, has no place in it.
_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_LAST_PORT = 65_535

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class _GoneError(Exception):
    """The client went away in the middle of the question: what came of it is not answered, and not acted upon."""


class RequestGuard:
    """`hosts` are the names that the server goes by; None takes any, which only a token makes safe."""

    def __init__(
        self, app: ASGIApp, *, token: str | None, hosts: Collection[str] | None, limits: RequestLimits
    ) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            # Nothing here speaks that protocol, and no page of another site gets to try.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                # What was answered is not for the disk; what the page is made of is asked for again when it changes.
                headers["Cache-Control"] = "no-store" if scope["path"].startswith("/api/") else "no-cache"
            await send(message)

        try:
            answer = self._answer_instead(scope)
            if answer is None:
                receive = await self._limited(Headers(scope=scope), receive)
        except _GoneError:
            return
        except RefusedRequestError as refused:
            answer = _refusal(scope, refused)
        await (answer or self._app)(scope, receive, send_guarded)

    def _answer_instead(self, scope: Scope) -> Response | None:
        """An answer that comes instead of the page."""
        headers = Headers(scope=scope)
        self._check_host(headers)
        answer = self._check_token(scope, headers)
        if scope["path"].startswith("/api/"):
            _check_site(scope, headers)
        return answer

    def _check_host(self, headers: Headers) -> None:
        given = headers.getlist("host")
        if len(given) != 1:
            raise RefusedRequestError(400, f"a request names one host, and this one names {len(given) or 'none'}")
        found = _HOST.fullmatch(given[0])
        if found is None or int(found["port"] or 0) > _LAST_PORT:
            raise RefusedRequestError(400, f"{given[0][:100]!r} is not the name of a host")
        name = found["name"].lower()
        if self._hosts is not None and name not in self._hosts:
            known = " and ".join(sorted(self._hosts))
            raise RefusedRequestError(403, f"this server goes by {known}, and not by {name!r}")

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        if self._token is None:
            return None
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(given.strip(), self._token):
            return None
        cookie = _cookie_name(scope)
        if _same(_cookie(headers, cookie), self._token):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope["method"] == "GET" and any(name == "token" and _same(value, self._token) for name, value in query):
            # From now on the browser has it where no script and no history shows it.
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            # With one slash at its beginning an address stays on this server.
            path = "/" + scope["path"].lstrip("/")
            answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(cookie, self._token, httponly=True, samesite="strict", path="/")
            return answer
        raise RefusedRequestError(401, "this page needs its token", "open the address that `whence serve` printed")

    async def _limited(self, headers: Headers, receive: Receive) -> Receive:
        """The body of a request, read as far as it may go before the page sees it."""
        too_large = RefusedRequestError(
            413, f"the request is larger than {self._limits.body:,} bytes", "ask in smaller parts"
        )
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > self._limits.body:
            raise too_large
        if "content-length" not in headers and "transfer-encoding" not in headers:
            return receive
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise _GoneError
            body += message.get("body", b"")
            if len(body) > self._limits.body:
                raise too_large
            if not message.get("more_body", False):
                break
        waiting: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def receive_whole() -> Message:
            return waiting.pop() if waiting else await receive()

        return receive_whole


def _check_site(scope: Scope, headers: Headers) -> None:
    """Nothing that another site's page sends is answered, and nothing a plain form could send."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusedRequestError(403, "this request comes from another site")
    if scope["method"] in ("GET", "HEAD"):
        return
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise RefusedRequestError(403, f"this request comes from another site, {origin[:100]!r}")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedRequestError(415, "a question comes as JSON", "send it with Content-Type: application/json")


def _refusal(scope: Scope, refused: RefusedRequestError) -> Response:
    answer: Response
    if scope["path"].startswith("/api/"):
        answer = problem(refused.status, refused.message, refused.hint)
    else:
        answer = PlainTextResponse(f"{refused.message}\n{refused.hint or ''}\n", refused.status)
    if refused.status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def _cookie_name(scope: Scope) -> str:
    # Cookies do not know ports, and there may be several databases on a machine.
    server = scope.get("server")
    return f"whence_{server[1] if server else 0}"


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _same(given: str, token: str) -> bool:
    """Compared in a time that does not tell how much of it was right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())
