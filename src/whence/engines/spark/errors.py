"""Values that cannot be computed, on their way from the cluster to whoever asked for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from whence.errors import EvaluationError, StateError
from whence.model.span import Span

_RAISED = "USER_RAISED_EXCEPTION"
# What Spark itself says about values. Everything else that it says is not about the user's data.
_IN_OUR_WORDS = {
    "DIVIDE_BY_ZERO": "division by zero",
    "REMAINDER_BY_ZERO": "division by zero",
    "ARITHMETIC_OVERFLOW": "a result does not fit its type",
    "BINARY_ARITHMETIC_OVERFLOW": "a result does not fit its type",
    "NUMERIC_VALUE_OUT_OF_RANGE": "a result does not fit its type",
    "CAST_OVERFLOW": "a value is out of the range of the type it is cast to",
    "CAST_INVALID_INPUT": "a value cannot be cast",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "there is no element of that number in an array",
    "INVALID_INDEX_OF_ZERO": "there is no element 0 in an array: positions count from 1, and from -1 at the end",
    "DATETIME_OVERFLOW": "a time is outside the years 1 to 9999",
}


def failure(error: EvaluationError) -> str:
    """The error as text that `raise_error` takes."""
    return json.dumps({"message": error.message, "hint": error.hint})


@contextmanager
def evaluation_errors(span: Span | None = None) -> Iterator[None]:
    """Around an action of Spark: what could not be computed is an EvaluationError, with this place."""
    try:
        with _unlogged():
            yield
    except PySparkException as error:
        found = evaluation_error(error, span)
        if found is None:
            raise
        raise found from error


@contextmanager
def failed_jobs() -> Iterator[None]:
    """Around a change: jobs that Spark gives up, because executors die or disks are full, are told in a line."""
    try:
        yield
    except Py4JJavaError as error:
        reason = str(error.java_exception.getMessage()).partition("\n")[0]
        raise StateError(
            f"Spark could not do its part of the change: {reason}", hint="it has not happened, and can be tried again"
        ) from error


@contextmanager
def _unlogged() -> Iterator[None]:
    """PySpark writes pages about a failed value to stderr, where the caller is going to say it in a line."""
    logger = PySparkLogger.getLogger("DataFrameQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def evaluation_error(error: PySparkException, span: Span | None = None) -> EvaluationError | None:
    """What failed, if it is a value that could not be computed."""
    condition = (error.getCondition() or "").partition(".")[0]
    if condition == _RAISED:
        raised = _read((error.getMessageParameters() or {}).get("errorMessage", ""))
        return None if raised is None else EvaluationError(raised["message"] or "", span=span, hint=raised["hint"])
    words = _IN_OUR_WORDS.get(condition)
    return None if words is None else EvaluationError(words, span=span)


def _read(text: str) -> dict[str, str | None] | None:
    try:
        read = json.loads(text)
    except json.JSONDecodeError:
        return None
    return read if isinstance(read, dict) and read.keys() == {"message", "hint"} else None
