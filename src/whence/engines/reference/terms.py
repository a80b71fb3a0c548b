"""Terms as functions of a rule's variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from whence.analysis.typing import variable_types
from whence.engines.engine import Functions
from whence.functions import cast
from whence.functions.evaluate import compile_term
from whence.functions.typing import fits, infer
from whence.functions.widening import is_exact
from whence.model.rules import Comparison, Condition, Rule
from whence.model.schema import Relation
from whence.model.terms import Call, Cast, Term
from whence.model.types import NULL, Type, Value

# The values of a rule's variables.
Environment: TypeAlias = Mapping[str, Value]
# A way to satisfy a body, or the first steps of it, and how often it counts.
Binding: TypeAlias = tuple[Environment, int]
Computed: TypeAlias = Callable[[Environment], Value]
Conversion: TypeAlias = Callable[[Value], Value]


class Scope:
    """What a rule's terms can see: its variables' types, the relations, the functions."""

    def __init__(self, rule: Rule, relations: Mapping[str, Relation], functions: Functions) -> None:
        self.relations = relations
        self.signatures = {name: function.signature for name, function in functions.items()}
        self.implementations = {name: function.python for name, function in functions.items()}
        self.types = variable_types(rule, relations, self.signatures)

    def type_of(self, term: Term) -> Type:
        return infer(term, self.types, self.signatures).type

    def compute(self, term: Term, target: Type | None = None) -> Computed:
        """The term's value, converted to `target` where that is another type."""
        if target is not None and self.type_of(term) not in (target, NULL):
            term = Cast(term, target, span=term.span)
        return compile_term(term, self.types, self.signatures, self.implementations)

    def compute_for(self, term: Term, column: Type) -> Computed | None:
        """The term's value as the column holds equal ones; None if it is the column that must be widened."""
        source = self.type_of(term)
        if is_exact(source) and is_exact(column):
            # Python finds 1 and Decimal("1.00") under the same key.
            return self.compute(term)
        return self.compute(term, column) if fits(source, column) else None


def as_term(literal: Comparison | Condition) -> Term:
    """The Boolean term that a comparison or condition is."""
    if isinstance(literal, Condition):
        return literal.term
    return Call(literal.op, (literal.left, literal.right), span=literal.span)


def conversion(source: Type, target: Type) -> Conversion | None:
    """What widens a column's values; None where there is nothing to do."""
    convert = cast.unchanged if source in (target, NULL) else cast.converter(source, target)
    return None if convert is cast.unchanged else lambda value: None if value is None else convert(value)
