"""Compiled kernels are kept beside the source, and must not outlive it."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba as nb

from whence.interrupts import held


def forget_stale_kernels(folder: Path) -> None:
    """Delete kernels that were compiled from other sources than those in the folder.

    numba looks only at the file that a kernel stands in, and not at the files of the functions that it takes in.
    """
    sources = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        sources.update(path.read_bytes())
    cache = folder / "__pycache__"
    stamp = cache / "kernels.stamp"
    # Where nothing can be written there is nothing to delete: numba keeps its cache elsewhere then.
    with contextlib.suppress(OSError):
        if stamp.exists() and stamp.read_text() == sources.hexdigest():
            return
        for compiled in (*cache.glob("*.nbi"), *cache.glob("*.nbc")):
            compiled.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        stamp.write_text(sources.hexdigest())


_Function = TypeVar("_Function", bound=Callable[..., object])


# Options that numba knows and its type hints do not: no reference counts, and no other ways in than the one needed.
_BARE: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {**_BARE, "no_cpython_wrapper": True}


def kernel(function: _Function) -> _Function:
    """A function that Python calls; its machine code is kept on disk."""
    compiled: Any = nb.njit(cache=True, error_model="numpy", **_BARE)(function)
    compile_or_load = compiled.compile

    def compile_whole(signature: Any) -> Any:
        # Interrupted in here, numba can compile nothing more.
        with held():
            return compile_or_load(signature)

    compiled.compile = compile_whole
    called: _Function = compiled
    return called


def inlined(function: _Function) -> _Function:
    """A function that becomes part of every kernel that calls it, and is nothing by itself."""
    compiled: _Function = nb.njit(forceinline=True, error_model="numpy", **_INNER)(function)
    return compiled
