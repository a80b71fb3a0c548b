"""Requests: values in them, what each may take, the threads that answer, and the refusal of what cannot be answered."""

from __future__ import annotations

import json
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from whence.deadline import time_limit
from whence.errors import (
    DataError,
    EvaluationError,
    InternalError,
    NextStep,
    OutOfTimeError,
    StateError,
    UnknownNameError,
    WhenceError,
    did_you_mean,
)
from whence.model.schema import Column, Relation
from whence.model.types import STRING
from whence.model.types.base import castable, converter
from whence.sources.rows import listed
from whence.web.cells import RequestLimits

P = ParamSpec("P")
T = TypeVar("T")


def read_values(given: Mapping[str, object], relation: Relation) -> dict[str, object]:
    """Values by column, with what was typed as text read as its column has it."""
    columns = {column.name.lower(): column for column in relation.columns}
    values: dict[str, object] = {}
    for name, value in given.items():
        column = columns.get(name.lower())
        if column is None:
            raise UnknownNameError(
                f"{relation.name!r} has no column {name!r}",
                hint=did_you_mean(name, relation.column_names) or f"it has {listed(relation.column_names)}",
            )
        values[column.name] = _read(value, column)
    return values


def read_row(given: Sequence[object] | Mapping[str, object], relation: Relation) -> tuple[object, ...]:
    """A row in the order of the columns. A column that is not mentioned is None."""
    if isinstance(given, Mapping):
        values = read_values(given, relation)
        return tuple([values.get(name) for name in relation.column_names])
    if len(given) != relation.arity:
        raise DataError(
            f"{relation.name!r} has {listed(relation.column_names)}, and the row has "
            f"{len(given)} value{'' if len(given) == 1 else 's'}"
        )
    return tuple([_read(value, column) for value, column in zip(given, relation.columns, strict=True)])


def _read(value: object, column: Column) -> object:
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, str) or column.type == STRING or not castable(STRING, column.type):
        return value
    try:
        return converter(STRING, column.type)(value)
    except EvaluationError as error:
        raise DataError(f"{error.message}, for column {column.name!r}") from None


def written(content: object) -> bytes:
    """In ASCII, so that a string with half a character in it cannot break the answer."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


class JsonAnswer(JSONResponse):
    def render(self, content: object) -> bytes:
        return written(content)


class Workers:
    """Threads that ask the database. Questions end in time by themselves. One that cannot, because it is in the middle
    of a step that takes too long, is not waited for; others find the database busy until that is done.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self._free = threading.BoundedSemaphore(limits.at_once)

    async def answer(self, work: Callable[[], Mapping[str, object]]) -> Response:
        """What the work finds, as JSON. It is written here, too: that of a large answer would hold up all others."""

        def body() -> bytes:
            found = written(work())
            if len(found) > self._limits.answer:
                raise RefusedRequestError(
                    413, f"the answer is larger than {self._limits.answer:,} bytes", "ask for less"
                )
            return found

        return Response(await self.run(body), media_type="application/json")

    def route(self, work: Callable[P, Mapping[str, object]]) -> Callable[P, Awaitable[Response]]:
        """The work as a handler of requests."""

        @wraps(work)
        async def handler(*values: P.args, **named: P.kwargs) -> Response:
            return await self.answer(lambda: work(*values, **named))

        return handler

    async def run(self, work: Callable[[], T]) -> T:
        if not self._free.acquire(blocking=False):
            raise RefusedRequestError(
                503, f"{self._limits.at_once} questions are being answered already", "try again later"
            )
        seconds = self._limits.seconds

        def done() -> T:
            try:
                with time_limit(seconds):
                    return work()
            finally:
                self._free.release()

        try:
            with anyio.fail_after(seconds):
                return await anyio.to_thread.run_sync(done, abandon_on_cancel=True)
        except TimeoutError:
            raise RefusedRequestError(
                504,
                f"there is no answer within {seconds:g} seconds, and what takes so long cannot be stopped",
                "other questions can be answered when it is done",
            ) from None


_BOXES = {
    "why": "“Why?”",
    "why_not": "“Why not?”",
    "what_if": "“What if?”",
    "query": "“SQL”",
    "execute": "`whence shell`",
}


def on_page(step: NextStep) -> str | None:
    if step.name == "option":
        return None
    if step.name == "since":
        return f"since version {step.about[0]}"
    return _BOXES.get(step.name, f"{step.python} in a Python program")


_STATUS: Sequence[tuple[type[WhenceError], int]] = (
    (UnknownNameError, 404),
    (OutOfTimeError, 504),
    (StateError, 409),
    (InternalError, 500),
    (WhenceError, 400),
)
# Where FastAPI looked for something.
_WHOLE = {"body": "the question", "query": "the address", "path": "the address"}


class RefusedRequestError(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint


def problem(status: int, message: str, hint: str | None = None) -> JsonAnswer:
    return JsonAnswer(problem_content(message, hint), status)


def problem_content(message: str, hint: str | None = None) -> dict[str, object]:
    text = message if hint is None else f"{message}\nhint: {hint}"
    return {"error": {"kind": "Refused", "message": message, "text": text}}


def tell_problems(app: FastAPI) -> None:
    """Let every error become an answer of one form."""
    app.add_exception_handler(WhenceError, _whence)
    app.add_exception_handler(RefusedRequestError, _refused)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


def _whence(_: Request, error: Exception) -> Response:
    assert isinstance(error, WhenceError)
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    words = {"kind": type(error).__name__, "message": error.message, "text": error.told(on_page)}
    return JsonAnswer({"error": words}, status)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedRequestError)
    return problem(error.status, error.message, error.hint)


def _misread(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(400, "the body of the request is not JSON")
    whole, *parts = first["loc"]
    place = " of ".join([*(repr(part) for part in reversed(parts)), _WHOLE.get(str(whole), "the request")])
    return problem(400, f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}")


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return problem(404, "there is nothing at this address")
    if error.status_code == 405:
        return problem(405, f"this address takes no {request.method[:20]} requests")
    return problem(error.status_code, str(error.detail).lower())


def _unexpected(_: Request, error: Exception) -> Response:
    # Starlette raises it again after this answer, so that the server's log has all of it.
    return problem(500, f"the page failed: {type(error).__name__}", "this is a bug in whence; the log has more")
