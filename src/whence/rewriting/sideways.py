"""Sideways information passing: which columns of an atom a rule can tell before it looks the atom up, and from what.

    v(y) :- watched(x), reach(z, y), x = z, y != "a".

Here `watched` tells the first column of `reach`: it is asked for the rows of `watched(x)`, with x in the place of z.
The atom that has the most columns bound comes first, as it would in a plan; among equals those that are asked for
nothing, and then the first in the text.

What is asked for may be more than what is needed, and never less. So what could fail, never end, or is not complete
while the question is put has no part in it: computed terms, negated atoms, and relations that the caller leaves out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from whence.analysis.typed_rules import TypedRule
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, literal_terms
from whence.model.schema import Relation
from whence.model.terms import Call, Constant, Term, Variable, Wildcard, variable_names, walk
from whence.model.types import BOOLEAN, DATE, STRING, TIMESTAMP, DecimalType, IntegerType, Type

# Functions that have a value for all arguments of their types.
_TOTAL = frozenset("and or not = != < <= > >= <=> in isnull isnotnull like startswith endswith contains".split())
# Columns of a relation that are told when it is asked.
Bound: TypeAlias = frozenset[int]


def is_total(literal: Comparison | Condition) -> bool:
    """Whether a condition has a value whatever the rows are."""
    return all(
        isinstance(part, Variable | Constant) or (isinstance(part, Call) and part.function in _TOTAL)
        for term in literal_terms(literal)
        for part in walk(term)
    )


def is_told_by_equality(kind: Type) -> bool:
    """Whether values of the type that `=` takes for equal are the same value. Floats have two zeros."""
    return isinstance(kind, IntegerType | DecimalType) or kind in (STRING, BOOLEAN, DATE, TIMESTAMP)


@dataclass(frozen=True, slots=True)
class Request:
    """What an atom of a body is asked for: the terms that tell its columns, by position, and where these come from."""

    literal: Atom | Negation
    terms: dict[int, Term]
    source: tuple[Literal, ...]

    @property
    def atom(self) -> Atom:
        return self.literal.atom if isinstance(self.literal, Negation) else self.literal

    def body(self, bound: Bound) -> tuple[Literal, ...]:
        """The part of the source that has to do with the terms of these columns."""
        names = variable_names(self.terms[at] for at in bound)
        chosen: set[int] = set()
        while True:
            more = {
                at
                for at, literal in enumerate(self.source)
                if at not in chosen and not names.isdisjoint(variable_names(literal_terms(literal)))
            }
            if not more:
                return tuple(self.source[at] for at in sorted(chosen))
            chosen |= more
            names = names.union(*(variable_names(literal_terms(self.source[at])) for at in more))


def requests(
    typed: TypedRule,
    asked: Collection[str],
    first: Atom | None,
    usable: Collection[str],
    bindable: Mapping[str, Bound],
) -> Iterator[Request]:
    """For each atom over the `asked` relations of a body, what tells its columns, of those that are `bindable`.

    `first` is an atom that holds before all others, and `usable` are the relations whose rows may tell columns.
    """
    passing = _Passing(typed, [] if first is None else [first])
    todo = [literal for literal in typed.rule.body if isinstance(literal, Atom)]
    while todo:
        atom = max(todo, key=lambda each: (passing.rank(each), each.relation not in asked))
        todo.remove(atom)
        if atom.relation in asked:
            yield passing.request(atom, bindable[atom.relation])
        if atom.relation in usable:
            passing.take(atom)
    for literal in typed.rule.body:
        if isinstance(literal, Negation) and literal.atom.relation in asked:
            yield passing.request(literal, bindable[literal.atom.relation])


class _Passing:
    """A body on the way from its first atom to its last."""

    def __init__(self, typed: TypedRule, atoms: list[Atom]) -> None:
        self._typed = typed
        self._taken: list[Atom] = atoms
        self._same = [
            (each.left, each.right)
            for each in typed.rule.body
            if isinstance(each, Comparison) and each.op == "=" and self._are_told(each)
        ]
        self._tests = [each for each in typed.rule.body if isinstance(each, Comparison | Condition) and is_total(each)]

    def take(self, atom: Atom) -> None:
        if all(isinstance(term, Variable | Constant | Wildcard) for term in atom.terms):
            self._taken.append(atom)

    def rank(self, atom: Atom) -> int:
        return sum(self._told(term) is not None for term in atom.terms)

    def request(self, literal: Atom | Negation, bindable: Bound) -> Request:
        atom = literal.atom if isinstance(literal, Negation) else literal
        told = {at: self._told(atom.terms[at]) for at in bindable}
        names = self._bound
        tests = (each for each in self._tests if variable_names(literal_terms(each)) <= names)
        return Request(literal, {at: term for at, term in told.items() if term is not None}, (*self._taken, *tests))

    @property
    def _bound(self) -> set[str]:
        return variable_names(term for atom in self._taken for term in atom.terms)

    def _told(self, term: Term) -> Term | None:
        """A term of what is bound that has the value of this one; None if there is none."""
        bound = self._bound
        seen = [term]
        for each in seen:
            if isinstance(each, Constant) or (isinstance(each, Variable) and each.name in bound):
                return each
            pairs = (*self._same, *((right, left) for left, right in self._same))
            seen += [other for one, other in pairs if one == each and other not in seen]
        return None

    def _are_told(self, literal: Comparison) -> bool:
        sides = (literal.left, literal.right)
        if not all(isinstance(side, Variable | Constant) for side in sides):
            return False
        left, right = map(self._typed.type_of, sides)
        return left.family == right.family and is_told_by_equality(left) and is_told_by_equality(right)


def tellable(relation: Relation) -> Bound:
    """The columns whose values are the same where they are equal."""
    return frozenset(at for at, column in enumerate(relation.columns) if is_told_by_equality(column.type))
