"""Terms: what stands in an atom's columns and in conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from whence.model.span import Located
from whence.model.types import Type, Value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Variable(Located):
    """A name for a value. Within a rule, the same name means the same value; NULL is the same as NULL."""

    name: str


@dataclass(frozen=True, slots=True)
class Wildcard(Located):
    """`_` in a body atom: any value, not named."""


@dataclass(frozen=True, slots=True)
class Constant(Located):
    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Call(Located):
    """A built-in or registered function of terms. Operators are functions by their sign: `+`, `<=`, `and`."""

    function: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Cast(Located):
    term: Term
    type: Type


@dataclass(frozen=True, slots=True)
class Skolem(Located):
    """`#f(x)`: a value invented for x, the same one every time; a STRING that shows its making."""

    function: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Aggregate(Located):
    """`min<c>` in a rule's head: over all derivations of the body, per value of the head's other terms.

    `argument` is None for count<*> only.
    """

    function: str
    argument: Term | None
    distinct: bool = False


Term: TypeAlias = Variable | Wildcard | Constant | Call | Cast | Skolem | Aggregate

AGGREGATES = ("count", "sum", "avg", "min", "max")


def children(term: Term) -> tuple[Term, ...]:
    if isinstance(term, Variable | Constant | Wildcard):
        return ()
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
    if isinstance(term, Variable):
        return iter((term,))
    return (t for t in walk(term) if isinstance(t, Variable))


def variable_names(terms: Iterable[Term]) -> set[str]:
    return {variable.name for term in terms for variable in variables(term)}


def fold(term: Term, combine: Callable[[Term, Sequence[T]], T]) -> T:
    """What `combine` makes of the term, given what it made of each of its children.

    By a loop, since a generated term can be deeper than Python's stack.
    """
    outside_first: list[Term] = []
    todo = [term]
    while todo:
        here = todo.pop()
        outside_first.append(here)
        todo.extend(children(here))
    done: list[T] = []
    for here in reversed(outside_first):
        first = len(done) - len(children(here))
        done[first:] = [combine(here, done[first:])]
    return done[0]
