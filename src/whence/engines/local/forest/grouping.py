"""Groups of tuples that never meet.

A column that every recursive rule passes on as it is divides the tuples: what follows from those with one value in it
has the same value. Groups can then be grown one after the other, each of them small enough to stay in the cache, and
all with the same proofs as if they were grown together.
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.analysis.components import Component
from whence.engines.local.forest.layout import NOTHING
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.terms import Variable


def passed_on(component: Component, relations: Mapping[str, Relation]) -> int:
    """The first column, the same in all relations of the component, that their rules pass on; NOTHING if none is."""
    own = frozenset(component.relations)
    if not component.recursive:
        return NOTHING
    for column in range(min(relations[name].arity for name in own)):
        if all(_passes_on(rule, own, column) for rule in component.rules):
            return column
    return NOTHING


def _passes_on(rule: Rule, own: frozenset[str], column: int) -> bool:
    head = rule.head.terms[column]
    recursive = [literal for literal in rule.body if isinstance(literal, Atom) and literal.relation in own]
    return not recursive or (
        isinstance(head, Variable)
        and all(isinstance(term := atom.terms[column], Variable) and term.name == head.name for atom in recursive)
    )
