"""Values to small integers at the door, and back at the exit."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

import numpy as np

from whence.engines.local.forest.layout import Array
from whence.model import types
from whence.model.types import Row, Type, Value

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
        self._values: Array = np.full(64, None, object)
        self._numbers: Array = np.zeros(64, np.int64)

    def table(self, type_: Type) -> dict[Value, int]:
        return self._ids.setdefault(family(type_), {None: 0})

    def id(self, value: Value, type_: Type) -> int:
        table = self.table(type_)
        found = table.get(value)
        if found is None:
            found = table[value] = self._count
            if found == len(self._values):
                self._values, self._numbers = _doubled(self._values), _doubled(self._numbers)
            self._values[found] = value
            self._numbers[found] = _number(value)
            self._count += 1
        return found

    def known(self, value: Value, type_: Type) -> int | None:
        return self.table(type_).get(value)

    def rows(self, rows: Iterable[Row], column_types: Sequence[Type], positions: Sequence[int]) -> Array:
        """The rows' columns at the positions, interned: int32 [row, position]."""
        columns = list(zip(*rows, strict=True))
        found = np.empty((len(columns[0]) if columns else 0, len(positions)), np.int32)
        for at, position in enumerate(positions if columns else ()):
            found[:, at] = self._column(columns[position], column_types[position])
        return found

    def _column(self, values: Sequence[Value], type_: Type) -> list[int]:
        table = self.table(type_)
        ids = [table.get(value, -1) for value in values]
        if -1 in ids:
            ids = [self.id(value, type_) if known < 0 else known for value, known in zip(values, ids, strict=True)]
        return ids

    def numbers(self) -> Array:
        """What each interned value is as a number, 0 where it is none."""
        return self._numbers

    def decode(self, ids: Array) -> list[Value]:
        decoded: list[Value] = self._values[ids].tolist()
        return decoded


def _doubled(array: Array) -> Array:
    return np.concatenate([array, np.zeros_like(array)])


def _number(value: Value) -> int:
    """What orders values of ORDERED types; 0 for others."""
    match value:
        case str():
            return 0
        case datetime.datetime():
            return (value - _EPOCH) // _MICROSECOND
        case datetime.date():
            return value.toordinal()
        case int():
            return int(value)
    return 0
