"""What a rule may say: heads, where aggregates and wildcards may stand, and variables that nothing binds."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from whence.errors import TypeMismatchError, UnsafeRuleError, UnsupportedError, did_you_mean
from whence.model.program import Program
from whence.model.rules import Atom, Comparison, Literal, Negation, Rule, literal_terms, literal_variables
from whence.model.schema import relation_named
from whence.model.span import Span
from whence.model.terms import (
    Aggregate,
    Term,
    Unnest,
    Variable,
    Wildcard,
    Window,
    children,
    variable_names,
    variables,
    walk,
)


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
        if isinstance(term, Aggregate | Window | Unnest):
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
        if isinstance(part, Aggregate | Window | Unnest):
            name = part.part if isinstance(part, Unnest) else part.function
            raise UnsupportedError(
                f"{name} stands inside {where}",
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


def unsafe(rule: Rule, bound: Collection[str]) -> UnsafeRuleError:
    """The error for a rule of which some variables are not in `bound`."""
    in_body = [
        (variable, literal)
        for literal in rule.body
        for variable in literal_variables(literal)
        if variable.name not in bound
    ]
    if not in_body:
        return _only_in_head(rule, bound)
    # In `x = y + 1` without a value for y, nothing is wrong with x.
    definable = {name for literal in rule.body for name in _definable(literal)}
    variable, literal = next((found for found in in_body if found[0].name not in definable), in_body[0])
    kinds = {type(other) for found, other in in_body if found.name == variable.name}
    name = repr(variable.name)
    if kinds == {Negation}:
        where = "in a negated atom"
        hint = f"bind {name} in an atom that is not negated, or write _ if any value is meant"
    elif Atom in kinds:
        where, hint = "inside a computed term", f"let {name} be a column of an atom in the body"
    else:
        where = "in comparisons and negated atoms" if Negation in kinds else "in comparisons"
        hint = f"let {name} be a column of an atom in the body, or give it a value with {variable.name} = ..."
    span = variable.span or literal.span
    return UnsafeRuleError(f"variable {name} occurs only {where}, so nothing binds it", span=span, hint=hint)


def _only_in_head(rule: Rule, bound: Collection[str]) -> UnsafeRuleError:
    variable = next(v for term in rule.head.terms for v in variables(term) if v.name not in bound)
    relation, name = relation_named(rule.head.relation), repr(variable.name)
    span = variable.span or rule.head.span
    if rule.is_fact:
        return UnsafeRuleError(
            f"variable {name} stands in a fact of {relation}, which has no body to bind it",
            span=span,
            hint=f'write "{variable.name}" if the text is meant, or add a body that binds {name}',
        )
    in_body = variable_names(term for literal in rule.body for term in literal_terms(literal))
    return UnsafeRuleError(
        f"variable {name} occurs only in the head of {relation}, so nothing binds it",
        span=span,
        hint=did_you_mean(variable.name, in_body) or f"let {name} be a column of an atom in the body",
    )


def _definable(literal: Literal) -> Iterator[str]:
    if isinstance(literal, Comparison) and literal.op == "=":
        for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if isinstance(one, Variable) and one.name not in variable_names([other]):
                yield one.name
