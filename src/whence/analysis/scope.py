"""Terms as functions of a rule's variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from whence.analysis.typed_rules import TypedRule
from whence.functions.evaluate import compile_typed
from whence.functions.types import fits
from whence.functions.widening import is_exact
from whence.model.program import Functions
from whence.model.terms import Term
from whence.model.types import NULL, Type, Value
from whence.model.types.base import converter, unchanged

# The values of a rule's variables.
Environment: TypeAlias = Mapping[str, Value]
# A derivation of a body, or the first steps of it, and how often it counts.
Binding: TypeAlias = tuple[Environment, int]
Computed: TypeAlias = Callable[[Environment], Value]
Conversion: TypeAlias = Callable[[Value], Value]


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
