"""What a rule may say: heads, where aggregates, wildcards and windows may stand, and variables that nothing binds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from whence.errors import TypeMismatchError, UnsafeRuleError, UnsupportedError, did_you_mean
from whence.functions.windows import NUMBERING
from whence.model.program import Program
from whence.model.rules import Atom, Comparison, Literal, Negation, Rule, literal_terms, literal_variables
from whence.model.schema import relation_named
from whence.model.span import Span
from whence.model.terms import (
    Aggregate,
    Constant,
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

# What to do about windows.
_SHAPE = "collect the rows in a relation of its own first: v(x, y, over {x; y} rank()) :- rows(x, y)."


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


def check_windows(program: Program) -> None:
    """Window functions stand behind the columns of one atom, in the one rule of their relation.

        ranked(g, x, over {g; x desc} rank()) :- score(g, x).

    What they are taken of, and what is done with them, is the affair of other rules. So every row of the relation is a
    row of the one below it with values at its end, and those who keep it need not match bodies. Windows that stand
    elsewhere are refused, and those over rows that may be there less than zero times.
    """
    windowed = [rule for rule in program.rules if rule.windows or rule.unnests]
    if not windowed:
        return
    rules = Counter(rule.head.relation for rule in program.rules)
    for rule in windowed:
        if rules[rule.head.relation] > 1 or rule.sign < 0:
            raise UnsupportedError(
                f"{relation_named(rule.head.relation)} has window functions, or elements of arrays, and other rules",
                span=rule.head.span,
                hint=_SHAPE,
            )
        _check_shape(rule)
    _check_owing(program, windowed)


def _check_shape(rule: Rule) -> None:
    match rule.body:
        case (Atom(terms=terms),) if all(isinstance(term, Variable) for term in terms) and len(set(terms)) == len(
            terms
        ):
            plain, windows = rule.head.terms[: len(terms)], rule.head.terms[len(terms) :]
            if plain == terms and all(_is_same_array(each, windows[0]) for each in windows):
                return
            if plain == terms and all(isinstance(each, Window) for each in windows):
                keeping = 0
                for each in windows:
                    assert isinstance(each, Window)
                    _check_window(each, windows[0])
                    keeping += each.within is not None
                if keeping <= 1:
                    return
    raise UnsupportedError(
        "window functions, and elements of one array, stand behind all the columns of one atom",
        span=rule.head.span or rule.span,
        hint=_SHAPE,
    )


def _is_same_array(term: object, first: object) -> bool:
    match term, first:
        case Unnest(argument=Variable() as array, outer=outer), Unnest():
            return array == first.argument and outer == first.outer
    return False


def _check_window(window: Window, first: object) -> None:
    assert isinstance(first, Window)
    keys = (*window.partition, *window.order_terms)
    if not all(isinstance(key, Variable) for key in keys) or not all(
        isinstance(argument, Variable | Constant) for argument in window.arguments
    ):
        raise UnsupportedError("a window function computes with columns only", span=window.span, hint=_SHAPE)
    if (window.partition, window.order) != (first.partition, first.order):
        raise UnsupportedError(
            "the window functions of a rule have one partition and one order", span=window.span, hint=_SHAPE
        )
    if window.within is not None and window.function not in NUMBERING:
        raise UnsupportedError(f"rows are kept by one of {', '.join(NUMBERING)}", span=window.span)


def _check_owing(program: Program, windowed: list[Rule]) -> None:
    """Rows that others are taken away from may be owed, and those have no place in an order."""
    bags = {relation.name for relation in program.relations if not relation.distinct}
    owing = {rule.head.relation for rule in program.rules if rule.sign < 0 and rule.head.relation in bags}
    grown = True
    while grown and owing:
        found = {r.head.relation for r in program.rules if not owing.isdisjoint(r.reads) and r.head.relation in bags}
        grown = not found <= owing
        owing |= found
    for rule in windowed:
        if not owing.isdisjoint(rule.reads):
            raise UnsupportedError(
                f"{relation_named(rule.reads[0])} has rules that take rows away, and no window can be over it",
                span=rule.span,
                hint="declare it as a set",
            )
