"""What goes wrong on the cluster, as the caller gets it: in a line, and in our words where we know better."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from whence.errors import EvaluationError, WhenceError
from whence.model.span import Span

_SEGMENT_FILE = re.compile(r"segments/[0-9]+-[0-9a-f]+(/[^/\s'\",]+)?")
# What a Python worker says that runs another Python than the driver.
_MISSING_PACKAGE = re.compile(r"ModuleNotFoundError: No module named '(whence|pyarrow|numpy|pandas)[.']")
_UNREADABLE = ("FAILED_READ_FILE", "CANNOT_READ_FILE_FOOTER", "PATH_NOT_FOUND", "FileNotFoundException")
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
def spark_errors(kind: type[WhenceError], what: str, hint: str | None = None) -> Iterator[None]:
    """Around what Spark does for us: jobs that it gives up, because executors die or disks are full, and all else."""
    try:
        with _unlogged():
            yield
    except (PySparkException, Py4JError) as error:
        if unreadable_file(error) is not None:
            raise
        if (missing := _MISSING_PACKAGE.search(str(error))) is not None:
            raise kind(
                f"{what}: the Python of Spark's executors does not have {missing[1]!r}",
                hint="give executors an environment with whence, as docs/spark.md tells (PYSPARK_PYTHON, --archives)",
            ) from error
        raise kind(f"{what}: {first_line(error)}", hint=hint) from error


def unreadable_file(error: PySparkException | Py4JError) -> str | None:
    """The file of a database that Spark could not read, if that is what went wrong: its path below the root."""
    text = str(error)
    found = _SEGMENT_FILE.search(text)
    return found[0] if found is not None and any(sign in text for sign in _UNREADABLE) else None


def first_line(error: PySparkException | Py4JError) -> str:
    """What Spark says, without the plans and the calls that led there."""
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.getMessage())
    elif isinstance(error, PySparkException):
        text = error.getMessage() or str(error)
    else:
        text = str(error)
    return text.strip().partition("\n")[0]


@contextmanager
def _unlogged() -> Iterator[None]:
    """PySpark writes pages about a failed value to stderr, where the caller is going to say it in a line."""
    loggers = [PySparkLogger.getLogger(f"{name}QueryContextLogger") for name in ("DataFrame", "SQL")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def evaluation_error(error: PySparkException, span: Span | None = None) -> EvaluationError | None:
    """What failed, if it is a value that could not be computed."""
    raised = raised_fields(error, "message", "hint")
    if raised is not None:
        return EvaluationError(raised["message"] or "", span=span, hint=raised["hint"])
    words = _IN_OUR_WORDS.get(_condition(error))
    return None if words is None else EvaluationError(words, span=span)


def raised_fields(error: PySparkException, *names: str) -> dict[str, Any] | None:
    """What a `raise_error` says, if the error comes from one, and its text is JSON with exactly these fields."""
    if _condition(error) != "USER_RAISED_EXCEPTION":
        return None
    try:
        read = json.loads((error.getMessageParameters() or {}).get("errorMessage", ""))
    except json.JSONDecodeError:
        return None
    return read if isinstance(read, dict) and read.keys() == set(names) else None


def _condition(error: PySparkException) -> str:
    return (error.getCondition() or "").partition(".")[0]


logger = logging.getLogger("whence")

T = TypeVar("T")

# As often as Spark tries a task.
TRIES = 4
_LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"


def retried_when_lost(work: Callable[[], T], what: str) -> T:
    """What the work comes to, which may be done several times over."""
    for _ in range(TRIES - 1):
        try:
            return work()
        except (Py4JJavaError, PySparkException) as error:
            if _LOST not in str(error):
                raise
            logger.warning("an executor died while %s was derived, which is begun anew", what)
    return work()
