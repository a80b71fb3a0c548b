"""Python functions that a user registers for SQL and rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from whence.engines.engine import Function
from whence.errors import DuplicateNameError, StateError, TypeMismatchError
from whence.functions.builtin import BUILTINS
from whence.lang.sql.types import to_type
from whence.model.program import Signature
from whence.model.terms import AGGREGATES
from whence.model.types import Type
from whence.session.definitions import Definitions
from whence.session.waiting import is_missing


def with_function(
    definitions: Definitions, name: object, function: Callable[..., object], returns: str | Type
) -> Definitions:
    """The definitions with one more function, or with another one under a name that no view calls."""
    if not isinstance(name, str) or not name.isidentifier():
        raise TypeMismatchError(f"the name of a function is a word, not {name!r}")
    if not callable(function):
        raise TypeMismatchError(f"{name!r} needs something that can be called, not a {type(function).__name__}")
    folded = name.lower()
    if folded in BUILTINS or folded in AGGREGATES:
        raise DuplicateNameError(f"{name!r} is a built-in function", hint="give yours another name")
    signature = Signature(folded, parse_type(returns))
    callers = definitions.calling(folded)
    if callers and is_missing(definitions.functions[folded]):
        _check_return(definitions.functions[folded].signature, signature, callers)
    elif callers:
        raise StateError(
            f"function {name!r} is in use by {', '.join(map(repr, callers))}",
            hint="drop what uses it first, or give the new function another name",
        )
    return replace(definitions, functions={**definitions.functions, folded: Function(signature, function)})


def _check_return(known: Signature, given: Signature, callers: list[str]) -> None:
    """A function comes back to views that were made for what it returns."""
    if given != known:
        raise StateError(
            f"function {known.name!r} returns {known.returns} where {', '.join(map(repr, callers))} call it, "
            f"and not {given.returns}",
            hint=f"register it with returns={known.returns.name!r}, or drop those views first",
        )


def parse_type(written: str | Type) -> Type:
    """A type by its Spark name."""
    if isinstance(written, Type):
        return written
    if not isinstance(written, str):
        raise TypeMismatchError(f"a type is written like 'BIGINT' or 'ARRAY<STRING>', not {written!r}")
    try:
        return to_type(sqlglot.parse_one(written, read="spark", into=exp.DataType), None)
    except SqlglotError:
        raise TypeMismatchError(f"{written!r} is not a type", hint="write for example 'BIGINT'") from None
