"""One step backwards: the uses of rules that a row follows from, found in the rows that are there now, and what each of
them needs to be absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from whence.analysis.components import owing_bags
from whence.analysis.order import Define
from whence.analysis.typed_rules import Computed, Conversion, Scope, TypedRule, conversion, typed_rule
from whence.engines.engine import Contents, Derivation, Evidence
from whence.explain.proofs.reasons import Fact, facts_of, positive
from whence.explain.proofs.text import Pattern, is_made, words_of
from whence.incremental.aggregates import TypedAggregate, typed_aggregates
from whence.incremental.recursive.bests import Bests
from whence.incremental.recursive.matcher import Matcher
from whence.model.program import Functions
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Term, Variable, Wildcard
from whence.model.types import Row, Value

# With these, one member that has the value is enough, however many others there are.
EXTREMES = ("min", "max")


class Backwards:
    """The rules of a program from their heads. What it makes of a rule is kept for the next question."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        analysis = evidence.analysis
        self.relations = analysis.relations
        self._rules: dict[str, list[Rule]] = {}
        self._typed: dict[str, list[TypedRule]] = {}
        self.component = {name: component for component in analysis.components for name in component.relations}
        for component in analysis.components:
            for rule in component.rules:
                self._rules.setdefault(rule.head.relation, []).append(rule)
            for typed in component.typed:
                self._typed.setdefault(typed.rule.head.relation, []).append(typed)
        self._matchers: dict[str, tuple[Matcher, ...]] = {}
        self._witnesses: dict[str, tuple[tuple[Matcher, ...], ...]] = {}
        self.sources = _Sources(evidence)
        self.absences = Absences(self.relations, evidence.functions)
        self._negative = owing_bags(analysis.components, self.relations)

    def rules(self, relation: str) -> list[Rule]:
        """None for a table."""
        return self._rules.get(relation, [])

    def is_recursive(self, relation: str) -> bool:
        return self.component[relation].recursive

    def is_table(self, relation: str) -> bool:
        return relation not in self._rules

    def is_aggregated(self, relation: str) -> bool:
        return relation in self.component[relation].aggregated

    def is_extreme(self, relation: str) -> bool:
        """Whether single members make each of its values: min and max, of rows that are really there."""
        first = self._rules[relation][0]
        functions = [term.function for term in first.head.terms if isinstance(term, Aggregate)]
        return all(name in EXTREMES for name in functions) and not self._reads_negative(relation)

    def is_signed(self, relation: str) -> bool:
        """Whether a row is there by a sum to which rules may also contribute with a minus."""
        return any(rule.sign < 0 for rule in self.rules(relation)) or self._reads_negative(relation)

    def count(self, fact: Fact) -> int:
        relation, row = fact
        return self.evidence.contents(relation).count(row)

    def weight(self, derivation: Derivation) -> int:
        """How often one use of a rule counts."""
        weight = derivation.rule.sign
        for fact in facts_of(derivation):
            if not self.relations[fact[0]].distinct:
                weight *= self.count(fact)
        return weight

    def derivations(self, fact: Fact) -> Iterator[Derivation]:
        """All uses of rules that give the row; of an aggregated relation, all members of its group."""
        relation, row = fact
        if self.component[relation].windowed or self.component[relation].unnested:
            # What is below has the same columns, without the values at the end.
            (rule,) = self._rules[relation]
            return iter((Derivation(rule, (row[: (rule.windows or rule.unnests)[0]],)),))
        if self.is_aggregated(relation):
            aggregates = self._rules[relation][0].aggregates
            row = tuple([value for position, value in enumerate(row) if position not in aggregates])
        return self._through(self.matchers(relation), row, relation)

    def witnesses(self, fact: Fact) -> Iterator[Iterator[Derivation]]:
        """For each min and max of the row, the members of its group that have the value."""
        relation, row = fact
        aggregates = self._rules[relation][0].aggregates
        for matchers, position in zip(self._for_witnesses(relation), aggregates, strict=True):
            kept = [at for at in range(len(row)) if at == position or at not in aggregates]
            yield self._through(matchers, tuple([row[at] for at in kept]), relation)

    def _through(self, matchers: tuple[Matcher, ...], head: Row, relation: str) -> Iterator[Derivation]:
        for matcher, rule in zip(matchers, self._rules[relation], strict=True):
            for found in matcher.backwards(head, self.sources):
                yield Derivation(rule, found.body)

    def bests(self, relation: str) -> Bests:
        """Which values of the min and max of a relation are best."""
        return Bests(self.relations[relation], self._rules[relation][0].aggregates, self.folds(relation))

    def matchers(self, relation: str) -> tuple[Matcher, ...]:
        """One for each rule of a view."""
        known = self._matchers.get(relation)
        if known is None:
            folds = self.folds(relation)
            known = tuple([self._matcher(rule, folds) for rule in self._typed[relation]])
            self._matchers[relation] = known
        return known

    def _for_witnesses(self, relation: str) -> tuple[tuple[Matcher, ...], ...]:
        """The rules with one aggregate replaced by what it is taken of, so that its value can be looked up."""
        known = self._witnesses.get(relation)
        if known is None:
            rules, folds = self._typed[relation], self.folds(relation)
            matchers = []
            for position, fold in zip(rules[0].rule.aggregates, folds, strict=True):
                others = [each for each in folds if each is not fold]
                plain = [replace(typed, rule=_plain_at(typed.rule, position)) for typed in rules]
                matchers.append(tuple([self._matcher(typed, others) for typed in plain]))
            known = self._witnesses[relation] = tuple(matchers)
        return known

    def folds(self, relation: str) -> list[TypedAggregate]:
        """How the aggregates of a relation are computed, one for each."""
        return typed_aggregates(self._typed[relation], self.relations)

    def _matcher(self, typed: TypedRule, folds: Sequence[TypedAggregate]) -> Matcher:
        """`folds` are those of the aggregates that the rule's head has; what count<*> counts has no type."""
        aggregates = [term for term in typed.rule.head.terms if isinstance(term, Aggregate)]
        inputs = [f.input for f, term in zip(folds, aggregates, strict=True) if term.argument is not None]
        return Matcher(0, typed, self.evidence.functions, (), inputs, self.evidence.statistics)

    def _reads_negative(self, relation: str) -> bool:
        return any(not self._negative.isdisjoint(positive(rule)) for rule in self.rules(relation))


