"""What one request may take, and the cells of an answer within that.

The process that runs queries under a memory limit needs this and little else, so that nothing large is imported here.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whence.model.types.times import timestamp_text


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one request may take: `body` bytes of it, `sql` characters of a query, `seconds` until there is an answer.

    An answer has up to so many `rows` and `answer` bytes; text in a `cell` is cut after so many characters. A query may
    use `memory` bytes beside what it reads. So many questions are worked on `at_once`, and so many `connections` are
    held, each of which has to bring its request within `arrival` seconds.

    `steps` of a proof are sent at a time, and the last `proofs` can be opened further. So many `commits` are
    remembered, and so many `listeners` hear of the next ones.
    """

    body: int = 1_000_000
    sql: int = 100_000
    rows: int = 1_000
    answer: int = 4_000_000
    cell: int = 10_000
    memory: int = 512_000_000
    seconds: float = 10.0
    arrival: float = 10.0
    at_once: int = 16
    connections: int = 300
    steps: int = 200
    proofs: int = 64
    commits: int = 200
    listeners: int = 100


DEFAULT_LIMITS = RequestLimits()


# A browser's numbers are exact up to here.
_EXACT = 2**53
# Brackets, a comma, quotes: what a value takes beside its text.
_AROUND = 4
# A letter beyond ASCII, at most times.
_ESCAPED = 6


class Cells:
    """Cells of one answer. `shortened` counts those that were cut; `full` says that no more rows fit."""

    def __init__(self, limits: RequestLimits) -> None:
        self._longest = limits.cell
        # Rows are not all of an answer, and the last one may be the largest.
        self._left = limits.answer // 2
        self.shortened = 0

    @property
    def full(self) -> bool:
        return self._left <= 0

    def rows(self, rows: Iterable[Sequence[object]], most: int | None = None) -> list[list[object]]:
        """As many of the rows as there is room for."""
        taken: list[list[object]] = []
        for row in rows:
            if self.full or len(taken) == most:
                break
            taken.append(self.row(row))
        return taken

    def row(self, row: Sequence[object]) -> list[object]:
        return [self._cell(value) for value in row]

    def _cell(self, value: object) -> object:
        # However long a list is, it is cut as a text of that length would be.
        room = _Room(self._longest)
        found = room.plain(value)
        self.shortened += room.is_over
        self._left -= room.size
        return found


class _Room:
    """What one cell may still hold, in characters."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.size = 0
        self.is_over = False

    def plain(self, value: object) -> object:
        """A value as JSON has it. What a browser's numbers cannot hold keeps its digits, as a string."""
        match value:
            case None | bool():
                return self._taken(value, _AROUND)
            case str():
                return self._text(value)
            case float():
                return self._taken(value if math.isfinite(value) else str(value), 2 * _AROUND)
            case int():
                return self._taken(value, 2 * _AROUND) if -_EXACT <= value <= _EXACT else self._text(str(value))
            case decimal.Decimal():
                return self._text(format(value, "f"))
            case datetime.datetime():
                return self._text(timestamp_text(value.replace(tzinfo=None)))
            case bytes():
                return self._text(value.hex().upper())
            case tuple() | list():
                return self._list(value)
        return self._text(str(value))

    def _taken(self, value: object, size: int) -> object:
        self.left -= size
        self.size += size
        return value

    def _text(self, text: str) -> str:
        if len(text) > self.left:
            self.is_over = True
            text = f"{text[: max(self.left, 0)]}…"
        self.left -= len(text) + _AROUND
        self.size += len(text) * (1 if text.isascii() else _ESCAPED) + _AROUND
        return text

    def _list(self, values: Sequence[object]) -> list[object]:
        found: list[object] = []
        for value in values:
            if self.left <= 0:
                self.is_over = True
                found.append("…")
                break
            found.append(self.plain(value))
        return found


def shortened(text: str, limits: RequestLimits) -> str:
    """A text of many lines, as far as an answer takes it."""
    most = limits.answer // 8
    return text if len(text) <= most else f"{text[:most]}\n… and more: the text is too long to be shown whole"
