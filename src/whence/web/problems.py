"""What the page is told when something is wrong: a status, and the words of the library."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from whence.errors import InternalError, OutOfTimeError, StateError, UnknownNameError, WhenceError
from whence.web.answers import Answer
from whence.web.wording import on_page

_STATUS: Sequence[tuple[type[WhenceError], int]] = (
    (UnknownNameError, 404),
    (OutOfTimeError, 504),
    (StateError, 409),
    (InternalError, 500),
    (WhenceError, 400),
)


# Where FastAPI looked for something.
_WHOLE = {"body": "the question", "query": "the address", "path": "the address"}


class RefusedError(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint


def problem(status: int, message: str, hint: str | None = None) -> Answer:
    text = message if hint is None else f"{message}\nhint: {hint}"
    return Answer({"error": {"kind": "Refused", "message": message, "text": text}}, status)


def tell_problems(app: FastAPI) -> None:
    """Let every error become an answer of one form."""
    app.add_exception_handler(WhenceError, _whence)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


def _whence(_: Request, error: Exception) -> Response:
    assert isinstance(error, WhenceError)
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    words = {"kind": type(error).__name__, "message": error.message, "text": error.told(on_page)}
    return Answer({"error": words}, status)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return problem(error.status, error.message, error.hint)


def _misread(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(400, "the body of the request is not JSON")
    whole, *parts = first["loc"]
    place = " of ".join([*(repr(part) for part in reversed(parts)), _WHOLE.get(str(whole), "the request")])
    return problem(400, f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}")


def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return problem(404, "there is nothing at this address")
    return problem(error.status_code, str(error.detail).lower())


def _unexpected(_: Request, error: Exception) -> Response:
    # Starlette raises it again after this answer, so that the server's log has all of it.
    return problem(500, f"the page failed: {type(error).__name__}", "this is a bug in whence; the log has more")
