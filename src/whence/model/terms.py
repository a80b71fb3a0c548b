"""Terms: what stands in an atom's columns and in conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from whence.model.span import Span
from whence.model.types import Type, Value


@dataclass(frozen=True, slots=True)
class Variable:
    """A name for a value. Within a rule, the same name means the same value; NULL is the same as NULL."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_` in a body atom: any value, not named."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Constant:
    value: Value
    type: Type
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in or registered function of terms. Operators are functions by their sign: `+`, `<=`, `and`."""

    function: str
    arguments: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Cast:
    term: Term
    type: Type
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Skolem:
    """`#f(x)`: a value invented for x, the same one every time; a STRING that shows its making."""

    function: str
    arguments: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`min<c>` in a rule's head: over all ways to satisfy the body, per value of the head's other terms.

    `argument` is None for count<*> only.
    """

    function: str
    argument: Term | None
    distinct: bool = False
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Term: TypeAlias = Variable | Wildcard | Constant | Call | Cast | Skolem | Aggregate

AGGREGATES = ("count", "sum", "avg", "min", "max")


def children(term: Term) -> tuple[Term, ...]:
    match term:
        case Call() | Skolem():
            return term.arguments
        case Cast():
            return (term.term,)
        case Aggregate(argument=argument) if argument is not None:
            return (argument,)
    return ()


def walk(term: Term) -> Iterator[Term]:
    """The term and everything inside it, outside first."""
    todo = [term]
    while todo:
        here = todo.pop()
        yield here
        todo.extend(reversed(children(here)))


def variables(term: Term) -> Iterator[Variable]:
    return (t for t in walk(term) if isinstance(t, Variable))
