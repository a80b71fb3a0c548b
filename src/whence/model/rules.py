"""Rules: a head that holds whenever the body does.

    head(...) :- atom(...), !atom(...), term < term, condition.

In a bag relation a row counts once for every way to satisfy the bodies of its rules, and a body's ways multiply the
counts of its atoms' rows; in a set relation once. A comparison or condition keeps a binding when it is TRUE, so SQL's
NULL logic holds there; repeated variables match by identity, so that NULL matches NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from whence.model.span import Span
from whence.model.terms import Aggregate, Term


@dataclass(frozen=True, slots=True)
class Atom:
    relation: str
    terms: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Negation:
    """No row of the relation fits the atom. A wildcard in it stands for any value."""

    atom: Atom
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left op right`. An `=` whose one side is a variable that nothing else binds gives it the other side's value."""

    op: str
    left: Term
    right: Term
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Condition:
    """A Boolean term other than a plain comparison: `like(x, "a%")`, `a or b`."""

    term: Term
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Literal: TypeAlias = Atom | Negation | Comparison | Condition


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule; with sign -1 it is differential: it takes away what its body yields (the count goes down)."""

    head: Atom
    body: tuple[Literal, ...]
    sign: int = 1
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def aggregates(self) -> tuple[int, ...]:
        """The head positions that hold an aggregate."""
        return tuple(i for i, term in enumerate(self.head.terms) if isinstance(term, Aggregate))

    @property
    def is_fact(self) -> bool:
        return not self.body


def literal_terms(literal: Literal) -> tuple[Term, ...]:
    """The terms that stand in a literal, from left to right."""
    match literal:
        case Atom(terms=terms) | Negation(atom=Atom(terms=terms)):
            return terms
        case Comparison(left=left, right=right):
            return left, right
        case Condition(term=term):
            return (term,)


def rule_terms(rule: Rule) -> Iterator[Term]:
    """The terms of the head, and then those of the body."""
    yield from rule.head.terms
    for literal in rule.body:
        yield from literal_terms(literal)
