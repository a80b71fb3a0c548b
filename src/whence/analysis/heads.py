"""Where aggregates and wildcards may stand, and that the rules of an aggregated relation agree."""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.wording import relation_named
from whence.errors import TypeMismatchError, UnsafeRuleError, UnsupportedError
from whence.model.program import Program
from whence.model.rules import Atom, Literal, Negation, Rule, literal_terms
from whence.model.span import Span
from whence.model.terms import Aggregate, Term, Wildcard, children, walk


def check_heads(program: Program) -> None:
    """Aggregates are whole columns of heads, wildcards whole columns of body atoms."""
    first_rules: dict[str, Rule] = {}
    for rule in program.rules:
        _check_head(rule)
        for literal in rule.body:
            for term in _computed(literal):
                _check_computed(term, "a rule's body", literal.span)
        first = first_rules.setdefault(rule.head.relation, rule)
        if first is not rule:
            _check_agreement(first, rule)


def _check_head(rule: Rule) -> None:
    for term in rule.head.terms:
        if isinstance(term, Aggregate):
            for argument in children(term):
                _check_computed(argument, "another aggregate", rule.head.span)
        else:
            _check_computed(term, "a computed term", rule.head.span)


def _computed(literal: Literal) -> Iterator[Term]:
    """The terms of a literal in which nothing but values may stand."""
    is_pattern = isinstance(literal, Atom | Negation)
    return (term for term in literal_terms(literal) if not (is_pattern and isinstance(term, Wildcard)))


def _check_computed(term: Term, where: str, fallback: Span | None) -> None:
    for part in walk(term):
        if isinstance(part, Aggregate):
            raise UnsupportedError(
                f"{part.function} stands inside {where}",
                span=part.span or fallback,
                hint="an aggregate is a column of its own in a rule's head; compute with its result in a second rule",
            )
        if isinstance(part, Wildcard):
            raise UnsafeRuleError(
                "_ stands where a value is needed",
                span=part.span or fallback,
                hint="_ means any value, in a column of a body atom only; name the value and bind it in the body",
            )


def _check_agreement(first: Rule, rule: Rule) -> None:
    """Aggregates range over the bindings of all rules together, so all must aggregate alike."""
    if len(first.head.terms) != len(rule.head.terms) or not (first.aggregates or rule.aggregates):
        return
    for one, other in zip(first.head.terms, rule.head.terms, strict=True):
        if _spoken(one) != _spoken(other):
            raise TypeMismatchError(
                f"the rules of {relation_named(rule.head.relation)} aggregate differently: {_spoken(other)} here, "
                f"{_spoken(one)} in its first rule",
                span=other.span or rule.head.span,
                related=[("its first rule is here", one.span or first.head.span)],
                hint="use the same aggregates in the same columns, or collect the rows in a relation of its own first",
            )


def _spoken(term: Term) -> str:
    if not isinstance(term, Aggregate):
        return "no aggregate"
    return f"{term.function} of distinct values" if term.distinct else term.function
