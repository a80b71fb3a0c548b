"""Rules put into rules, and compared: does one hold wherever another does?

They are plain: heads have variables only, each a different one, and bodies have variables, constants, wildcards and
calls of functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule, literal_terms
from whence.model.terms import Call, Term, Variable, Wildcard, children, variables

# What the variables of one rule are in another.
_Binding: TypeAlias = Mapping[str, Term]


def with_names(rule: Rule) -> Rule:
    """The rule with a variable for every wildcard in a positive atom."""
    body = [_named(literal, at) if isinstance(literal, Atom) else literal for at, literal in enumerate(rule.body)]
    return replace(rule, body=tuple(body))


def unfolded(rule: Rule, at: int, other: Rule) -> Rule:
    """The rule with an atom of its body replaced by the body of another rule, which gives the rows of that atom."""
    atom = rule.body[at]
    assert isinstance(atom, Atom) and atom.relation == other.head.relation
    binding: dict[str, Term] = {}
    for variable in _variables(other):
        binding[variable] = Variable(f"{variable}.{at}")
    for term, given in zip(other.head.terms, atom.terms, strict=True):
        assert isinstance(term, Variable)
        binding[term.name] = given
    body = [_literal_with(literal, binding) for literal in other.body]
    return replace(rule, body=(*rule.body[:at], *body, *rule.body[at + 1 :]))


def holds_wherever(rule: Rule, other: Rule, once: str, places: Mapping[int, Collection[int]]) -> bool:
    """Whether the rule gives a row wherever the other one does, from some of the same rows.

    Each literal of the rule is one of the other's; atoms of the relation `once` are all different ones. `places` limits
    which literals of the other one a literal may be.
    """
    binding: dict[str, Term] = {}
    for term, given in zip(rule.head.terms, other.head.terms, strict=True):
        assert isinstance(term, Variable)
        binding[term.name] = given
    return _fits(rule.body, 0, other.body, binding, once, places, frozenset())


def _fits(
    body: Sequence[Literal],
    at: int,
    others: Sequence[Literal],
    binding: _Binding,
    once: str,
    places: Mapping[int, Collection[int]],
    taken: frozenset[int],
) -> bool:
    if at == len(body):
        return True
    literal = body[at]
    is_once = isinstance(literal, Atom) and literal.relation == once
    for place, other in enumerate(others):
        if place not in places.get(at, (place,)) or (is_once and place in taken):
            continue
        bound = _same_literal(literal, other, binding)
        if bound is not None and _fits(body, at + 1, others, bound, once, places, taken | {place}):
            return True
    return False


def _same_literal(literal: Literal, other: Literal, binding: _Binding) -> _Binding | None:
    """What variables have to be for the literal to be the other one; None if it cannot be."""
    match literal, other:
        case (Atom(relation=one), Atom(relation=two)) | (
            Negation(atom=Atom(relation=one)),
            Negation(atom=Atom(relation=two)),
        ):
            is_alike = one == two
        case Comparison(op=one), Comparison(op=two):
            is_alike = one == two
        case Condition(), Condition():
            is_alike = True
        case _:
            is_alike = False
    return _same_terms(literal_terms(literal), literal_terms(other), binding) if is_alike else None


def _same_terms(terms: Sequence[Term], others: Sequence[Term], binding: _Binding) -> _Binding | None:
    bound: _Binding | None = binding
    for term, other in zip(terms, others, strict=True):
        bound = None if bound is None else _same_term(term, other, bound)
    return bound


def _same_term(term: Term, other: Term, binding: _Binding) -> _Binding | None:
    match term:
        case Variable(name=name):
            known = binding.get(name)
            if known is None:
                return {**binding, name: other}
            return binding if known == other else None
        case Call(function=name, arguments=arguments):
            is_alike = isinstance(other, Call) and other.function == name and len(other.arguments) == len(arguments)
            return _same_terms(arguments, children(other), binding) if is_alike else None
    return binding if term == other else None


def _variables(rule: Rule) -> set[str]:
    terms = [*rule.head.terms, *(term for literal in rule.body for term in literal_terms(literal))]
    return {variable.name for term in terms for variable in variables(term)}


def _named(atom: Atom, at: int) -> Atom:
    terms = [
        Variable(f"_.{at}.{position}") if isinstance(term, Wildcard) else term
        for position, term in enumerate(atom.terms)
    ]
    return replace(atom, terms=tuple(terms))


def _literal_with(literal: Literal, binding: _Binding) -> Literal:
    match literal:
        case Atom(terms=terms):
            return replace(literal, terms=tuple([_with(term, binding) for term in terms]))
        case Negation(atom=atom):
            terms = tuple([_with(term, binding) for term in atom.terms])
            return replace(literal, atom=replace(atom, terms=terms))
        case Comparison(left=left, right=right):
            return replace(literal, left=_with(left, binding), right=_with(right, binding))
        case Condition(term=term):
            return replace(literal, term=_with(term, binding))


def _with(term: Term, binding: _Binding) -> Term:
    match term:
        case Variable(name=name):
            return binding[name]
        case Call(arguments=arguments):
            return replace(term, arguments=tuple([_with(each, binding) for each in arguments]))
    return term
