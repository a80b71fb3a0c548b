"""What follows from comparisons of columns when some of their values are unknown: the closure P* of the paper.

Comparisons of numbers are bounds of differences, left - right <= bound; what follows from them is found like shortest
paths. So (5, ?, 3) is not possible where the first is less than the second and that less than the third.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from whence.documents.xpath.syntax import And, Comparison, Expression, PathExpression
from whence.errors import UnknownNameError, UnsupportedError, did_you_mean

# Stands for the number 0 among the columns.
ZERO = -1


class Bound(NamedTuple):
    """left - right <= most, or < most if it is strict."""

    most: float
    strict: bool

    def __add__(self, other: tuple[object, ...]) -> Bound:
        assert isinstance(other, Bound)
        return Bound(self.most + other.most, self.strict or other.strict)

    def is_below(self, other: Bound) -> bool:
        return (self.most, not self.strict) < (other.most, not other.strict)


NONE = Bound(math.inf, False)


@dataclass(frozen=True, slots=True)
class Differences:
    """All that a condition says of columns, which go by their places. `classes` has the first of those that are
    equal.
    """

    classes: tuple[int, ...]
    bounds: Mapping[tuple[int, int], Bound]
    texts: Mapping[int, str]
    unequal: tuple[tuple[int, int | str], ...]
    satisfiable: bool


def differences(columns: Sequence[str], where: Expression | None) -> Differences:
    parts = [] if where is None else list(where.parts) if isinstance(where, And) else [where]
    classes = list(range(len(columns)))
    bounds: dict[tuple[int, int], Bound] = {}
    texts: dict[int, str] = {}
    unequal: list[tuple[int, int | str]] = []
    consistent = True
    compared: list[tuple[int, str, int | str | float, float]] = []
    for part in parts:
        if not isinstance(part, Comparison):
            raise UnsupportedError(
                "columns are compared, and the comparisons joined by `and`", span=part.span, hint="paid <= sent + 4"
            )
        left = _column(part.left, columns)
        right = _column(part.right, columns) if isinstance(part.right, PathExpression) else part.right
        if isinstance(part.right, PathExpression) and part.op == "=" and not part.offset:
            assert isinstance(right, int)
            first, second = sorted((classes[left], classes[right]))
            classes = [first if each == second else each for each in classes]
        else:
            compared.append((left, part.op, right if not isinstance(part.right, float) else part.right, part.offset))
    for left, op, right, offset in compared:
        column = classes[left]
        if isinstance(right, str):
            if op == "=":
                consistent = consistent and texts.setdefault(column, right) == right
            else:
                unequal.append((column, right))
        elif op == "!=" and isinstance(right, int):
            unequal.append((column, classes[right]))
            consistent = consistent and column != classes[right]
        elif op == "!=":
            raise UnsupportedError("a column is not compared with a number by !=", hint="compare with < or >")
        else:
            other, most = (classes[right], offset) if isinstance(right, int) else (ZERO, right)
            _bound(bounds, column, op, other, most)
    _close(bounds, [ZERO, *sorted(set(classes))])
    consistent = consistent and not any(
        low == high and (bound.most < 0 or (bound.most == 0 and bound.strict)) for (low, high), bound in bounds.items()
    )
    return Differences(tuple(classes), bounds, texts, tuple(unequal), consistent)


def _column(path: PathExpression, columns: Sequence[str]) -> int:
    name = path.steps[0].name if len(path.steps) == 1 and not path.absolute else str(path)
    if name not in columns:
        raise UnknownNameError(f"there is no column {name!r}", span=path.span, hint=did_you_mean(name, columns))
    return columns.index(name)


def _bound(bounds: dict[tuple[int, int], Bound], left: int, op: str, right: int, most: float) -> None:
    if op in ("<", "<=", "="):
        _tighten(bounds, (left, right), Bound(most, op == "<"))
    if op in (">", ">=", "="):
        _tighten(bounds, (right, left), Bound(-most, op == ">"))


def _tighten(bounds: dict[tuple[int, int], Bound], pair: tuple[int, int], bound: Bound) -> None:
    if bound.is_below(bounds.get(pair, NONE)):
        bounds[pair] = bound


def _close(bounds: dict[tuple[int, int], Bound], nodes: Sequence[int]) -> None:
    for middle in nodes:
        for left in nodes:
            for right in nodes:
                if (left, middle) in bounds and (middle, right) in bounds:
                    _tighten(bounds, (left, right), bounds[left, middle] + bounds[middle, right])
