"""Values of Python as JSON has them, for state that is written down: no code is ever run to read them back."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from whence.columns import NotInColumnsError
from whence.model.types import Value

_MICROSECOND = datetime.timedelta(microseconds=1)
# What JSON has itself. Whole numbers may be of any length.
_PLAIN = {type(None), bool, int, float, str}


def packed(values: Sequence[Value]) -> list[Any]:
    """Raises NotInColumnsError for a value of another kind."""
    return list(values) if set(map(type, values)) <= _PLAIN else [_packed(value) for value in values]


def unpacked(given: Sequence[Any]) -> list[Value]:
    return [_unpacked(each) if type(each) is list else each for each in given]


def _packed(value: Value) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return ["decimal", str(value)]
        case datetime.datetime():
            return ["timestamp", value.isoformat()]
        case datetime.date():
            return ["date", value.isoformat()]
        case datetime.timedelta():
            return ["duration", value // _MICROSECOND]
        case bytes():
            return ["binary", value.hex()]
    if type(value) is tuple:
        return ["array", packed(value)]
    raise NotInColumnsError(f"a value of the class {type(value).__name__} in a file")


def _unpacked(given: Sequence[Any]) -> Any:
    kind, content = given
    match kind:
        case "decimal":
            return Decimal(content)
        case "timestamp":
            return datetime.datetime.fromisoformat(content)
        case "date":
            return datetime.date.fromisoformat(content)
        case "duration":
            return content * _MICROSECOND
        case "binary":
            return bytes.fromhex(content)
    return tuple(unpacked(content))
