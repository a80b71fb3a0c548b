"""Single calls without ceremony, so that a test reads: function, arguments with their types, result."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whence.functions.evaluate import compile_term
from whence.functions.types import Typed, infer
from whence.model.terms import Call, Term, Variable
from whence.model.types import Type, Value


@pytest.fixture(scope="session")
def value() -> Callable[..., Value]:
    """value("+", (1, INT), term): a pair arrives in a nullable variable, a term as it is."""

    def compute(function: str, *arguments: tuple[Value, Type] | Term) -> Value:
        given = {f"x{i}": argument for i, argument in enumerate(arguments) if isinstance(argument, tuple)}
        terms = tuple(Variable(f"x{i}") if isinstance(a, tuple) else a for i, a in enumerate(arguments))
        types = {name: Typed(kind, True) for name, (_, kind) in given.items()}
        return compile_term(Call(function, terms), types, {}, {})({name: each for name, (each, _) in given.items()})

    return compute


@pytest.fixture(scope="session")
def typed() -> Callable[..., Typed]:
    """typed("+", INT, term): a type stands for a variable of it, nullable unless told otherwise."""

    def resolve(function: str, *arguments: Type | Term, nullable: bool = True) -> Typed:
        types = {f"x{i}": Typed(kind, nullable) for i, kind in enumerate(arguments) if isinstance(kind, Type)}
        terms = tuple(Variable(f"x{i}") if isinstance(a, Type) else a for i, a in enumerate(arguments))
        return infer(Call(function, terms), types, {})

    return resolve


@pytest.fixture(scope="session")
def type_of(typed: Callable[..., Typed]) -> Callable[..., str]:
    """type_of("+", INT, INT) == "INT"."""
    return lambda function, *arguments: typed(function, *arguments).type.name
