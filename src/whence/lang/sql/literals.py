"""SQL type names to types, and the numbers and durations in table properties."""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from whence.errors import EvaluationError, ParseError, TypeMismatchError, UnsupportedError
from whence.functions.evaluate import convert
from whence.functions.structs import check_field_names
from whence.functions.widening import is_integer
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.intervals import interval_type
from whence.model import types
from whence.model.schema import duration
from whence.model.span import Span
from whence.model.terms import Cast, Constant, Term
from whence.model.types import TYPES, ArrayType, DecimalType, IntegerType, MapType, StructType, Type
from whence.model.types.base import castable
from whence.model.types.decimals import CONTEXT, MAX_PRECISION, smallest_decimal

_SIMPLE = {exp.DataType.Type[name]: kind for kind in TYPES for name in kind.sqlglot}
_OF_OTHERS = "ARRAY<type>, MAP<key, value> and STRUCT<name: type>"
_INSTEAD = {name: kind.name for kind in TYPES for name in kind.stands_for}
_REFUSED = {
    exp.DataType.Type[key]: (name, kind.refusal)
    for kind in TYPES
    if kind.refusal is not None
    for key, name in kind.refusal.names.items()
}
# Suffixes of literals.
_SUFFIXES = {kind.suffix: kind for kind in TYPES if isinstance(kind, IntegerType)}


def to_type(kind: exp.DataType, span: Span | None, *, is_column: bool = False) -> Type:
    """The model's type for a type in the text. Of a column of a table, VARCHAR(n) is a STRING with a constraint."""
    if isinstance(kind.this, exp.DataType.Type) and kind.this in _SIMPLE:
        if kind.expressions:
            raise UnsupportedError(f"the type {_SIMPLE[kind.this]} takes no number in parentheses", span=span)
        return _SIMPLE[kind.this]
    if isinstance(kind.this, exp.Interval):
        return interval_type(kind.this, span)
    if kind.this is exp.DataType.Type.VARCHAR and (not kind.expressions or is_column):
        return types.STRING
    if kind.this is exp.DataType.Type.DECIMAL:
        if not all(isinstance(p.this, exp.Literal) and p.this.is_int for p in kind.expressions):
            raise TypeMismatchError("DECIMAL takes whole numbers", span=span, hint="write for example DECIMAL(10,2)")
        numbers = [int(p.this.this) for p in kind.expressions]
        precision, scale = (*numbers, 10, 0)[:2] if len(numbers) != 1 else (numbers[0], 0)
        if not 0 < precision <= MAX_PRECISION or not 0 <= scale <= precision:
            raise TypeMismatchError(
                f"DECIMAL({precision},{scale}) is not a type",
                span=span,
                hint=f"it has 1 to {MAX_PRECISION} digits, and at most as many of them after the point",
            )
        return DecimalType(precision, scale)
    if kind.this is exp.DataType.Type.ARRAY and len(kind.expressions) == 1:
        return ArrayType(to_type(kind.expressions[0], span))
    if kind.this is exp.DataType.Type.MAP and len(kind.expressions) == 2:
        key, value = (to_type(each, span) for each in kind.expressions)
        if not key.is_comparable:
            raise TypeMismatchError(f"{key} cannot be the key of a map: it has a map in it", span=span)
        return MapType(key, value)
    if kind.this is exp.DataType.Type.STRUCT and kind.expressions:
        return _struct(kind, span)
    refuse_zone(kind, span)
    name = kind.sql(DIALECT).upper()
    instead = _INSTEAD.get(name.partition("(")[0])
    raise UnsupportedError(
        f"the type {name} is not supported",
        span=span,
        hint=f"use {instead}"
        if instead
        else f"types are {', '.join(map(str, TYPES))}, DECIMAL(p,s), INTERVAL, {_OF_OTHERS}",
    )


def _struct(kind: exp.DataType, span: Span | None) -> StructType:
    fields: list[tuple[str, Type]] = []
    for field in kind.expressions:
        if not isinstance(field, exp.ColumnDef) or field.kind is None:
            raise ParseError("a field of a STRUCT is a name and a type", span=span, hint="like STRUCT<a: INT>")
        if field.args.get("constraints"):
            raise UnsupportedError(
                f"the field {field.name!r} has more than a name and a type", span=span, hint="every field may be NULL"
            )
        fields.append((field.name, to_type(field.kind, span)))
    check_field_names([name for name, _ in fields], span)
    return StructType(fields)


