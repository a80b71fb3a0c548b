"""One literal as another: what the variables of the one have to be for it to be the other."""

from __future__ import annotations

from collections.abc import Iterator

from whence.model.rules import Atom, Literal, Negation, literal_terms
from whence.model.terms import Call, Constant, Term, Variable, children
from whence.rewriting.substitution import Binding


def symbol(literal: Literal) -> tuple[str, ...]:
    """What literals have in common that can be the same."""
    match literal:
        case Atom(relation=relation):
            return ("atom", relation)
        case Negation(atom=atom):
            return ("negation", atom.relation)
    return ("test",)


_TURNED = {"=": "=", "!=": "!=", "<=>": "<=>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def same_literal(literal: Literal, other: Literal, binding: Binding) -> Iterator[Binding]:
    """What variables have to be for the literal to be the other one: in no way, one, or two for an equality."""
    if symbol(literal) != symbol(other):
        return
    if isinstance(literal, Atom | Negation):
        found = same_terms(literal_terms(literal), literal_terms(other), binding)
        if found is not None:
            yield found
        return
    found = _same_term(_test(literal), _test(other), binding)
    if found is not None:
        yield found
    match _test(other):
        case Call(function=function, arguments=(left, right)) if function in _TURNED:
            found = _same_term(_test(literal), Call(_TURNED[function], (right, left)), binding)
            if found is not None:
                yield found


def _test(literal: Literal) -> Term:
    terms = literal_terms(literal)
    return terms[0] if len(terms) == 1 else Call(getattr(literal, "op", ""), terms)


def same_terms(terms: tuple[Term, ...], others: tuple[Term, ...], binding: Binding) -> Binding | None:
    if len(terms) != len(others):
        return None
    bound: Binding | None = binding
    for term, other in zip(terms, others, strict=True):
        bound = None if bound is None else _same_term(term, other, bound)
    return bound


def _same_term(term: Term, other: Term, binding: Binding) -> Binding | None:
    if isinstance(term, Variable):
        known = binding.get(term.name)
        if known is None:
            return {**binding, term.name: other}
        return binding if known == other else None
    if isinstance(term, Constant) or not children(term):
        return binding if term == other else None
    same = type(term) is type(other) and _own_parts(term) == _own_parts(other)
    return same_terms(children(term), children(other), binding) if same else None


def _own_parts(term: Term) -> tuple[object, ...]:
    return getattr(term, "function", None), getattr(term, "type", None)
