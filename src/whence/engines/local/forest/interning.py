"""Values to small integers at the door, and back at the exit."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import numpy as np

from whence.engines.local.forest.layout import Array
from whence.model import types
from whence.model.types import Type, Value

_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - TIMESTAMP has no time zone
_MICROSECOND = datetime.timedelta(microseconds=1)

# Types whose values have an order that a 64-bit number can carry.
ORDERED = (types.INT, types.BIGINT, types.DATE, types.TIMESTAMP, types.BOOLEAN)


def family(type_: Type) -> str:
    """Types of one family share their integers, so that their columns can be joined."""
    return "INT" if type_ == types.BIGINT else type_.name


class Interner:
    """Equal values of one type have one integer; NULL has 0 in every type."""

    def __init__(self) -> None:
        self._ids: dict[str, dict[Value, int]] = {}
        self._count = 1
        # Room doubles when it is used up, so that a new value costs the same however many there are.
        self.values: Array = np.full(64, None, object)
        # What each of them is as a number, 0 where it is none.
        self.numbers: Array = np.zeros(64, np.int64)

    def table(self, type_: Type) -> dict[Value, int]:
        return self._ids.setdefault(family(type_), {None: 0})

    def id(self, value: Value, type_: Type) -> int:
        return self.ids([value], type_)[0]

    def known(self, value: Value, type_: Type) -> int | None:
        return self.table(type_).get(value)

    def ids(self, values: Sequence[Value], type_: Type) -> list[int]:
        """The integers of values, which have none before they are first asked for."""
        table = self.table(type_)
        count = self._count
        ids: list[int] = []
        new: list[Value] = []
        for value in values:
            found = table.setdefault(value, count)
            if found == count:
                count += 1
                new.append(value)
            ids.append(found)
        if new:
            self._add(new, type_)
        return ids

    def _add(self, new: Sequence[Value], type_: Type) -> None:
        first, self._count = self._count, self._count + len(new)
        while self._count > len(self.values):
            self.values, self.numbers = _doubled(self.values), _doubled(self.numbers)
        # From an iterator, since numpy takes a list of tuples apart, and a value may be one.
        self.values[first : self._count] = np.fromiter(new, object, len(new))
        if type_ in ORDERED:
            self.numbers[first : self._count] = [_number(value) for value in new]

    def decode(self, ids: Array) -> list[Value]:
        decoded: list[Value] = self.values[ids].tolist()
        return decoded


def _doubled(array: Array) -> Array:
    return np.concatenate([array, np.zeros_like(array)])


def _number(value: Value) -> int:
    """What orders values of ORDERED types."""
    match value:
        case int():
            return int(value)
        case datetime.datetime():
            return (value - _EPOCH) // _MICROSECOND
        case datetime.date():
            return value.toordinal()
    return 0