def refuse_zone(kind: exp.DataType, span: Span | None) -> None:
    """Raises for a type whose values are moments and not what a clock shows."""
    if isinstance(kind.this, exp.DataType.Type) and kind.this in _REFUSED:
        name, refusal = _REFUSED[kind.this]
        raise UnsupportedError(f"the type {name} is not supported: {refusal.reason}", span=span, hint=refusal.hint)


def to_microseconds(text: str, span: Span | None) -> int:
    """`10 minutes`, `1 hour 30 minutes`, `500 milliseconds`."""
    microseconds = duration(text)
    if not microseconds:
        raise TypeMismatchError(
            f"{text!r} is not a length of time",
            span=span,
            hint="write for example '90 seconds', '10 minutes' or '7 days'",
        )
    return microseconds


def to_number_of_rows(text: str, span: Span | None) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", text):
        raise TypeMismatchError(f"{text!r} is not a number of rows", span=span, hint="write for example '100'")
    return int(text)


def to_constant(literal: exp.Literal, span: Span | None, *, negative: bool = False) -> Constant:
    """A number or a text. Numbers have Spark's types: 1 INT, 10000000000 BIGINT, 1.5 DECIMAL(2,1), 1e3 DOUBLE, and
    by what they end with: 1L BIGINT, 1D DOUBLE, 1BD DECIMAL(1,0).
    """
    text = str(literal.this)
    if literal.is_string:
        return Constant(text, types.STRING, span=span)
    number = re.sub(r"[a-zA-Z]+$", "", text)
    suffix = text[len(number) :].upper()
    if negative:
        number = f"-{number}"
    if suffix in _SUFFIXES and (suffix or number.removeprefix("-").isdecimal()):
        if not suffix and int(number) not in types.BIGINT.limits:
            return decimal(Decimal(number), span)
        return integer(int(number), span, _SUFFIXES[suffix])
    if suffix == "BD":
        return decimal(Decimal(number), span)
    if suffix == "F":
        value = types.REAL.from_literal(number)
        if value is None:
            raise TypeMismatchError(f"{number} is too large for a FLOAT", span=span)
        return Constant(value, types.REAL, span=span)
    if suffix == "D" or "e" in number.lower():
        value = float(number)
        if value in (float("inf"), float("-inf")):
            raise TypeMismatchError(f"{number} is too large for a DOUBLE", span=span)
        return Constant(value + 0.0, types.DOUBLE, span=span)
    return decimal(Decimal(number), span)


def integer(value: int, span: Span | None, kind: IntegerType = types.INT) -> Constant:
    """The number as one of `kind`. What is too large for an INT without a suffix is a BIGINT."""
    if value in kind.limits:
        return Constant(value, kind, span=span)
    if kind == types.INT:
        return integer(value, span, types.BIGINT)
    raise TypeMismatchError(
        f"{value} is too large for a {kind}", span=span, hint="write it as a DECIMAL: CAST('...' AS DECIMAL(38,0))"
    )


def decimal(value: Decimal, span: Span | None) -> Constant:
    kind = smallest_decimal(value)
    if kind.precision > MAX_PRECISION:
        raise TypeMismatchError(f"{value} has more than {MAX_PRECISION} digits", span=span)
    return Constant(value.quantize(Decimal(1).scaleb(-kind.scale), context=CONTEXT), kind, span=span)


def cast(term: Term, target: Type, span: Span | None) -> Term:
    """The term as another type; a constant is converted at once."""
    if not isinstance(term, Constant):
        return Cast(term, target, span=span)
    if term.value is None and castable(term.type, target):
        return Constant(None, target, span=span)
    try:
        return Constant(convert(term.value, term.type, target, span), target, span=span)
    except EvaluationError as error:
        raise TypeMismatchError(error.message, span=span, hint=error.hint) from None


def not_literal(term: Term) -> Term:
    """An operand that was not written as a number: with a DECIMAL, Spark takes a literal's own digits for its width,
    and anything else by its type.
    """
    if isinstance(term, Constant) and is_integer(term.type):
        return Cast(term, term.type, span=term.span)
    return term
