"""Ctrl-C at moments where a change can be left: a commit happens completely or not at all, whenever it is pressed.

Python raises `KeyboardInterrupt` between any two steps of the main thread, and in no other. Here it waits: until the
end of what must not be torn apart (`held`), or until the next place where that can be undone (`stops_at_checks`).
"""

from __future__ import annotations

# What `signal` wraps, without its enumerations: many times as fast, and needed in every call of a database.
import _signal  # type: ignore[import-not-found]
import enum
import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from functools import wraps
from threading import get_ident
from types import CodeType, FrameType, TracebackType
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

# A user who presses it again after so many seconds waits no longer. What is torn apart then says so.
_INSISTENT_AFTER_SECONDS = 5.0
_SIGNAL = int(signal.SIGINT)


class _Mode(enum.Enum):
    FREE = enum.auto()
    AT_CHECKS = enum.auto()
    HELD = enum.auto()


# Members of an enumeration are looked up slowly.
_FREE, _AT_CHECKS, _HELD = _Mode


class _State:
    """That of the main thread. `depth` counts the blocks that need the handler, `waiting` is when an interrupt came
    that waits, and every interrupt comes to the `former` handler in the end.
    """

    __slots__ = ("depth", "former", "main", "mode", "waiting")

    def __init__(self) -> None:
        self.mode = _FREE
        self.depth = 0
        self.waiting: float | None = None
        self.former: Callable[[int, FrameType | None], object] = signal.default_int_handler
        self.find_main_thread()

    def find_main_thread(self) -> None:
        self.main = threading.main_thread().ident


_state = _State()
# The thread that forks is the main thread of the child.
os.register_at_fork(after_in_child=_state.find_main_thread)


class held:  # noqa: N801 - it reads like a function
    """In here nothing is interrupted. What came meanwhile is raised at the end."""

    __slots__ = ("_outer",)

    def __enter__(self) -> None:
        self._outer = _hold()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._outer is not None:
            _let_go(self._outer)


class stops_at_checks:  # noqa: N801 - likewise
    """In here, where interrupts wait otherwise, `check` raises them. It must be possible to leave at each check."""

    __slots__ = ("_is_mine",)

    def __enter__(self) -> None:
        self._is_mine = _state.mode is _HELD and get_ident() == _state.main
        if self._is_mine:
            _state.mode = _AT_CHECKS

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_mine:
            _state.mode = _HELD


def check() -> None:
    if _state.waiting is not None and _state.mode is _AT_CHECKS:
        raise_waiting()


def raise_waiting() -> None:
    """Raise what waits. Nothing interrupts what its handlers do about it."""
    if _state.waiting is not None and get_ident() == _state.main:
        if _state.depth:
            _state.mode = _HELD
        _state.waiting = None
        _state.former(_SIGNAL, None)


def interruptible(work: Callable[[], T]) -> T:
    """Let work be interrupted anywhere, in a block where that must wait. What waits already goes on waiting."""
    if get_ident() != _state.main:
        return work()
    outer = _state.mode
    # A function and not a `with` block: from the first moment on, `finally` is there.
    try:
        _state.mode = _FREE
        return work()
    finally:
        _state.mode = outer


class _SteadyContext(AbstractContextManager[T]):
    __slots__ = ("_outer", "_steps")

    def __init__(self, steps: Generator[T, None, None]) -> None:
        self._steps = steps

    def __enter__(self) -> T:
        self._outer = _hold()
        try:
            value = next(self._steps)
            if self._outer is _FREE and _state.waiting is not None:
                raise_waiting()
        except BaseException:
            self._steps.close()
            if self._outer is not None:
                _let_go(self._outer)
            raise
        # The last thing: from here on the block can be interrupted, and is always left by `__exit__`.
        if self._outer is not None:
            _state.mode = self._outer
        return value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._outer is not None:
            _state.mode = _HELD
        try:
            if error is None:
                next(self._steps, None)
            else:
                self._steps.throw(error)
        except BaseException as raised:
            # Python goes on with the one that there was.
            if raised is not error:
                raise
        finally:
            if self._outer is not None:
                _let_go(self._outer)


def steady_context(function: Callable[P, Generator[T, None, None]]) -> Callable[P, AbstractContextManager[T]]:
    """Like `contextmanager`, but its beginning and its end are not interrupted, and what has begun is always ended.

    It must pass on what is raised inside.
    """

    @wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> AbstractContextManager[T]:
        return _SteadyContext(function(*args, **kwargs))

    return made


# Python may handle a signal as soon as it has entered one of these.
_EDGES: frozenset[CodeType] = frozenset({_SteadyContext.__enter__.__code__, _SteadyContext.__exit__.__code__})


def _handle(signum: int, frame: FrameType | None) -> None:
    """Python calls this in the main thread only."""
    is_edge = frame is not None and frame.f_code in _EDGES
    if _state.mode is _FREE and not is_edge:
        _state.waiting = None
        if not _state.depth:
            _state.former(signum, frame)
            return
        # A handler that cleans up now is not interrupted by the next one.
        _state.mode = _HELD
        _state.former(signum, frame)
        _state.mode = _FREE
        return
    now = time.monotonic()
    if _state.waiting is None:
        _state.waiting = now
    elif now - _state.waiting > _INSISTENT_AFTER_SECONDS:
        raise_waiting()


def _hold() -> _Mode | None:
    """Let interrupts wait, and return what was before; None in a thread that gets none."""
    if get_ident() != _state.main:
        return None
    # Also within a block: Spark, which may start in there, has a handler of its own.
    if _signal.getsignal(_SIGNAL) is not _handle:
        _install()
    outer = _state.mode
    _state.mode = _HELD
    _state.depth += 1
    return outer


def _let_go(outer: _Mode) -> None:
    _state.depth -= 1
    _state.mode = outer
    if not _state.depth:
        _state.mode = _FREE
        if _signal.getsignal(_SIGNAL) is _handle:
            _signal.signal(_SIGNAL, _state.former)
    if _state.waiting is not None and _state.mode is _FREE:
        raise_waiting()


def _install() -> None:
    known = _signal.getsignal(_SIGNAL)
    # Where nobody in Python hears of interrupts, they end the process or do nothing.
    if callable(known):
        _state.former = known
        _signal.signal(_SIGNAL, _handle)
