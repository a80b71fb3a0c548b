"""JSON that is taken for nothing but what it should be."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class MalformedError(Exception):
    """Something else is there than what was written."""


def record(value: object, *names: str) -> list[Any]:
    """The values of an object with exactly these names."""
    if not isinstance(value, dict) or value.keys() != set(names):
        raise MalformedError(f"an object with {', '.join(names)} is missing")
    return [value[name] for name in names]


def items(value: object, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or length not in (None, len(value)):
        raise MalformedError("a list is missing")
    return value


def mapping(value: object, read: Callable[[Any], T]) -> dict[str, T]:
    if not isinstance(value, dict):
        raise MalformedError("an object is missing")
    return {name: read(each) for name, each in value.items()}


def natural(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MalformedError("a number is missing")
    return value


def integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedError("a number is missing")
    return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise MalformedError("a text is missing")
    return value


def truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise MalformedError("true or false is missing")
    return value


def moment(value: object) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text(value))
    except ValueError:
        raise MalformedError("a time is missing") from None
