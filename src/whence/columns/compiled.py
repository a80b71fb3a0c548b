"""Compiled kernels are kept beside the source, and must not outlive it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba as nb

from whence.columns.kernel_cache import cache_folder, forget_stale_kernels
from whence.interrupts import held

forget_stale_kernels(Path(__file__).parent)


_Function = TypeVar("_Function", bound=Callable[..., object])


# Options that numba knows and its type hints do not: no reference counts, and no other ways in than the one needed.
_BARE: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {**_BARE, "no_cpython_wrapper": True}


def shared_kernel(function: _Function) -> _Function:
    """A kernel that lets go of Python's lock, since it only reads what others read."""
    return kernel(function, nogil=True)


def kernel(function: _Function, *, nogil: bool = False) -> _Function:
    """A function that Python calls; its machine code is kept on disk, where there is a place for it."""
    is_kept = cache_folder(Path(function.__code__.co_filename).parent) is not None
    compiled: Any = nb.njit(cache=is_kept, error_model="numpy", nogil=nogil, **_BARE)(function)
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


def called(function: _Function) -> _Function:
    """A function that kernels call: what is rare, and would make each of them longer to compile."""
    compiled: _Function = nb.njit(error_model="numpy", **_INNER)(function)
    return compiled
