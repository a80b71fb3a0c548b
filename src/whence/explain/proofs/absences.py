"""What a use of a rule needs to be absent: its negated atoms with the values that the positive ones gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from whence.analysis.order import Define, order_body
from whence.engines.engine import Functions
from whence.engines.evidence import Derivation
from whence.engines.reference.terms import Computed, Conversion, Scope, conversion
from whence.explain.proofs.words import Pattern, is_made, words_of
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Variable, Wildcard
from whence.model.types import Value


class Absence(NamedTuple):
    """No row of the relation is like the pattern."""

    negation: Negation
    pattern: Pattern

    @property
    def relation(self) -> str:
        return self.negation.atom.relation

    @property
    def words(self) -> str | None:
        """The clause that asks for it, where no user has a name for the relation."""
        return words_of(self.negation.span) if is_made(self.relation) else None


class Absences:
    """The absences of uses of rules. What it makes of a rule is kept."""

    def __init__(self, relations: Mapping[str, Relation], functions: Functions) -> None:
        self._relations = relations
        self._functions = functions
        self._rules: dict[int, _Negating | None] = {}

    def of(self, way: Derivation) -> list[Absence]:
        key = id(way.rule)
        if key not in self._rules:
            negates = any(isinstance(literal, Negation) for literal in way.rule.body)
            self._rules[key] = _Negating(way.rule, self._relations, self._functions) if negates else None
        negating = self._rules[key]
        return [] if negating is None else negating.of(way)


class _Negating:
    """A rule with negated atoms: where its variables come from, and what these atoms ask for."""

    def __init__(self, rule: Rule, relations: Mapping[str, Relation], functions: Functions) -> None:
        scope = Scope(rule, relations, functions)
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        self._binds: list[tuple[str, int, int, Conversion | None]] = []
        bound: set[str] = set()
        for at, atom in enumerate(atoms):
            for position, (term, column) in enumerate(zip(atom.terms, relations[atom.relation].columns, strict=True)):
                if isinstance(term, Variable) and term.name not in bound:
                    bound.add(term.name)
                    convert = conversion(column.type, scope.types[term.name].type)
                    self._binds.append((term.name, at, position, convert))
        self._defines: list[tuple[str, Computed]] = [
            (step.variable.name, scope.compute(step.term, scope.types[step.variable.name].type))
            for step in order_body(rule)
            if isinstance(step, Define)
        ]
        self._negations: list[tuple[Negation, list[Computed | None]]] = [
            (literal, [None if isinstance(term, Wildcard) else scope.compute(term) for term in literal.atom.terms])
            for literal in rule.body
            if isinstance(literal, Negation)
        ]

    def of(self, way: Derivation) -> list[Absence]:
        values: dict[str, Value] = {}
        for name, at, position, convert in self._binds:
            value = way.body[at][position]
            values[name] = value if convert is None or value is None else convert(value)
        for name, compute in self._defines:
            values[name] = compute(values)
        return [
            Absence(negation, tuple([... if term is None else term(values) for term in terms]))
            for negation, terms in self._negations
        ]
