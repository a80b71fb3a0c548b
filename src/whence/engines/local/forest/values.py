"""Values as the kernels have them: interned as small integers, or as costs, which min and max are taken of."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from whence.analysis.components import Component
from whence.columns.packed_values import packed, unpacked
from whence.engines.local.forest import layout
from whence.engines.local.forest.layout import Array
from whence.errors import EvaluationError
from whence.model import types
from whence.model.schema import Relation
from whence.model.terms import Aggregate
from whence.model.types import DecimalType, Type, Value


class NotCompiledError(Exception):
    """The rules have a shape that the kernels do not know; the message says which."""


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
        return self._ids.setdefault(type_.family, {None: 0})

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
        if type_.has_ordinal:
            self.numbers[first : self._count] = [type_.ordinal(value) for value in new]

    def saved(self) -> dict[str, Any]:
        """All values, for `restore`. Raises NotInColumnsError for those that cannot be written down."""
        families = [
            [family, np.array(list(table.values()), np.int32), packed(list(table))]
            for family, table in self._ids.items()
        ]
        return {"families": families, "numbers": self.numbers[: self._count]}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Have the values that were saved, with the same integers. The others that are there are among them."""
        self._count = len(saved["numbers"])
        room = 1 << self._count.bit_length()
        self.values, self.numbers = np.full(room, None, object), np.zeros(room, np.int64)
        self.numbers[: self._count] = saved["numbers"]
        for family, ids, given in saved["families"]:
            values = unpacked(given)
            self._ids.setdefault(family, {}).update(zip(values, ids.tolist(), strict=True))
            self.values[ids] = np.fromiter(values, object, len(values))

    def decode(self, ids: Array) -> list[Value]:
        decoded: list[Value] = self.values[ids].tolist()
        return decoded


def _doubled(array: Array) -> Array:
    return np.concatenate([array, np.zeros_like(array)])


@dataclass(frozen=True)
class ValueColumn:
    """A column of numbers. `sign` is 1 where a smaller one is better, -1 where a larger one is.

    Such a number is no part of what a tuple is. With a sign of 0, it is a column like the others, which is also read.
    NULL is a number that is worse than all others; see `null_cost`.
    """

    position: int
    type: Type
    sign: int = 0
    nullable: bool = False

    @property
    def floating(self) -> bool:
        return self.type == types.DOUBLE

    def encode(self, values: Sequence[Value], dtype: np.dtype[Any]) -> Array:
        """Costs as the kernels have them: DECIMAL as a whole number of its smallest unit.

        Raises EvaluationError for numbers that are too large for that, or to be told from NULL.
        """
        numbers: Sequence[Any] = values
        if isinstance(self.type, DecimalType):
            scale = self.type.scale
            numbers = [int(value.scaleb(scale)) if isinstance(value, Decimal) else None for value in values]
        if self.type == types.BIGINT or isinstance(self.type, DecimalType):
            lowest, highest = self.bounds
            if not all(value is None or lowest <= value <= highest for value in numbers):
                raise EvaluationError("a cost is too large")
        if self.nullable:
            null = self.null(dtype)
            numbers = [null if value is None else value for value in numbers]
        return np.array(numbers, dtype)

    def null(self, dtype: np.dtype[Any]) -> float:
        return null_cost(dtype) if self.sign >= 0 else -null_cost(dtype)

    def decode(self, costs: Array) -> list[Value]:
        nulls = np.flatnonzero(is_null(costs)).tolist() if self.nullable else []
        if nulls:
            costs = np.where(is_null(costs), 0, costs)
        decoded: list[Value] = (costs if self.floating else costs.astype(np.int64, copy=False)).tolist()
        if isinstance(self.type, DecimalType):
            scale = -self.type.scale
            decoded = [Decimal(cost).scaleb(scale) for cost in costs.tolist()]
        for at in nulls:
            decoded[at] = None
        return decoded

    @property
    def bounds(self) -> tuple[float, float]:
        match self.type:
            case types.INT:
                return -(2**31), 2**31 - 1
            case types.BIGINT:
                # One less than it holds, on either side: NULL is beyond.
                return -(2**63 - 2), 2**63 - 2
            case DecimalType(precision=precision):
                # A longer one may still hold nothing but short numbers: sums in a recursion have the longest type.
                largest = 10 ** min(precision, 18) - 1
                return -largest, largest
        return -sys.float_info.max, sys.float_info.max


