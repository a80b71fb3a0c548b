"""Whether whence and DuckDB see the same rows."""

from __future__ import annotations

import datetime
import decimal
import math
from collections import Counter
from collections.abc import Iterable, Mapping

from whence.model.types import Row, Value

# An average of DECIMALs has four more digits in Spark than its argument, and is a DOUBLE in DuckDB.
TOLERANCE = 1e-4


class DisagreementError(AssertionError):
    """The two systems differ."""


def difference(ours: Mapping[Row, int], theirs: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that only whence has and those that only DuckDB has, as bags."""
    left: Counter[Row] = Counter()
    for row, count in ours.items():
        left[tuple(map(_comparable, row))] += count
    right = Counter(tuple(map(_comparable, row)) for row in theirs)
    only_left = list((left - right).elements())
    only_right = list((right - left).elements())
    # What is left over may still match up to rounding.
    for row in list(only_left):
        partner = next((other for other in only_right if _close(row, other)), None)
        if partner is not None:
            only_left.remove(row)
            only_right.remove(partner)
    return only_left, only_right


def _comparable(value: Value) -> Value:
    match value:
        case bool():
            # To Python True is 1, but a BOOLEAN is no number.
            return str(value)
        case datetime.datetime() if value.time() == datetime.time():
            # A DATE that an INTERVAL was added to is a TIMESTAMP to DuckDB.
            return value.date()
    return value


def _close(left: Row, right: Row) -> bool:
    return len(left) == len(right) and all(map(_same, left, right))


def _same(left: object, right: object) -> bool:
    numbers = (int, float, decimal.Decimal)
    if isinstance(left, numbers) and isinstance(right, numbers):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=TOLERANCE)
    return left == right
