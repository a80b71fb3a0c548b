"""How kernels are compiled.

numba counts references to an array wherever it is handed on, which in an inner loop costs more than the work. Who calls
a kernel holds its arrays until it returns, and kernels make none, so that there is nothing to count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba as nb

_Function = TypeVar("_Function", bound=Callable[..., object])


# Options that numba knows and its type hints do not: no reference counts, and no other ways in than the one needed.
_BARE: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {**_BARE, "no_cpython_wrapper": True}


def kernel(function: _Function) -> _Function:
    """A function that Python calls; its machine code is kept on disk."""
    compiled: _Function = nb.njit(cache=True, error_model="numpy", **_BARE)(function)
    return compiled


def inlined(function: _Function) -> _Function:
    """A function that becomes part of every kernel that calls it, and is nothing by itself."""
    compiled: _Function = nb.njit(forceinline=True, error_model="numpy", **_INNER)(function)
    return compiled