def null_cost(dtype: np.dtype[Any]) -> float:
    """What NULL is among costs, with the sign with which it is the worst of them. Both signs mean NULL."""
    return math.inf if dtype.kind == "f" else 2**63 - 1


def is_null(costs: Array) -> Array:
    null: Array = np.abs(costs) == null_cost(costs.dtype)
    return null


@dataclass(frozen=True)
class ValuePlan:
    """A value as operations in postfix. A body atom stands for the value of its tuple, None for NULL."""

    operations: tuple[tuple[int, float | None], ...]

    def steps(self, constants: list[float]) -> list[tuple[int, int]]:
        found = []
        for operation, argument in self.operations:
            if argument is None:
                found.append((operation, layout.NULL_COST))
            elif operation == layout.PUSH_CONSTANT:
                constants.append(argument)
                found.append((operation, len(constants) - 1))
            else:
                found.append((operation, int(argument)))
        return [*found, (layout.END, 0)]

    @property
    def passes_over_null(self) -> bool:
        """Whether the value may be better for a NULL in it."""
        return any(operation in (layout.LEAST, layout.GREATEST) for operation, _ in self.operations)

    def trends(self) -> dict[int, int]:
        """Whether the value grows (1) or falls (-1) with that of a body atom; 0 where that is not certain.

        Nothing is certain of what decides whether there is a value.
        """
        stack: list[dict[int, int]] = []
        deciding: dict[int, int] = {}
        for operation, argument in self.operations:
            if operation in (layout.PUSH_BEST, layout.PUSH_CONSTANT):
                stack.append({int(argument): 1} if operation == layout.PUSH_BEST and argument is not None else {})
                continue
            right, left = stack.pop(), stack.pop()
            if operation in (layout.REQUIRE_LESS, layout.REQUIRE_LESS_EQUAL):
                deciding.update(dict.fromkeys([*left, *right], 0))
                continue
            if operation == layout.MULTIPLY:
                left, right = dict.fromkeys(left, 0), dict.fromkeys(right, 0)
            elif operation == layout.SUBTRACT:
                right = {atom: -trend for atom, trend in right.items()}
            stack.append({**left, **right, **{atom: 0 for atom in left.keys() & right if left[atom] != right[atom]}})
        return {**(stack[-1] if stack else {}), **deciding}


def value_columns(component: Component, relations: Mapping[str, Relation]) -> dict[str, ValueColumn]:
    """The column of min or max, per relation that has one; there can be one only."""
    found: dict[str, ValueColumn] = {}
    for rule in component.rules:
        places = rule.aggregates
        if not places:
            continue
        name = rule.head.relation
        aggregate = rule.head.terms[places[0]]
        assert isinstance(aggregate, Aggregate)
        if len(places) > 1:
            raise NotCompiledError("a head has several aggregates")
        if len(rule.head.terms) == 1:
            raise NotCompiledError("an aggregate has no groups")
        if aggregate.function not in ("min", "max"):
            raise NotCompiledError("an aggregate other than min and max")
        column = relations[name].columns[places[0]]
        if not (column.type in (types.INT, types.BIGINT, types.DOUBLE) or isinstance(column.type, DecimalType)):
            raise NotCompiledError("min or max of a column that is no number")
        sign = 1 if aggregate.function == "min" else -1
        found[name] = ValueColumn(places[0], column.type, sign, column.nullable)
    if len({v.floating for v in found.values()}) > 1:
        raise NotCompiledError("DOUBLE and whole costs in one recursion")
    return found
