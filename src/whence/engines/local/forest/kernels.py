"""How kernels are compiled.

numba counts references to an array wherever it is handed on, which in an inner loop costs more than the work. Who calls
a kernel holds its arrays until it returns, and kernels make none, so that there is nothing to count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    """A function that becomes part of every kernel that calls it, and is nothing by itself.

    numba would compile it anew for every width of integers that it is called with, and for every constant. It gets them
    as one kind, and the optimizer sees the constants where the function has become part of its caller.
    """
    compiled: Any = nb.njit(forceinline=True, error_model="numpy", **_INNER)(function)
    template = compiled.get_call_template

    def with_one_kind(kinds: Iterable[Any], named: Any) -> Any:
        return template(tuple(map(_widened, kinds)), named)

    compiled.get_call_template = with_one_kind
    called: _Function = compiled
    return called


def _widened(kind: Any) -> Any:
    # Only integers have a sign to tell.
    return nb.int64 if getattr(kind, "signed", False) else kind
