"""Terms: what stands in an atom's columns and in conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class SortKey:
    """What rows are put in order by. NULL comes first, or last."""

    term: Term
    descending: bool = False
    nulls_last: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """From `start` to `end`, both included, seen from a row: so many rows, or so much in the value of the sort key.

    Negative numbers are before the row, None is where the partition begins or ends. In a frame by "range", 0 means the
    row and all that the order does not tell from it.
    """

    unit: str
    start: Constant | None = None
    end: Constant | None = None


@dataclass(frozen=True, slots=True)
class Window(Located):
    """`over {g; x desc} row_number()` in a rule's head: for each row a value from the rows of its partition in order.

    Arguments, partition and sort keys are variables of the rule, arguments also constants. Rows that the sort keys do
    not tell apart are in the order of their columns, from left to right. Where `within` is given, which one window of a
    rule may have, rows whose number (row_number, rank or dense_rank) is not among these are left out; the function
    `within` is TRUE for the rows of these numbers by row_number.
    """

    function: str
    arguments: tuple[Term, ...] = ()
    partition: tuple[Term, ...] = ()
    order: tuple[SortKey, ...] = ()
    frame: Frame | None = None
    within: tuple[int, int | None] | None = None

    @property
    def order_terms(self) -> tuple[Term, ...]:
        return tuple(key.term for key in self.order)


@dataclass(frozen=True, slots=True)
class Unnest(Located):
    """`each element(a)` in a rule's head: a row for each element of an array; its `position` counts from 0.

    With `outer`, an array that is empty or NULL has one row, in which both are NULL.
    """

    part: str
    argument: Term
    outer: bool = False


@dataclass(frozen=True, slots=True)
class Lambda(Located):
    """`x -> x + y` as an argument of a call. Its body has no variables but `parameters` and `captured`; the values of
    those are the last arguments of the call, so that it is a term without children: see lambdas.py.

    In a rule parameters go by their places, and `names` says how they are written.
    """

    parameters: tuple[str, ...]
    captured: tuple[str, ...]
    body: Term
    names: tuple[str, ...] = field(default=(), compare=False)


Term: TypeAlias = Variable | Wildcard | Constant | Call | Cast | Skolem | Aggregate | Window | Unnest | Lambda

AGGREGATES = ("count", "sum", "avg", "min", "max", "collect_list")


def children(term: Term) -> tuple[Term, ...]:
    if isinstance(term, Variable | Constant | Wildcard | Lambda):
        return ()
    match term:
        case Call() | Skolem():
            return term.arguments
        case Cast():
            return (term.term,)
        case Aggregate(argument=argument) if argument is not None:
            return (argument,)
        case Unnest():
            return (term.argument,)
        case Window():
            return (*term.arguments, *term.partition, *term.order_terms)
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
