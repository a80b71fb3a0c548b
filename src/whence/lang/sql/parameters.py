"""Parameters: values that a program gives for `?` and `:name`. They come into the tree as literals of their types.

No text is made of them that would be read again, so that a value is never taken for SQL.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from sqlglot import exp

from whence.errors import DataError, TypeMismatchError, UnknownNameError, UnsupportedError, did_you_mean, shown
from whence.lang.sql.grammar import DIALECT, place_of_parameter
from whence.lang.sql.positions import span_of
from whence.model.span import SourceText
from whence.model.types import STRING, TIMESTAMP, Type
from whence.model.types.base import MisfitError
from whence.model.types.decimals import MAX_PRECISION, smallest_decimal

Parameters: TypeAlias = "Sequence[object] | Mapping[str, object]"

_TYPES = "a parameter is None, a bool, int, float, Decimal, str, date or datetime"


class Binding:
    """The values for all statements of a text. `?` takes one after the other, in the order of the text."""

    def __init__(self, given: object) -> None:
        self._names: dict[str, object] = {}
        self._values: list[object] | None = None
        self._used = 0
        if isinstance(given, Mapping):
            self._names = {str(name): value for name, value in given.items()}
        elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
            self._values = list(given)
        elif given is not None:
            raise TypeMismatchError(
                f"parameters are a list or a dict, not {shown(given)}",
                hint='write [1, "a"] for ? and ?, or {"name": 1} for :name',
            )
        self._unused = dict.fromkeys(self._names)

    def put_into(self, statement: exp.Expr, source: SourceText) -> None:
        """Literals take the places of the parameters of a statement."""
        # A tree is not in the order of the text everywhere.
        places = sorted(statement.find_all(exp.Placeholder), key=place_of_parameter)
        if places and isinstance(statement, exp.Create):
            raise UnsupportedError(
                "a definition takes no parameters", span=span_of(places[0], source), hint="write the value itself"
            )
        for node in places:
            try:
                made = _literal(self._value(node, source))
            except MisfitError as problem:
                name = "?" if node.this is None else f":{node.this}"
                span = span_of(node, source)
                raise DataError(f"the parameter {name} {problem.reason}", span=span, hint=problem.hint) from None
            for part in made.walk():
                part.meta.update(node.meta)
            node.replace(made)

    def check_used(self) -> None:
        """Raises for values that no statement has a place for."""
        if self._values is not None and self._used < len(self._values):
            raise DataError(f"there {_counted(len(self._values))}, and the text has {self._used or 'no'} ?")
        if self._unused:
            name = next(iter(self._unused))
            raise UnknownNameError(f"the text has no parameter :{name}")

    def _value(self, node: exp.Placeholder, source: SourceText) -> object:
        span = span_of(node, source)
        if node.this is None:
            if self._values is None:
                raise DataError("the parameter ? has no value", span=span, hint="give a list of values: [1, ...]")
            self._used += 1
            if self._used > len(self._values):
                raise DataError(
                    f"this is parameter number {self._used}, and there {_counted(len(self._values))}", span=span
                )
            return self._values[self._used - 1]
        name = str(node.this)
        if name not in self._names:
            raise UnknownNameError(
                f"the parameter :{name} has no value",
                span=span,
                hint=did_you_mean(name, self._names) or f'give a dict of values: {{"{name}": ...}}',
            )
        self._unused.pop(name, None)
        return self._names[name]


def _counted(number: int) -> str:
    return "is 1 value" if number == 1 else f"are {number} values"


def _literal(value: object) -> exp.Expr:
    """A value as the parser would have read it, with the type that Spark gives to it. Raises MisfitError."""
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            if not -(2**63) <= value < 2**63:
                raise MisfitError(f"is {shown(value)}, which is too large for a BIGINT", "give it as a Decimal")
            return _number(str(abs(value)), is_negative=value < 0)
        case float():
            if not math.isfinite(value):
                raise MisfitError(f"is {value!r}, and a DOUBLE is a finite number")
            # With an exponent it is a DOUBLE, and seventeen digits tell it exactly.
            return _number(f"{abs(value):.16e}", is_negative=value < 0)
        case Decimal():
            return _decimal(value)
        case str():
            return exp.Literal.string(_accepted(STRING, value))
        case datetime.datetime():
            return _cast(str(_accepted(TIMESTAMP, value)), "TIMESTAMP")
        case datetime.date():
            return _cast(value.isoformat(), "DATE")
    several = "write one for each value: array(?, ?), IN (?, ?)"
    raise MisfitError(
        f"is a {type(value).__name__}, which is no value of SQL here",
        several if isinstance(value, list | tuple | set) else _TYPES,
    )


def _accepted(kind: Type, value: object) -> Any:
    try:
        return kind.accept(value)
    except MisfitError as problem:
        raise MisfitError(f"is {shown(value)}, which does not fit: {problem.reason}", problem.hint) from None


def _decimal(value: Decimal) -> exp.Expr:
    if not value.is_finite():
        raise MisfitError(f"is {value}, and a DECIMAL is a finite number")
    kind = smallest_decimal(value)
    if kind.precision > MAX_PRECISION:
        raise MisfitError(f"has more than the {MAX_PRECISION} digits of a DECIMAL")
    digits = _number(f"{abs(value):f}", is_negative=value < 0)
    return exp.Cast(this=digits, to=exp.DataType.build(str(kind), DIALECT))


def _number(digits: str, *, is_negative: bool) -> exp.Expr:
    literal = exp.Literal.number(digits)
    return exp.Paren(this=exp.Neg(this=literal)) if is_negative else literal


def _cast(text: str, kind: str) -> exp.Cast:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind, DIALECT))
