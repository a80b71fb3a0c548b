"""Whether kernels are compiled, and what to do while they are not: go on without them, or wait.

Compiling takes a minute or more, once after an installation. A process of its own does it, so that nobody has to wait
for it. That process outlives the one that started it, and of all that are started only one compiles.
"""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from whence import columns
from whence.columns.kernel_cache import are_compiled, cache_folder
from whence.deadline import check
from whence.errors import UnsupportedError

logger = logging.getLogger("whence")

# The sources of kernels, and what these are for.
FOREST = Path(__file__).with_name("forest")
COLUMNS = Path(str(columns.__file__)).parent
USES = {FOREST: "recursive views", COLUMNS: "tables of many rows"}

_VARIABLE = "WHENCE_COMPILE"
_MODES: tuple[Literal["background", "wait", "never"], ...] = ("background", "wait", "never")

_SECONDS_BETWEEN_LOOKS = 0.05
# A process that found another one at work looks again, in case that one was killed.
_SECONDS_UNTIL_NEXT = 60.0
# With the modules of the process that starts it, wherever those come from.
_PROGRAM = """
import os, sys
sys.path[:] = {path!r}
os.nice({niceness})
from whence.engines.local.warmup import warm_up
warm_up(lambda line: None, is_patient={is_patient})
"""


class _Background(subprocess.Popen[bytes]):
    """A process that goes on when this one ends, which Python would warn of."""

    def __del__(self) -> None:
        pass


class State:
    """Of this process: which kernels can be called, and the process that compiles for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ready: set[Path] = set()
        self.next_look: dict[Path, float] = {}
        self.compiler: _Background | None = None
        self.next_at = 0.0
        self.trouble: str | None = None


_state = State()


def is_ready(kernels: Path) -> bool:
    """Whether kernels can be called without compiling any of them."""
    if kernels in _state.ready:
        return True
    # Commits ask this, and small ones take no longer than a look at files.
    now = time.monotonic()
    if now < _state.next_look.get(kernels, 0.0):
        return False
    _state.next_look[kernels] = now + _SECONDS_BETWEEN_LOOKS
    if are_compiled(kernels):
        _state.ready.add(kernels)
    return kernels in _state.ready


def use_at_once(kernels: Path) -> None:
    """Kernels are called from now on, and compiled in this process where that is still to be done."""
    _state.ready.add(kernels)


def may_call(kernels: Path) -> bool:
    """Whether to call kernels now. If not, they are being compiled, or `why_not` tells why that is not so."""
    if is_ready(kernels):
        return True
    mode = _mode()
    if mode == "wait":
        _wait(kernels)
        return True
    if mode == "background":
        with _state.lock:
            _begin(kernels)
    return False


def why_not() -> str:
    """Why kernels are not called yet."""
    if _mode() == "never":
        return f"{_VARIABLE} is never, and `whence warmup` was not called"
    return _state.trouble or "the kernels are being compiled"


def _mode() -> Literal["background", "wait", "never"]:
    given = os.environ.get(_VARIABLE) or "background"
    for mode in _MODES:
        if given == mode:
            return mode
    raise UnsupportedError(f"{_VARIABLE} is {given!r}", hint=f"it can be {', '.join(_MODES)}")


def _begin(kernels: Path) -> None:
    """Let a process compile, unless it does already, or cannot."""
    if _state.compiler is not None and _state.compiler.poll():
        _state.trouble = "compiling the kernels failed, and `whence warmup` tells why"
    if _state.trouble or time.monotonic() < _state.next_at:
        return
    _state.trouble = _obstacle()
    if _state.trouble:
        return
    if _state.compiler is not None and _state.compiler.poll() is None:
        return
    _state.next_at = time.monotonic() + _SECONDS_UNTIL_NEXT
    try:
        _state.compiler = _started(is_patient=False)
    except OSError as error:
        _state.trouble = f"the kernels cannot be compiled, since no process can be started: {error}"
        return
    logger.info(
        "%s are kept by slower means until their kernels are compiled, which happens in the background; "
        "`whence warmup` does that beforehand",
        USES[kernels],
    )


def _wait(kernels: Path) -> None:
    logger.warning("compiling the kernels for %s, once after an installation: a minute or more", USES[kernels])
    if _obstacle() is None:
        compiler = _started(is_patient=True)
        while compiler.poll() is None:
            check()
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    # If it failed, so will calls, and tell why.
    use_at_once(kernels)


def _obstacle() -> str | None:
    """Why no process can compile for this one."""
    if cache_folder(FOREST) is None:
        return "no folder can be written to in which the kernels could be kept"
    # The executable of a program that was packed into one file is that program.
    is_python = sys.executable and not getattr(sys, "frozen", False)
    return None if is_python else "there is no Python that could compile the kernels"


def _started(*, is_patient: bool) -> _Background:
    # Nobody waits for one that is not patient itself, and others have something to do.
    program = _PROGRAM.format(path=sys.path, is_patient=is_patient, niceness=0 if is_patient else 10)
    nothing = subprocess.DEVNULL
    # In a session of its own Ctrl-C does not reach it, nor does the end of a terminal.
    return _Background(
        [sys.executable, "-P", "-c", program], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )


@contextmanager
def alone(*, is_patient: bool) -> Iterator[bool]:
    """Inside, no other process compiles. False if one does and that is not to be waited for."""
    folder = cache_folder(FOREST)
    if folder is None:
        yield True
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "kernels.lock").open("w") as lock:
        try:
            # Given back when the process ends, in whatever way.
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if is_patient else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
