"""Variables replaced by terms, and what they have to be replaced by for two terms to be the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from whence.model.lambdas import with_arguments
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule, literal_terms
from whence.model.terms import Aggregate, Call, Cast, Constant, Skolem, Term, Variable, Wildcard, children, variables
from whence.model.terms import fold as fold_term

# What variables stand for.
Binding: TypeAlias = Mapping[str, Term]


class NotUnifiedError(Exception):
    """Whether two terms are the same depends on the rows."""


def substituted(term: Term, binding: Binding) -> Term:
    """The term with its variables replaced; those that are not bound stay."""
    if isinstance(term, Variable):
        return binding.get(term.name, term)
    if not children(term):
        return term
    return fold_term(term, lambda part, inside: _rebuilt(part, inside, binding))


def _rebuilt(part: Term, inside: Sequence[Term], binding: Binding) -> Term:
    if isinstance(part, Variable):
        return binding.get(part.name, part)
    return with_children(part, inside)


def with_children(term: Term, inside: Sequence[Term]) -> Term:
    """The term with other terms inside."""
    match term:
        case Call():
            return with_arguments(term, inside)
        case Skolem():
            return replace(term, arguments=tuple(inside))
        case Cast():
            return replace(term, term=inside[0])
        case Aggregate() if inside:
            return replace(term, argument=inside[0])
    return term


def all_substituted(terms: Iterable[Term], binding: Binding) -> tuple[Term, ...]:
    return tuple([substituted(term, binding) for term in terms])


def literal_with(literal: Literal, binding: Binding) -> Literal:
    match literal:
        case Atom(relation=relation, terms=terms):
            return Atom(relation, all_substituted(terms, binding), span=literal.span)
        case Negation(atom=atom):
            return replace(literal, atom=replace(atom, terms=all_substituted(atom.terms, binding)))
        case Comparison(left=left, right=right):
            return replace(literal, left=substituted(left, binding), right=substituted(right, binding))
        case Condition(term=term):
            return replace(literal, term=substituted(term, binding))


def with_names(rule: Rule) -> Rule:
    """The rule with a variable for every wildcard in a positive atom."""
    body = [_named(literal, at) if isinstance(literal, Atom) else literal for at, literal in enumerate(rule.body)]
    return replace(rule, body=tuple(body))


def _named(atom: Atom, at: int) -> Atom:
    terms = [
        Variable(f"_.{at}.{position}") if isinstance(term, Wildcard) else term
        for position, term in enumerate(atom.terms)
    ]
    return replace(atom, terms=tuple(terms))


def names_in(terms: Iterable[Term], literals: Iterable[Literal] = ()) -> Iterator[str]:
    """The variables of terms and literals, every occurrence of each."""
    for term in chain(terms, *map(literal_terms, literals)):
        if isinstance(term, Variable):
            yield term.name
        elif not isinstance(term, Constant | Wildcard):
            yield from [variable.name for variable in variables(term)]


def fresh_names(names: Iterable[str], taken: Iterable[str]) -> dict[str, Term]:
    """For every name a variable that is not taken, called alike."""
    used = set(taken)
    found: dict[str, Term] = {}
    for name in dict.fromkeys(names):
        free, number = name, 1
        while free in used:
            number += 1
            free = f"{name.split('~')[0]}~{number}"
        used.add(free)
        found[name] = Variable(free)
    return found


def unified(left: Sequence[Term], right: Sequence[Term]) -> dict[str, Term] | None:
    """What variables have to be for the terms to be the same, in pairs; None if they never are.

    Different constants never are, nor values that different Skolem functions invent. Raises NotUnifiedError where
    that depends on the rows, as for `x + 1` and 5.
    """
    binding: dict[str, Term] = {}
    todo = list(zip(left, right, strict=True))
    while todo:
        one, other = (substituted(term, binding) for term in todo.pop())
        if one == other:
            continue
        if isinstance(other, Variable) and not isinstance(one, Variable):
            one, other = other, one
        if isinstance(one, Variable):
            if one.name in names_in([other]):
                raise NotUnifiedError
            step = {one.name: other}
            binding = {name: substituted(term, step) for name, term in binding.items()} | step
        elif isinstance(one, Constant) and isinstance(other, Constant):
            if one.type != other.type:
                raise NotUnifiedError
            return None
        elif isinstance(one, Skolem) and isinstance(other, Skolem):
            if one.function != other.function or len(one.arguments) != len(other.arguments):
                return None
            todo += zip(one.arguments, other.arguments, strict=True)
        else:
            raise NotUnifiedError
    return binding
