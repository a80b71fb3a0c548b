"""Soufflé's own functions, in terms of whence's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from whence.errors import ArityError, UnsupportedError
from whence.model.span import Span
from whence.model.terms import Call, Cast, Constant, Term
from whence.model.types import BIGINT, DOUBLE, INT, STRING, Type

Arguments: TypeAlias = tuple[Term, ...]
Meaning: TypeAlias = Callable[[Arguments, Span], Term]


def _renamed(function: str) -> Meaning:
    return lambda arguments, span: Call(function, arguments, span=span)


def _cast(target: Type) -> Meaning:
    return lambda arguments, span: Cast(arguments[0], target, span=span)


def _substr(arguments: Arguments, span: Span) -> Term:
    """Soufflé counts characters from 0, Spark from 1."""
    text, start, length = arguments
    match start:
        case Constant(value=int(value), type=Type(name="INT")) if value < 2**31 - 1:
            position: Term = Constant(value + 1, INT, span=start.span)
        case _:
            position = Call("+", (start, Constant(1, INT, span=start.span)), span=start.span)
    return Call("substring", (text, position, length), span=span)


def _contains(arguments: Arguments, span: Span) -> Term:
    needle, text = arguments
    return Call("contains", (text, needle), span=span)


def _match(arguments: Arguments, span: Span) -> Term:
    """Soufflé matches the whole text, Spark any part of it."""
    pattern, text = arguments
    match pattern:
        case Constant(value=str(value)):
            whole: Term = Constant(f"^(?:{value})$", STRING, span=pattern.span)
        case _:
            opening, closing = (Constant(each, STRING, span=pattern.span) for each in ("^(?:", ")$"))
            whole = Call("concat", (opening, pattern, closing), span=pattern.span)
    return Call("rlike", (text, whole), span=span)


# Name, number of arguments (None for any), meaning.
INTRINSICS: dict[str, tuple[int | None, Meaning]] = {
    "cat": (None, _renamed("concat")),
    "strlen": (1, _renamed("length")),
    "substr": (3, _substr),
    "min": (None, _renamed("least")),
    "max": (None, _renamed("greatest")),
    "to_string": (1, _cast(STRING)),
    "to_number": (1, _cast(BIGINT)),
    "to_unsigned": (1, _cast(BIGINT)),
    "to_float": (1, _cast(DOUBLE)),
    "contains": (2, _contains),
    "match": (2, _match),
}

REFUSED = {
    "ord": "its number depends on the order in which values were first seen",
    "range": "it yields several values; write a relation that holds them",
    "autoinc": "its number depends on the order of evaluation; #f(x) makes a value for x that stays the same",
}


def intrinsic(name: str, arguments: Arguments, span: Span) -> Term | None:
    """What a call means, or None where the name is none of Soufflé's."""
    if name in REFUSED:
        raise UnsupportedError(f"whence does not have Soufflé's {name}()", span=span, hint=REFUSED[name])
    if name not in INTRINSICS:
        return None
    count, meaning = INTRINSICS[name]
    if count is not None and len(arguments) != count:
        plural = "argument" if count == 1 else "arguments"
        raise ArityError(f"{name} takes {count} {plural}, not {len(arguments)}", span=span)
    return meaning(arguments, span)
