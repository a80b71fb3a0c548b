"""Lambdas as arguments of calls: closed, with the values that they take along as further arguments of the call.

    transform(a, x -> x + y)  is  transform(a, Lambda(x, $0: x + $0), y)

So a Lambda has no variables of the rule in it, and whoever walks, renames or replaces terms meets only what it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from whence.model.span import Span
from whence.model.terms import Call, Cast, Lambda, Skolem, Term, Variable, variable_names, variables

# Before the name of a parameter in SQL, which is then no name of a column, and before its place once it is closed.
MARK = "\\"


def closed(function: str, arguments: Sequence[Term], span: Span | None) -> Call:
    """The call of a function whose lambdas, after all other arguments, still use variables from outside."""
    lambdas = [each for each in arguments if isinstance(each, Lambda)]
    if not lambdas:
        return Call(function, tuple(arguments), span=span)
    outside = dict.fromkeys(
        variable.name for each in lambdas for variable in variables(each.body) if variable.name not in each.parameters
    )
    captured: dict[str, Term] = {name: Variable(f"${place}") for place, name in enumerate(outside)}
    plain = [each for each in arguments if not isinstance(each, Lambda)]
    return Call(function, (*plain, *(_closed(each, captured) for each in lambdas), *map(Variable, outside)), span=span)


def _closed(term: Lambda, captured: Mapping[str, Term]) -> Lambda:
    places = {name: f"{MARK}{place}" for place, name in enumerate(term.parameters)}
    binding = {**captured, **{name: Variable(place) for name, place in places.items()}}
    names = term.names or tuple(name.removeprefix(MARK) for name in term.parameters)
    taken = tuple(f"${place}" for place in range(len(captured)))
    return Lambda(tuple(places.values()), taken, renamed(term.body, binding), names, span=term.span)


def opened(call: Call) -> tuple[Term, ...]:
    """The arguments as they are written: lambdas that use what they take along by its own name."""
    lambdas = [each for each in call.arguments if isinstance(each, Lambda)]
    if not lambdas:
        return call.arguments
    arguments = call.arguments[: len(call.arguments) - len(lambdas[0].captured)]
    outside = call.arguments[len(arguments) :]
    used = frozenset(variable_names(outside))
    return tuple(_opened(each, outside, used) if isinstance(each, Lambda) else each for each in arguments)


def _opened(term: Lambda, outside: Sequence[Term], used: frozenset[str]) -> Lambda:
    names: list[str] = []
    for name in term.names:
        free = next(each for each in (name + "_" * tails for tails in count()) if each not in (*used, *names))
        names.append(free)
    binding: dict[str, Term] = dict(zip(term.captured, outside, strict=True))
    binding |= {place: Variable(name) for place, name in zip(term.parameters, names, strict=True)}
    return Lambda(tuple(names), (), renamed(term.body, binding), tuple(names), span=term.span)


def with_arguments(call: Call, arguments: Sequence[Term]) -> Call:
    """The call with other arguments. Lambdas take along variables only, each once, and so have one form."""
    made = replace(call, arguments=tuple(arguments))
    written = opened(made)
    return made if written is made.arguments else closed(call.function, written, call.span)


def renamed(term: Term, binding: Mapping[str, Term]) -> Term:
    """The body of a lambda with its variables replaced; lambdas inside it are closed, and have none of them."""
    match term:
        case Variable(name=name):
            return binding.get(name, term)
        case Call() | Skolem():
            arguments = tuple(renamed(each, binding) for each in term.arguments)
            return with_arguments(term, arguments) if isinstance(term, Call) else replace(term, arguments=arguments)
        case Cast():
            return replace(term, term=renamed(term.term, binding))
    return term
