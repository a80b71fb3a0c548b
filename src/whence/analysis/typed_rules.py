"""Rules as analysis leaves them: their steps in order, the types of their terms, found once, and terms as functions.

Planners and engines take these. What a literal of the body does does not depend on the order, which is only
one in which every step finds its variables bound: planners choose their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from whence.analysis.order import Absent, Define, Match, Step, Test, order_body
from whence.analysis.typing import body_types, condition_term, defined_types
from whence.errors import EvaluationError
from whence.functions.builtin import BUILTINS
from whence.functions.evaluate import compile_term, compile_typed
from whence.functions.types import Typed, TypedTerm, annotate, fits, infer
from whence.functions.widening import is_exact
from whence.model.program import Functions, Signature
from whence.model.rules import COMPARISONS, Atom, Comparison, Condition, Negation, Rule, rule_terms
from whence.model.schema import Relation
from whence.model.terms import Call, Cast, Constant, Term, Variable, children, fold, variables, walk
from whence.model.types import NULL, STRING, Type, Value
from whence.model.types.base import converter, unchanged

# The values of a rule's variables; terms are functions of them.
Environment: TypeAlias = Mapping[str, Value]
# A derivation of a body, or the first steps of it, and how often it counts.
Binding: TypeAlias = tuple[Environment, int]
Computed: TypeAlias = Callable[[Environment], Value]
Conversion: TypeAlias = Callable[[Value], Value]


@dataclass(frozen=True, eq=False)
class TypedRule:
    """`relations` are those that the rule names, the head's included. `types` has every variable, as wide as the widest
    column that binds it, and nullable if it can be NULL at any step.
    """

    rule: Rule
    steps: tuple[Step, ...]
    relations: Mapping[str, Relation]
    signatures: Mapping[str, Signature]
    types: Mapping[str, Typed]
    _annotated: dict[int, TypedTerm] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def parts(self) -> Mapping[int, Step]:
        """What every literal of the body does, by its number."""
        return dict(enumerate(self._parts()))

    def annotated(self, term: Term) -> TypedTerm:
        """A term over the rule's variables, with the types of all its parts. Those of its own are inferred once."""
        if id(term) not in self._own_terms:
            return annotate(term, self.types, self.signatures)
        known = self._annotated.get(id(term))
        if known is None:
            known = self._annotated[id(term)] = annotate(term, self.types, self.signatures)
        return known

    def typed(self, term: Term) -> Typed:
        match term:
            case Variable(name=name) if name in self.types:
                return self.types[name]
            case Constant(type=kind, value=value):
                return Typed(kind, value is None)
        return self.annotated(term).typed

    def type_of(self, term: Term) -> Type:
        return self.typed(term).type

    def is_used_again(self, name: str) -> bool:
        """Whether a variable stands in the rule more than once. If not, its value is not needed."""
        return self._uses[name] > 1

    @cached_property
    def _uses(self) -> Counter[str]:
        return Counter(variable.name for term in rule_terms(self.rule) for variable in variables(term))

    @cached_property
    def _own_terms(self) -> frozenset[int]:
        """By identity, since equal terms may stand in two places. They live as long as the rule."""
        tests = [condition_term(part.literal) for part in self.parts.values() if isinstance(part, Test)]
        return frozenset(id(part) for term in (*rule_terms(self.rule), *tests) for part in walk(term))

    def _parts(self) -> Iterator[Step]:
        definitions = {(id(step.variable), id(step.term)): step for step in self.steps if isinstance(step, Define)}
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

    def _test(self, literal: Comparison | Condition) -> Test:
        condition = with_constants_computed(condition_term(literal), self.signatures)
        return Test(Condition(condition, span=literal.span))


def typed_rule(rule: Rule, relations: Mapping[str, Relation], signatures: Mapping[str, Signature]) -> TypedRule:
    """For a rule that was made from others after their analysis. Raises what analysis raises."""
    steps = order_body(rule)
    return TypedRule(rule, steps, _named(rule, relations), signatures, body_types(steps, relations, signatures))


def checked_rule(
    rule: Rule, steps: tuple[Step, ...], relations: Mapping[str, Relation], signatures: Mapping[str, Signature]
) -> TypedRule:
    """For a rule that was ordered before, and whose terms were checked then."""
    return TypedRule(rule, steps, _named(rule, relations), signatures, defined_types(steps, relations, signatures))


def _named(rule: Rule, relations: Mapping[str, Relation]) -> dict[str, Relation]:
    # Not all there are: a component outlives the analysis that found it.
    return {name: relations[name] for name in (rule.head.relation, *rule.reads) if name in relations}


COMPARING = (*COMPARISONS, "<=>", "in")


def with_constants_computed(condition: Term, signatures: Mapping[str, Signature]) -> Term:
    """The condition with the constant operands of its comparisons computed.

    Other constant terms stay: the type of arithmetic can depend on how a constant is written.
    """

    def rebuilt(part: Term, arguments: Sequence[Term]) -> Term:
        if not isinstance(part, Call):
            return part
        if part.function in COMPARING:
            arguments = [_computed(argument, signatures) for argument in arguments]
        return Call(part.function, tuple(arguments), span=part.span)

    return fold(condition, rebuilt)


def _computed(term: Term, signatures: Mapping[str, Signature]) -> Term:
    if not children(term) or not all(map(_is_constant, walk(term))):
        return term
    kind = infer(term, {}, signatures).type
    if kind == STRING:
        # A constant text would be read as a date where it is compared with one; a computed text is not.
        return term
    try:
        value = compile_term(term, {}, signatures, {})({})
    except EvaluationError:
        # It is an error of the rows that need it.
        return term
    return Constant(value, kind, span=term.span)


def _is_constant(part: Term) -> bool:
    return isinstance(part, Constant | Cast) or (isinstance(part, Call) and part.function in BUILTINS)


class Scope:
    """What a rule's terms can see: its variables' types, the relations, the functions."""

    def __init__(self, rule: TypedRule, functions: Functions) -> None:
        self.relations = rule.relations
        self.signatures = rule.signatures
        self.implementations = {name: function.python for name, function in functions.items()}
        self.types = rule.types
        self._rule = rule

    def type_of(self, term: Term) -> Type:
        return self._rule.type_of(term)

    def compute(self, term: Term, target: Type | None = None) -> Computed:
        """The term's value, converted to `target` where that is another type."""
        return compile_typed(self._rule.annotated(term), self.signatures, self.implementations, target)

    def compute_row(self, term: Term, target: Type, names: Sequence[str]) -> Callable[[Any], Value]:
        """The same, from a row with the values of these variables."""
        places = {name: place for place, name in enumerate(names)}
        return compile_typed(self._rule.annotated(term), self.signatures, self.implementations, target, places)

    def compute_for(self, term: Term, column: Type) -> Computed | None:
        """The term's value as the column holds equal ones; None if it is the column that must be widened."""
        source = self.type_of(term)
        if is_exact(source) and is_exact(column):
            # Python finds 1 and Decimal("1.00") under the same key.
            return self.compute(term)
        return self.compute(term, column) if fits(source, column) else None


def conversion(source: Type, target: Type) -> Conversion | None:
    """What widens a column's values; None where there is nothing to do."""
    convert = unchanged if source in (target, NULL) else converter(source, target)
    return None if convert is unchanged else lambda value: None if value is None else convert(value)
