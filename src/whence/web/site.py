"""A site that others reach over HTTP: messages in, messages out, and a token in front of both."""

from __future__ import annotations

import hmac
import secrets
from functools import partial
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from whence.errors import InternalError, UnsupportedError, WhenceError
from whence.replica.links import ASK, OFFER
from whence.replica.messages import MOST_BYTES
from whence.replica.site import Site
from whence.web.background_server import BackgroundServer, listen
from whence.web.guard import SHORTEST_TOKEN
from whence.web.server import is_plain_token

HOST, PORT = "127.0.0.1", 8754
_SECONDS_IDLE = 60  # a site may take that long over a batch


def site_app(site: Site, token: str) -> FastAPI:
    """What answers other sites, for a server of one's own."""
    server = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    def refusal(request: Request) -> Response | None:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode()):
            return None
        return JSONResponse({"error": "the token is missing, or another one"}, 401)

    @server.get(OFFER)
    async def tell(request: Request) -> Response:
        return refusal(request) or JSONResponse({"site": site.name})

    @server.get(ASK)
    async def ask(request: Request, to: str) -> Response:
        refused = refusal(request)
        return refused or Response(await anyio.to_thread.run_sync(site.ask, to), media_type="application/octet-stream")

    @server.post(ASK)
    async def take(request: Request) -> Response:
        if refused := refusal(request):
            return refused
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return JSONResponse({"error": f"the message has more than {MOST_BYTES:,} bytes"}, 413)
        try:
            answer = await anyio.to_thread.run_sync(partial(site.handle, from_anybody=False), bytes(body))
        except InternalError:
            raise
        except WhenceError as error:
            return JSONResponse({"error": error.message}, 409)
        return Response(status_code=204) if answer is None else Response(answer, media_type="application/octet-stream")

    return server


class ServedSite(BackgroundServer):
    """A site that is being served."""

    def __init__(
        self,
        site: Site,
        *,
        host: str = HOST,
        port: int = PORT,
        token: str | None = None,
        certificate: str | None = None,
        key: str | None = None,
    ) -> None:
        """Without a token one is made. With a certificate and its key, both files, what is sent is encrypted."""
        if token is not None and (len(token) < SHORTEST_TOKEN or not is_plain_token(token)):
            raise UnsupportedError(f"a token has at least {SHORTEST_TOKEN} letters, digits, '-' and '_'")
        self.token = secrets.token_urlsafe(32) if token is None else token
        options: dict[str, Any] = {"ssl_certfile": certificate, "ssl_keyfile": key}
        listening = listen(host, port, "the site")
        app = site_app(site, self.token)
        super().__init__(app, listening, "whence-site", timeout_keep_alive=_SECONDS_IDLE, **options)
        self.url = f"{'http' if certificate is None else 'https'}://{host}:{self.port}"