class _Sources(Mapping[str, Contents]):
    """Every relation as the plans of matchers look it up."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def __getitem__(self, relation: str) -> Contents:
        return self._evidence.contents(relation)

    def __iter__(self) -> Iterator[str]:
        return iter(self._evidence.analysis.relations)

    def __len__(self) -> int:
        return len(self._evidence.analysis.relations)


def _plain_at(rule: Rule, position: int) -> Rule:
    """The rule with an aggregate of its head replaced by the aggregate's argument."""
    aggregate = rule.head.terms[position]
    assert isinstance(aggregate, Aggregate) and aggregate.argument is not None
    terms: list[Term] = list(rule.head.terms)
    terms[position] = aggregate.argument
    return replace(rule, head=replace(rule.head, terms=tuple(terms)))


class ProvenAbsence(NamedTuple):
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

    def of(self, derivation: Derivation) -> list[ProvenAbsence]:
        key = id(derivation.rule)
        if key not in self._rules:
            negates = any(isinstance(literal, Negation) for literal in derivation.rule.body)
            self._rules[key] = _Negating(derivation.rule, self._relations, self._functions) if negates else None
        negating = self._rules[key]
        return [] if negating is None else negating.of(derivation)


class _Negating:
    """A rule with negated atoms: where its variables come from, and what these atoms ask for."""

    def __init__(self, rule: Rule, relations: Mapping[str, Relation], functions: Functions) -> None:
        signatures = {name: function.signature for name, function in functions.items()}
        typed = typed_rule(rule, relations, signatures)
        scope = Scope(typed, functions)
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
            for step in typed.steps
            if isinstance(step, Define)
        ]
        self._negations: list[tuple[Negation, list[Computed | None]]] = [
            (literal, [None if isinstance(term, Wildcard) else scope.compute(term) for term in literal.atom.terms])
            for literal in rule.body
            if isinstance(literal, Negation)
        ]

    def of(self, derivation: Derivation) -> list[ProvenAbsence]:
        values: dict[str, Value] = {}
        for name, at, position, convert in self._binds:
            value = derivation.body[at][position]
            values[name] = value if convert is None or value is None else convert(value)
        for name, compute in self._defines:
            values[name] = compute(values)
        return [
            ProvenAbsence(negation, tuple([... if term is None else term(values) for term in terms]))
            for negation, terms in self._negations
        ]
