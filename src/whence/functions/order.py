"""The order of values: NULL elements of arrays come first, everything else as Python has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.model.types import ArrayType, Type


def sort_key(kind: Type) -> Callable[[Any], Any] | None:
    """A key under which values of `kind` compare with `<`, or None where they do so themselves."""
    return _array_key if isinstance(kind, ArrayType) else None


def _array_key(value: Any) -> tuple[Any, ...]:
    return tuple(
        (0,) if element is None else (1, _array_key(element) if isinstance(element, tuple) else element)
        for element in value
    )
