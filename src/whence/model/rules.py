"""Rules: a head that holds whenever the body does.

    head(...) :- atom(...), !atom(...), term < term, condition.

In a bag relation a row counts once for every derivation by its rules, and the derivations of a body multiply the
counts of its atoms' rows; in a set relation once. A comparison or condition keeps a binding when it is TRUE, so SQL's
NULL logic holds there; repeated variables match by identity, so that NULL matches NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from whence.model.span import Located
from whence.model.terms import Aggregate, Call, Term, Unnest, Variable, Window, variables, walk


@dataclass(frozen=True, slots=True)
class Atom(Located):
    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Negation(Located):
    """No row of the relation fits the atom. A wildcard in it stands for any value."""

    atom: Atom


COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Comparison(Located):
    """`left op right`. An `=` whose one side is a variable that nothing else binds gives it the other side's value."""

    op: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Condition(Located):
    """A Boolean term other than a plain comparison: `like(x, "a%")`, `a or b`."""

    term: Term


Literal: TypeAlias = Atom | Negation | Comparison | Condition


@dataclass(frozen=True, slots=True)
class Rule(Located):
    """A rule; with sign -1 it is differential: it takes away what its body yields (the count goes down).

    In a plan the sign can be any number but 0: how often what the body yields counts.
    """

    head: Atom
    body: tuple[Literal, ...]
    sign: int = 1

    @property
    def aggregates(self) -> tuple[int, ...]:
        """The head positions that hold an aggregate."""
        return tuple(i for i, term in enumerate(self.head.terms) if isinstance(term, Aggregate))

    @property
    def windows(self) -> tuple[int, ...]:
        """The head positions that hold a window function: the last ones, if any."""
        return tuple(i for i, term in enumerate(self.head.terms) if isinstance(term, Window))

    @property
    def unnests(self) -> tuple[int, ...]:
        """The head positions that hold elements of an array: the last ones, if any."""
        return tuple(i for i, term in enumerate(self.head.terms) if isinstance(term, Unnest))

    @property
    def is_fact(self) -> bool:
        return not self.body

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations of the body, negated ones too, each once and in the order of the text."""
        return tuple(dict.fromkeys(atom.relation for atom in self.body_atoms))

    @property
    def body_atoms(self) -> Iterator[Atom]:
        """The atoms of the body, negated ones too, in the order of the text."""
        literals = (literal.atom if isinstance(literal, Negation) else literal for literal in self.body)
        return (literal for literal in literals if isinstance(literal, Atom))

    @property
    def calls(self) -> frozenset[str]:
        """The functions that the rule calls, built-in ones too."""
        return frozenset(part.function for term in rule_terms(self) for part in walk(term) if isinstance(part, Call))


def literal_terms(literal: Literal) -> tuple[Term, ...]:
    """The terms that stand in a literal, from left to right."""
    match literal:
        case Atom(terms=terms) | Negation(atom=Atom(terms=terms)):
            return terms
        case Comparison(left=left, right=right):
            return left, right
        case Condition(term=term):
            return (term,)


def literal_variables(literal: Literal) -> Iterator[Variable]:
    """Every occurrence of a variable in the literal, from left to right."""
    for term in literal_terms(literal):
        yield from variables(term)


def rule_terms(rule: Rule) -> Iterator[Term]:
    """The terms of the head, and then those of the body."""
    yield from rule.head.terms
    for literal in rule.body:
        yield from literal_terms(literal)
