"""Functions that say in one word what other functions and casts say in several: nvl2, decode, date_part, int(x)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from sqlglot import exp

from whence.errors import ArityError, TypeMismatchError, UnsupportedError, did_you_mean
from whence.functions.epochs import UNITS
from whence.lang.sql.literals import cast
from whence.model import types
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term
from whence.model.types import TYPES, Type

Arguments = Sequence[Term]
Shorthand = Callable[[str, Arguments, Span | None], Term]

_CASTS = {name: kind for kind in TYPES for name in kind.cast_functions}
# The fields of EXTRACT and date_part by all their names.
EXTRACTED = {
    name: function
    for function, names in {
        "year": "year years y yr yrs",
        "yearofweek": "yearofweek",
        "quarter": "quarter qtr",
        "month": "month months mon mons",
        "weekofyear": "week weeks w",
        "day": "day days d",
        "dayofweek": "dayofweek dow",
        "dayofweek_iso": "dayofweek_iso dow_iso",
        "dayofyear": "doy",
        "hour": "hour hours h hr hrs",
        "minute": "minute minutes m min mins",
        "extract_second": "second seconds s sec secs",
    }.items()
    for name in names.split()
}


def shorthand(name: str, arguments: Arguments, span: Span | None) -> Term | None:
    """The term that a call stands for, if its name is a shorthand."""
    lowered = name.lower()
    if lowered in _CASTS and len(arguments) == 1:
        return cast(arguments[0], _CASTS[lowered], span)
    found = _SHORTHANDS.get(lowered)
    if found is None:
        return None
    least, most, make = found
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise ArityError(f"{name}() takes {wanted} arguments, not {len(arguments)}", span=span)
    return make(lowered, arguments, span)


def unit_call(name: str, unit: exp.Expr, arguments: Arguments, span: Span | None) -> Term:
    """timestampadd(DAY, 3, t) and timestampdiff(DAY, t, u), by all their names."""
    word = unit.name.lower()
    if isinstance(unit, exp.Literal):
        raise TypeMismatchError(f"{name}() takes the name of a unit, and no text", span=span, hint=f"write {unit.name}")
    if word not in UNITS:
        raise UnsupportedError(f"{name}() knows no unit {unit.name}", span=span, hint=did_you_mean(word, UNITS))
    function = "timestampdiff" if "diff" in name.lower() else "timestampadd"
    return Call(function, (Constant(word, types.STRING), *arguments), span=span)


def part_of_time(field: str, moment: Term, span: Span | None) -> Term:
    name = EXTRACTED.get(field.lower())
    if name is None:
        raise UnsupportedError(
            f"EXTRACT({field} ...) is not supported", span=span, hint="use YEAR, MONTH, DAY, HOUR, ..."
        )
    return Call(name, (moment,), span=span)


def _date_part(name: str, arguments: Arguments, span: Span | None) -> Term:
    field, moment = arguments
    if not isinstance(field, Constant) or not isinstance(field.value, str):
        raise TypeMismatchError(f"{name}() takes the name of a field as a constant", span=field.span or span)
    return part_of_time(field.value, moment, span)


def _decode(_: str, arguments: Arguments, span: Span | None) -> Term:
    """decode(x, a, b, c, d, e): b where x is a, d where it is c, else e. A NULL is found, too.

    decode(x, charset) reads bytes as a text.
    """
    value, *rest = arguments
    if len(rest) < 2:
        return Call("decode_bytes", tuple(arguments), span=span)
    result: Term = rest.pop() if len(rest) % 2 else Constant(None, types.NULL, span=span)
    for wanted, then in reversed(list(zip(rest[::2], rest[1::2], strict=True))):
        result = Call("if", (Call("<=>", (value, wanted), span=span), then, result), span=span)
    return result


def _nvl2(_: str, arguments: Arguments, span: Span | None) -> Term:
    value, there, otherwise = arguments
    return Call("if", (Call("isnotnull", (value,), span=span), there, otherwise), span=span)


def _null_if_zero(_: str, arguments: Arguments, span: Span | None) -> Term:
    return Call("nullif", (arguments[0], Constant(0, types.INT)), span=span)


def _zero_if_null(_: str, arguments: Arguments, span: Span | None) -> Term:
    return Call("coalesce", (arguments[0], Constant(0, types.INT)), span=span)


def _same(_: str, arguments: Arguments, span: Span | None) -> Term:
    return Call("<=>", tuple(arguments), span=span)


def _trim(_: str, arguments: Arguments, span: Span | None) -> Term:
    """btrim(text, characters): the other way round than trim()."""
    return Call("trim", tuple(reversed(arguments)), span=span)


def _reading(kind: Type, parse: str) -> Shorthand:
    def make(name: str, arguments: Arguments, span: Span | None) -> Term:
        if isinstance(arguments[0], Constant) and isinstance(arguments[0].value, int | float | Decimal):
            raise TypeMismatchError(f"{name}() reads a text, not a number", span=span, hint=f"CAST(... AS {kind})")
        if name.startswith("try_"):
            wanted = Constant(None, kind)
            tried = ("try_cast", (arguments[0], wanted)) if len(arguments) == 1 else (f"try_{parse}", tuple(arguments))
            return Call(*tried, span=span)
        return cast(arguments[0], kind, span) if len(arguments) == 1 else Call(parse, tuple(arguments), span=span)

    return make


_MANY = 1000
_SHORTHANDS: dict[str, tuple[int, int, Shorthand]] = {
    "date_part": (2, 2, _date_part),
    "datepart": (2, 2, _date_part),
    "decode": (2, _MANY, _decode),
    "nvl2": (3, 3, _nvl2),
    "nullifzero": (1, 1, _null_if_zero),
    "zeroifnull": (1, 1, _zero_if_null),
    "equal_null": (2, 2, _same),
    "btrim": (1, 2, _trim),
    "to_date": (1, 2, _reading(types.DATE, "parse_date")),
    "try_to_date": (1, 2, _reading(types.DATE, "parse_date")),
    "to_timestamp": (1, 2, _reading(types.TIMESTAMP, "parse_timestamp")),
    "to_timestamp_ntz": (1, 2, _reading(types.TIMESTAMP, "parse_timestamp")),
    "try_to_timestamp": (1, 2, _reading(types.TIMESTAMP, "parse_timestamp")),
}
