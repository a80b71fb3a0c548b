"""Why a rule is unsafe: the variable that nothing binds, where it stands, and what would bind it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from whence.analysis.wording import relation_named
from whence.errors import UnsafeRuleError, did_you_mean
from whence.model.rules import Atom, Comparison, Literal, Negation, Rule, literal_terms
from whence.model.terms import Variable, variables


def literal_variables(literal: Literal) -> Iterator[Variable]:
    """Every occurrence of a variable in the literal, from left to right."""
    for term in literal_terms(literal):
        yield from variables(term)


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
        return UnsafeRuleError(
            f"variable {name} occurs only in a negated atom, so nothing binds it",
            span=variable.span or literal.span,
            hint=f"bind {name} in an atom that is not negated, or write _ if any value is meant",
        )
    if Atom in kinds:
        return UnsafeRuleError(
            f"variable {name} occurs only inside a computed term, so nothing binds it",
            span=variable.span or literal.span,
            hint=f"let {name} be a column of an atom in the body",
        )
    where = "comparisons and negated atoms" if Negation in kinds else "comparisons"
    return UnsafeRuleError(
        f"variable {name} occurs only in {where}, so nothing binds it",
        span=variable.span or literal.span,
        hint=f"let {name} be a column of an atom in the body, or give it a value with {variable.name} = ...",
    )


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
    in_body = {v.name for literal in rule.body for v in literal_variables(literal)}
    return UnsafeRuleError(
        f"variable {name} occurs only in the head of {relation}, so nothing binds it",
        span=span,
        hint=did_you_mean(variable.name, in_body) or f"let {name} be a column of an atom in the body",
    )


def _definable(literal: Literal) -> Iterator[str]:
    if isinstance(literal, Comparison) and literal.op == "=":
        for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if isinstance(one, Variable) and all(v.name != one.name for v in variables(other)):
                yield one.name
