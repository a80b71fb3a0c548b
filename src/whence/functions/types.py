"""The types of terms: which calls are legal, what they give, and whether that can be NULL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whence.errors import TypeMismatchError, UnknownNameError, UnsafeRuleError, UnsupportedError, did_you_mean
from whence.functions.aggregates import aggregate_type
from whence.functions.builtin import BUILTINS
from whence.functions.conditional import CASE
from whence.functions.lambdas import LAMBDA
from whence.functions.resolve import Resolved, title
from whence.functions.widening import common_type, fits
from whence.functions.windows import window_type
from whence.model.program import Signature
from whence.model.terms import (
    Aggregate,
    Call,
    Cast,
    Constant,
    Lambda,
    Skolem,
    Term,
    Unnest,
    Variable,
    Wildcard,
    Window,
    children,
)
from whence.model.types import INT, STRING, ArrayType, Type
from whence.model.types.base import castable

__all__ = ["Typed", "TypedTerm", "aggregate_type", "annotate", "common_type", "fits", "infer"]

# Terms are evaluated by functions that call each other; this keeps them well within Python's stack.
DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Typed:
    type: Type
    nullable: bool


@dataclass(frozen=True, slots=True)
class TypedTerm:
    """A term with its type, its arguments likewise, and for a built-in function what the call resolved to."""

    term: Term
    typed: Typed
    arguments: tuple[TypedTerm, ...] = ()
    resolved: Resolved | None = None
    depth: int = 1


def infer(term: Term, types: Mapping[str, Typed], signatures: Mapping[str, Signature]) -> Typed:
    """The type of `term`, whose variables have `types`.

    Raises UnknownNameError, ArityError or TypeMismatchError, placed at the part of the term that is wrong.
    """
    match term:
        case Variable(name=name) if name in types:
            return types[name]
        case Constant(type=kind, value=value):
            return Typed(kind, value is None)
    return annotate(term, types, signatures).typed


def annotate(term: Term, types: Mapping[str, Typed], signatures: Mapping[str, Signature]) -> TypedTerm:
    """The term with the types of all its parts. Chains of `and`, `or` and `if` are merged to one call each."""
    done: list[TypedTerm] = []
    for part in _bottom_up(term):
        first = len(done) - len(children(part))
        arguments = tuple(done[first:])
        del done[first:]
        if isinstance(part, Aggregate) and part is not term:
            raise UnsupportedError(
                f"{part.function} stands inside another term",
                span=part.span,
                hint="give the aggregate a column of its own, and compute with it in a second rule",
            )
        done.append(_annotated(part, arguments, types, signatures))
    return done[0]


def _bottom_up(term: Term) -> Iterator[Term]:
    """The parts of a term, arguments from left to right and each before what it is an argument of."""
    outside_first: list[Term] = []
    todo = [term]
    while todo:
        part = _merged(todo.pop())
        outside_first.append(part)
        todo.extend(children(part))
    return reversed(outside_first)


def _merged(term: Term) -> Term:
    match term:
        case Call(function="and" | "or"):
            return Call(term.function, tuple(_chain(term)), span=term.span)
        case Call(function="if", arguments=(_, _, Call(function="if", arguments=(_, _, _)))):
            branches: list[Term] = []
            otherwise: Term = term
            while isinstance(otherwise, Call) and otherwise.function == "if" and len(otherwise.arguments) == 3:
                *branch, otherwise = otherwise.arguments
                branches.extend(branch)
            return Call(CASE, (*branches, otherwise), span=term.span)
    return term


def _chain(call: Call) -> Iterator[Term]:
    """The arguments of `a and b and c`, however it is nested."""
    todo = list(reversed(call.arguments))
    while todo:
        argument = todo.pop()
        if isinstance(argument, Call) and argument.function == call.function and len(argument.arguments) > 1:
            todo.extend(reversed(argument.arguments))
        else:
            yield argument


def _annotated(
    term: Term, arguments: tuple[TypedTerm, ...], types: Mapping[str, Typed], signatures: Mapping[str, Signature]
) -> TypedTerm:
    depth = 1 + max((argument.depth for argument in arguments), default=0)
    if depth > DEEPEST:
        raise UnsupportedError(f"this is nested more than {DEEPEST} calls deep", span=term.span)
    given = [argument.typed for argument in arguments]
    resolved = None
    if isinstance(term, Call) and term.function in BUILTINS:
        builtin = BUILTINS[term.function]
        resolved = builtin.resolve(term, tuple(each.type for each in given))
        typed = Typed(resolved.result, builtin.nullable([each.nullable for each in given]))
    else:
        typed = _typed(term, given, types, signatures)
    return TypedTerm(term, typed, arguments, resolved, depth)


def _typed(term: Term, given: list[Typed], types: Mapping[str, Typed], signatures: Mapping[str, Signature]) -> Typed:
    """The type of anything but a call of a built-in function, from the types of its arguments."""
    match term:
        case Variable():
            return _variable(term, types)
        case Constant():
            return Typed(term.type, term.value is None)
        case Cast():
            return _cast(term, given[0])
        case Skolem():
            return Typed(STRING, False)
        case Lambda():
            return Typed(LAMBDA, False)
        case Aggregate():
            argument = given[0].type if given else None
            return Typed(aggregate_type(term.function, argument, term.span), term.function != "count")
        case Unnest():
            return _unnested(term, given[0])
        case Window():
            return Typed(*window_type(term, [(each.type, each.nullable) for each in given[: len(term.arguments)]]))
        case Call():
            return _registered(term, signatures)
        case Wildcard():
            raise UnsafeRuleError("_ has no value here", span=term.span, hint="give it a name")


def _unnested(term: Unnest, array: Typed) -> Typed:
    if not isinstance(array.type, ArrayType):
        raise TypeMismatchError(f"explode takes an array, not {array.type}", span=term.span)
    return Typed(INT, term.outer) if term.part == "position" else Typed(array.type.element, True)


def _variable(term: Variable, types: Mapping[str, Typed]) -> Typed:
    if term.name in types:
        return types[term.name]
    raise UnknownNameError(f"there is no {term.name} here", span=term.span, hint=did_you_mean(term.name, types))


def _cast(term: Cast, given: Typed) -> Typed:
    if castable(given.type, term.type):
        return Typed(term.type, given.nullable)
    raise TypeMismatchError(f"there is no CAST from {given.type} to {term.type}", span=term.span or term.term.span)


def _registered(term: Call, signatures: Mapping[str, Signature]) -> Typed:
    if term.function in signatures:
        return Typed(signatures[term.function].returns, True)
    raise UnknownNameError(
        f"there is no function {title(term.function)}",
        span=term.span,
        hint=did_you_mean(term.function, (*BUILTINS, *signatures)),
    )
