"""A rule's body, looked through once for all the plans that are made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from whence.analysis.order import Absent, Define, Match, Step, Test, order_body
from whence.analysis.safety import literal_variables
from whence.analysis.typing import body_types, condition_term
from whence.functions.typing import infer
from whence.incremental.constants import with_constants_computed
from whence.model.program import Signature
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Term, variables
from whence.model.types import Type


class Body:
    """What every literal does, by its number in the rule: `parts`. The steps' order is left to a plan."""

    def __init__(self, rule: Rule, relations: Mapping[str, Relation], signatures: Mapping[str, Signature]) -> None:
        self.rule = rule
        self.relations = relations
        self.signatures = signatures
        ordered = order_body(rule)
        self.types = body_types(ordered, relations, signatures)
        self.parts: Mapping[int, Step] = dict(enumerate(self._parts(ordered)))
        self._uses = Counter(
            variable.name
            for found in (
                *(literal_variables(literal) for literal in rule.body),
                *(variables(term) for term in rule.head.terms),
            )
            for variable in found
        )

    def is_used_again(self, name: str) -> bool:
        """Whether a variable stands in the rule more than once. If not, nobody asks for its value."""
        return self._uses[name] > 1

    def type_of(self, term: Term) -> Type:
        return infer(term, self.types, self.signatures).type

    def _parts(self, ordered: tuple[Step, ...]) -> Iterator[Step]:
        definitions = {(id(step.variable), id(step.term)): step for step in ordered if isinstance(step, Define)}
        for literal in self.rule.body:
            match literal:
                case Atom():
                    yield Match(literal)
                case Negation(atom=atom):
                    yield Absent(atom)
                case Comparison(left=left, right=right):
                    sides = ((id(left), id(right)), (id(right), id(left)))
                    found = next((definitions.pop(pair) for pair in sides if pair in definitions), None)
                    yield found or self._test(literal)
                case Condition():
                    yield self._test(literal)

    def _test(self, literal: Literal) -> Test:
        assert isinstance(literal, Comparison | Condition)
        condition = with_constants_computed(condition_term(literal), self.signatures)
        return Test(Condition(condition, span=literal.span))


def needs(part: Step) -> set[str]:
    """The variables that must have a value before a step other than a Match can be taken."""
    return {variable.name for term in _terms(part) for variable in variables(term)}


def _terms(part: Step) -> tuple[Term, ...]:
    match part:
        case Define(term=term):
            return (term,)
        case Match(atom=atom) | Absent(atom=atom):
            return atom.terms
        case Test(literal=literal):
            return (condition_term(literal),)
