"""A program with slips in it is accepted, or refused at a place and in words that its author can understand."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import whence
from tests.lang.mutants.texts import Text

# Seconds; the longest that was seen on an idle machine takes less than one.
TIMEOUT = 20
ACCEPTED = "accepted"
REFUSED = "refused"
# What depends on rows has no place in the text.
_OF_ROWS = (whence.DataError, whence.EvaluationError, whence.ConvergenceError, whence.StateError)
_INTERNAL = re.compile(
    r"<class|TokenType|<Token|sqlglot|Traceback|NoneType|object at 0x|\bexp\.|AssertionError|\w\$\w|\w#\d"
)


class FaultError(Exception):
    """What a user should never see."""


class _TooLongError(BaseException):
    pass


def judge(mutant: Text) -> str:
    """ACCEPTED or REFUSED; FaultError where the answer is neither."""
    try:
        with _stopped_after(TIMEOUT):
            return _judge(mutant)
    except _TooLongError:
        raise FaultError(f"it takes more than {TIMEOUT} seconds") from None


def _judge(mutant: Text) -> str:
    # A recursion that makes new values may square their number in each round.
    db = whence.connect(max_rounds=4)
    try:
        run = db.execute if mutant.language == "sql" else db.rules
        if mutant.tables:
            run(mutant.tables)
        run(mutant.text)
        for view in db.catalog().views:
            db.rows(view)
    except whence.InternalError as error:
        raise FaultError(f"an internal error: {error}") from error
    except whence.WhenceError as error:
        _check(error, mutant)
        return REFUSED
    except Exception as error:
        raise FaultError(f"{type(error).__name__}: {error}") from error
    for notice in db.notices:
        _check_words(notice, mutant)
    return ACCEPTED


def _check(error: whence.WhenceError, mutant: Text) -> None:
    _check_words("\n".join(str(part) for part in (error.message, error.hint, *(n for n, _ in error.related))), mutant)
    if error.span is None and not isinstance(error, _OF_ROWS) and error.message != "the program is empty":
        raise FaultError(f"no place: {error}")
    # One further is the end of the text.
    if error.span is not None and not 0 <= error.span.start < error.span.end <= len(error.span.source.text) + 1:
        raise FaultError(f"a place outside of the text: {error}")


def _check_words(words: str, mutant: Text) -> None:
    found = _INTERNAL.search(words)
    if found is not None and found[0] not in mutant.text:
        raise FaultError(f"words that nobody typed, {found[0]!r}: {words}")


@contextmanager
def _stopped_after(seconds: int) -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
