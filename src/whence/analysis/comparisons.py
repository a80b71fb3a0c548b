"""Rules that compare every row with every row, because nothing but a comparison links two of their atoms.

    q(x, count<*>) :- s(x), s(y), y > x.

Rows that an equality links are looked up. Here each row of the one side meets each row of the other, in all engines, so
that a view of this kind is slow on large tables, and its author is told.

There is no notice where nothing links the atoms at all: the pairs are what was asked for. Nor where one side has a few
rows however large the tables are: an aggregate over everything, constants, or the row of a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from whence.analysis.components import Component
from whence.model.rules import Atom, Comparison, Condition, Literal, Rule, literal_terms
from whence.model.schema import Relation, is_auxiliary, owner, relation_named
from whence.model.span import Span
from whence.model.terms import Aggregate, Call, Term, Variable, Wildcard, variable_names


@dataclass(frozen=True, slots=True)
class Pairing:
    """A view, the relations whose rows it compares, as the user knows them, and where."""

    view: str
    left: str
    right: str
    span: Span | None

    def __str__(self) -> str:
        place = "" if self.span is None else f" ({self.span})"
        return f"{self.view!r} compares every row of {self.left} with every row of {self.right}{place}"

    @property
    def notice(self) -> str:
        return (
            f"{self}, because no equality links them; where these are many, link them by one as well, such as a key or "
            "a range of values that both have as a column, or compare with an aggregate"
        )


class Pairings:
    """Finds them in rules of a program, all components of which are given."""

    def __init__(self, components: Iterable[Component], relations: Mapping[str, Relation]) -> None:
        self._components = components
        self._relations = relations
        self._rules: dict[str, list[Rule]] | None = None
        self._few: dict[str, bool] = {}

    def of(self, components: Iterable[Component]) -> list[Pairing]:
        """Those of these components, one for each line."""
        found: dict[tuple[str, int | None], Pairing] = {}
        for component in components:
            for rule in component.rules:
                pairing = self._of_rule(rule)
                if pairing is not None:
                    line = None if pairing.span is None else pairing.span.line
                    found.setdefault((pairing.view, line), pairing)
        return list(found.values())

    def _of_rule(self, rule: Rule) -> Pairing | None:
        """The first two atoms of a rule that are linked by comparisons only; None if it has none."""
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        if len(atoms) < 2:
            return None
        groups = _linked(rule.body)
        if len({groups.get(name) for atom in atoms for name in variable_names(atom.terms)}) < 2:
            return None
        known = self._determined(rule)
        many = {groups[name]: atom for atom in reversed(atoms) for name in variable_names(atom.terms) - known}
        for literal, names in _comparisons(rule.body):
            met = {groups[name] for name in names if name in groups}
            sides = [atom for group, atom in many.items() if group in met]
            if len(sides) > 1:
                left, right = sorted(sides, key=atoms.index)[:2]
                view, span = owner(rule.head.relation), literal.span or rule.span
                return Pairing(view, self._named(left.relation), self._named(right.relation), span)
        return None

    def _determined(self, rule: Rule) -> set[str]:
        """The variables that take few values, however many rows there are."""
        known: set[str] = set()
        while True:
            learned = {name for literal in rule.body for name in self._learned(literal, known)} - known
            if not learned:
                return known
            known |= learned

    def _learned(self, literal: Literal, known: set[str]) -> set[str]:
        match literal:
            case Atom(relation=name, terms=terms):
                relation = self._relations[name]
                key = [terms[relation.column_names.index(column)] for column in relation.key]
                by_key = (
                    bool(key) and not any(isinstance(term, Wildcard) for term in key) and variable_names(key) <= known
                )
                return variable_names(terms) if by_key or self._has_few(name) else set()
            case Comparison() | Condition():
                return {
                    one.name
                    for one, other in _equality(literal)
                    if isinstance(one, Variable) and variable_names([other]) <= known
                }
        return set()

    def _has_few(self, name: str) -> bool:
        """Whether a view has few rows by its rules; what a recursion has is not known."""
        if name not in self._few:
            self._few[name] = False
            rules = self._rules_of(name)
            self._few[name] = bool(rules) and all(
                variable_names([term for term in rule.head.terms if not isinstance(term, Aggregate)])
                <= self._determined(rule)
                for rule in rules
            )
        return self._few[name]

    def _rules_of(self, name: str) -> list[Rule]:
        if self._rules is None:
            self._rules = {}
            for component in self._components:
                for rule in component.rules:
                    self._rules.setdefault(rule.head.relation, []).append(rule)
        return self._rules.get(name, [])

    def _named(self, name: str) -> str:
        """A relation as the user knows it: what only passes on the rows of another one is that one."""
        while is_auxiliary(name):
            read = {
                literal.relation for rule in self._rules_of(name) for literal in rule.body if isinstance(literal, Atom)
            }
            if len(read) != 1 or read == {name}:
                break
            (name,) = read
        return relation_named(name)


def _linked(body: Iterable[Literal]) -> dict[str, int]:
    """The variables, each with the number of its group: those that atoms have in common, or that equalities link."""
    groups: dict[str, int] = {}

    def join(names: set[str]) -> None:
        numbers = {groups[name] for name in names if name in groups}
        number = min(numbers, default=len(groups))
        groups.update(dict.fromkeys(names, number))
        groups.update((name, number) for name, other in groups.items() if other in numbers)

    for literal in body:
        if isinstance(literal, Atom):
            join(variable_names(literal.terms))
    equalities = [sides for literal in body for sides in _equality(literal)]
    changed = True
    while changed:
        before = dict(groups)
        for one, other in equalities:
            left, right = variable_names([one]), variable_names([other])
            # What depends on rows of several groups can be looked up when these have met, and does not let them meet.
            if left and right and all(len({groups.get(name) for name in names}) == 1 for names in (left, right)):
                join(left | right)
        changed = groups != before
    return groups


def _comparisons(body: Iterable[Literal]) -> Iterator[tuple[Comparison | Condition, set[str]]]:
    """The conditions of a body, each with the variables that decide it, also by way of definitions."""
    bound = {name for literal in body if isinstance(literal, Atom) for name in variable_names(literal.terms)}
    defined: dict[str, set[str]] = {}
    conditions = []
    for literal in body:
        if isinstance(literal, Comparison | Condition):
            definitions = {one.name: other for one, other in _equality(literal) if isinstance(one, Variable)}
            new = {name: variable_names([term]) for name, term in definitions.items() if name not in bound}
            defined.update(new)
            if not new:
                conditions.append(literal)
    for condition in conditions:
        names: set[str] = set()
        todo = list(variable_names(literal_terms(condition)))
        while todo:
            name = todo.pop()
            if name not in names:
                names.add(name)
                todo += defined.get(name, ())
        yield condition, names


def _equality(literal: Literal) -> Iterator[tuple[Term, Term]]:
    """The sides of `a = b` and `a <=> b`, both ways round."""
    match literal:
        case Comparison(op="=", left=left, right=right):
            yield from ((left, right), (right, left))
        case Condition(term=Call(function="=" | "<=>", arguments=(left, right))):
            yield from ((left, right), (right, left))
