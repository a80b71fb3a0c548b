"""Costs of inputs that a key fixes.

A table may hold one row only for the columns beside a cost. Where rules use that cost in a min or max and nowhere else,
a row with another cost is still the same tuple, which has become better or worse, and all derivations stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from whence.engines.local.forest.planning import PlannedRule
from whence.engines.local.forest.values import ValueColumn
from whence.model.schema import Relation
from whence.model.terms import Variable, Wildcard


def fixed_cost(relation: Relation, value: ValueColumn, rules: Sequence[PlannedRule]) -> ValueColumn:
    """The same column with a sign, if it is fixed by the others and all rules agree on what is better."""
    key = [relation.column_names.index(name) for name in relation.key]
    if not key or value.position in key:
        return value
    signs = {sign for rule in rules for sign in _signs(rule, relation.name, value.position)}
    return replace(value, sign=signs.pop()) if len(signs) == 1 else value


def _signs(rule: PlannedRule, relation: str, position: int) -> Iterator[int]:
    """What is better for the rule, wherever it reads the column; 0 where that is more than a cost, or not certain."""
    trends = {} if rule.value is None else rule.value.trends()
    for at, atom in enumerate(rule.atoms):
        if atom.relation == relation and not isinstance(term := atom.terms[position], Wildcard):
            is_cost = isinstance(term, Variable) and rule.reads(term.name) == 1
            yield rule.sign * trends.get(at, 0) if is_cost else 0
