"""One step backwards: the uses of rules that a row follows from, found in the rows that are there now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from whence.analysis.components import Component
from whence.engines.evidence import Contents, Derivation, Evidence
from whence.engines.local.recursive.bests import Bests
from whence.engines.local.recursive.matching import Matcher
from whence.engines.local.recursive.rules import folds_of
from whence.engines.reference.groups import Fold
from whence.explain.proofs.absences import Absences
from whence.explain.proofs.reasons import Fact, facts_of
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Term
from whence.model.types import Row

# With these, one member that has the value is enough, however many others there are.
EXTREMES = ("min", "max")


class Backwards:
    """The rules of a program from their heads. What it makes of a rule is kept for the next question."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        analysis = evidence.analysis
        self.relations = analysis.relations
        self._rules: dict[str, list[Rule]] = {}
        self.component: dict[str, Component] = {}
        for component in analysis.components:
            for name in component.relations:
                self.component[name] = component
            for rule in component.rules:
                self._rules.setdefault(rule.head.relation, []).append(rule)
        self._matchers: dict[str, tuple[Matcher, ...]] = {}
        self._witnesses: dict[str, tuple[tuple[Matcher, ...], ...]] = {}
        self.sources = _Sources(evidence)
        self.absences = Absences(self.relations, evidence.functions)
        self._owing = _owing(analysis.components, self.relations)

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
        return all(name in EXTREMES for name in functions) and not self._reads_owing(relation)

    def is_signed(self, relation: str) -> bool:
        """Whether a row is there by a sum to which rules may also contribute with a minus."""
        return any(rule.sign < 0 for rule in self.rules(relation)) or self._reads_owing(relation)

    def count(self, fact: Fact) -> int:
        relation, row = fact
        return self.evidence.contents(relation).count(row)

    def weight(self, way: Derivation) -> int:
        """How often one use of a rule counts."""
        weight = way.rule.sign
        for fact in facts_of(way):
            if not self.relations[fact[0]].distinct:
                weight *= self.count(fact)
        return weight

    def ways(self, fact: Fact) -> Iterator[Derivation]:
        """All uses of rules that give the row; of an aggregated relation, all members of its group."""
        relation, row = fact
        if self.is_aggregated(relation):
            kept = {position for position in range(len(row)) if position not in self._rules[relation][0].aggregates}
            row = tuple([value for position, value in enumerate(row) if position in kept])
        for matcher in self.matchers(relation):
            for found in matcher.backwards(row, self.sources):
                yield Derivation(matcher.rule, found.body)

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
            known = tuple([self._matcher(rule, folds) for rule in self._rules[relation]])
            self._matchers[relation] = known
        return known

    def _for_witnesses(self, relation: str) -> tuple[tuple[Matcher, ...], ...]:
        """The rules with one aggregate replaced by what it is taken of, so that its value can be looked up."""
        known = self._witnesses.get(relation)
        if known is None:
            rules, folds = self._rules[relation], self.folds(relation)
            known = self._witnesses[relation] = tuple(
                [
                    tuple(
                        [
                            self._matcher(_plain_at(rule, position), [f for f in folds if f is not fold])
                            for rule in rules
                        ]
                    )
                    for position, fold in zip(rules[0].aggregates, folds, strict=True)
                ]
            )
        return known

    def folds(self, relation: str) -> list[Fold]:
        """How the aggregates of a relation are computed, one for each."""
        return folds_of(self._rules[relation], self.relations, self.evidence.functions)

    def _matcher(self, rule: Rule, folds: Sequence[Fold]) -> Matcher:
        """`folds` are those of the aggregates that the rule's head has; what count<*> counts has no type."""
        aggregates = [term for term in rule.head.terms if isinstance(term, Aggregate)]
        inputs = [f.input for f, term in zip(folds, aggregates, strict=True) if term.argument is not None]
        return Matcher(0, rule, self.relations, self.evidence.functions, (), inputs, self.evidence.size)

    def _reads_owing(self, relation: str) -> bool:
        return any(
            isinstance(literal, Atom) and literal.relation in self._owing
            for rule in self.rules(relation)
            for literal in rule.body
        )


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


def _owing(components: tuple[Component, ...], relations: Mapping[str, Relation]) -> frozenset[str]:
    """The bags whose rows can be there less than zero times, because some rule takes away."""
    found: set[str] = set()
    for component in components:
        for rule in component.rules:
            relation = relations[rule.head.relation]
            reads = {literal.relation for literal in rule.body if isinstance(literal, Atom)}
            if not relation.distinct and not rule.aggregates and (rule.sign < 0 or reads & found):
                found.add(relation.name)
    return frozenset(found)
