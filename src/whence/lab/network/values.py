"""Values as bytes, for any process to read: a tag and what belongs to it, as docs/network.md has them."""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Iterable

from whence.model.types import Row, Value

NULL, FALSE, TRUE, INTEGER, DOUBLE, STRING, DECIMAL, DATE, TIMESTAMP, ARRAY, BINARY, DURATION = range(12)
_DOUBLE = struct.Struct("<d")
_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps have no time zone
_MICROSECOND = datetime.timedelta(microseconds=1)
# Longer numbers than this are damage: no count and no length comes near.
_MOST_BYTES_OF_A_VARINT = 40


def _short(number: int) -> bytes:
    doubled = 2 * number
    return bytes((INTEGER, doubled) if doubled < 0x80 else (INTEGER, doubled & 0x7F | 0x80, doubled >> 7))


# All integers whose varint has two bytes at most.
_SHORT = [_short(number) for number in range(0x2000)]


class DamagedError(Exception):
    """Bytes that are not what they should be."""


class ValueWriter:
    def __init__(self) -> None:
        self.data = bytearray()

    def varint(self, number: int) -> None:
        while number > 0x7F:
            self.data.append(number & 0x7F | 0x80)
            number >>= 7
        self.data.append(number)

    def integer(self, number: int) -> None:
        self.varint(2 * number if number >= 0 else -2 * number - 1)

    def block(self, data: bytes) -> None:
        self.varint(len(data))
        self.data += data

    def text(self, text: str) -> None:
        self.block(text.encode())

    def row(self, row: Row) -> None:
        self.varint(len(row))
        for value in row:
            self.value(value)

    def rows(self, rows: Iterable[Row]) -> None:
        """Messages are made of little else, and rows of short numbers, so that these are written in one go."""
        data = self.data
        for row in rows:
            if len(row) > 0x7F:
                self.varint(len(row))
            else:
                data.append(len(row))
            for value in row:
                if type(value) is int and 0 <= value < 0x2000:
                    data += _SHORT[value]
                else:
                    self.value(value)

    def value(self, value: Value) -> None:
        match value:
            case None:
                self.data.append(NULL)
            case bool():
                self.data.append(TRUE if value else FALSE)
            case int():
                self.data.append(INTEGER)
                self.integer(value)
            case str():
                self.data.append(STRING)
                self.text(value)
            case float():
                self.data.append(DOUBLE)
                self.data += _DOUBLE.pack(value)
            case decimal.Decimal():
                self.data.append(DECIMAL)
                self.text(str(value))
            case datetime.datetime():
                self.data.append(TIMESTAMP)
                self.integer((value - _EPOCH) // _MICROSECOND)
            case datetime.date():
                self.data.append(DATE)
                self.varint(value.toordinal())
            case datetime.timedelta():
                self.data.append(DURATION)
                self.integer(value // _MICROSECOND)
            case bytes():
                self.data.append(BINARY)
                self.block(value)
            case tuple():
                self.data.append(ARRAY)
                self.row(value)


class ValueReader:
    """Reads what a Writer wrote, from `start` up to `end`. Raises DamagedError at the first thing that is not so."""

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self._data = data
        self._at = start
        self._end = len(data) if end is None else end

    @property
    def is_done(self) -> bool:
        return self._at == self._end

    def byte(self) -> int:
        if self._at >= self._end:
            raise DamagedError("it ends too early")
        self._at += 1
        return self._data[self._at - 1]

    def varint(self) -> int:
        number = 0
        for shift in range(0, 7 * _MOST_BYTES_OF_A_VARINT, 7):
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise DamagedError("a number has no end")

    def integer(self) -> int:
        number = self.varint()
        return number // 2 if number % 2 == 0 else -(number + 1) // 2

    def block(self) -> bytes:
        return self._take(self.varint())

    def _take(self, length: int) -> bytes:
        if length > self._end - self._at:
            raise DamagedError("it ends too early")
        self._at += length
        return self._data[self._at - length : self._at]

    def text(self) -> str:
        try:
            return self.block().decode()
        except UnicodeDecodeError:
            raise DamagedError("a text is not UTF-8") from None

    def row(self) -> Row:
        return tuple([self.value() for _ in range(self.count())])

    def rows(self, count: int) -> list[Row]:
        """So many of them; most values are short numbers, which are read in one go."""
        data, end = self._data, self._end - 2
        rows: list[Row] = []
        for _ in range(count):
            width = self.count()
            at = self._at
            values: list[Value] = []
            for _ in range(width):
                if at < end and data[at] == INTEGER and data[at + 1] < 0x80:
                    doubled = data[at + 1]
                    at += 2
                    values.append(doubled >> 1 ^ -(doubled & 1))
                elif at < end and data[at] == INTEGER and data[at + 2] < 0x80:
                    doubled = data[at + 1] & 0x7F | data[at + 2] << 7
                    at += 3
                    values.append(doubled >> 1 ^ -(doubled & 1))
                else:
                    self._at = at
                    values.append(self.value())
                    at = self._at
            self._at = at
            rows.append(tuple(values))
        return rows

    def count(self) -> int:
        """How many things follow, each of at least one byte."""
        at = self._at
        if at < self._end and self._data[at] < 0x80:
            count = self._data[at]
            self._at = at + 1
        else:
            count = self.varint()
        if count > self._end - self._at:
            raise DamagedError("it ends too early")
        return count

    def value(self) -> Value:
        tag = self.byte()
        try:
            match tag:
                case 0:
                    return None
                case 1 | 2:
                    return tag == TRUE
                case 3:
                    return self.integer()
                case 4:
                    number: float = _DOUBLE.unpack(self._take(_DOUBLE.size))[0]
                    return number
                case 5:
                    return self.text()
                case 6:
                    return decimal.Decimal(self.text())
                case 7:
                    return datetime.date.fromordinal(self.varint())
                case 8:
                    return _EPOCH + self.integer() * _MICROSECOND
                case 9:
                    return self.row()
                case 10:
                    return self.block()
                case 11:
                    return self.integer() * _MICROSECOND
        except (ValueError, OverflowError, decimal.InvalidOperation):
            raise DamagedError("a value is out of range") from None
        raise DamagedError(f"there is no type of value {tag}")
