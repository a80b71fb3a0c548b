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
    callers = definitions.calling(folded)
    if callers:
        raise StateError(
            f"function {name!r} is in use by {', '.join(map(repr, callers))}",
            hint="drop what uses it first, or give the new function another name",
        )
    registered = Function(Signature(folded, parse_type(returns)), function)
    return replace(definitions, functions={**definitions.functions, folded: registered})


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
