"""Recursion as Spark's UNION ALL has it: a bag, whose first column counts the levels.

    walk(0, x) :- start(x).
    walk(n + 1, y) :- walk(n, x), step(x, y).

A level follows from the one before it alone, so that a row has a count on every level, also around a cycle. There the
levels have no end, so that they have a limit, which is Spark's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from whence.analysis.components import Component
from whence.errors import ConvergenceError
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation, relation_named
from whence.model.terms import Call, Constant, Variable

MAX_LEVELS = 100  # spark.sql.cteRecursionLevelLimit, the start included


def is_leveled(relations: Collection[str], rules: Collection[Rule]) -> bool:
    """Whether the rules of a recursive relation count the levels in its first column."""
    return len(relations) == 1 and all(_counts(rule, relations) for rule in rules)


def _counts(rule: Rule, relations: Collection[str]) -> bool:
    if rule.sign < 0 or rule.aggregates or rule.windows or not rule.head.terms:
        return False
    own = [literal for literal in rule.body if isinstance(literal, Atom) and literal.relation in relations]
    if sum(name in relations for name in (atom.relation for atom in rule.body_atoms)) != len(own) or len(own) > 1:
        return False
    match rule.head.terms[0]:
        case Constant(value=0):
            return not own
        case Call(function="+", arguments=(Variable() as level, Constant(value=1))):
            return len(own) == 1 and own[0].terms[0] == level
    return False


def is_bag_recursion(component: Component, relations: Mapping[str, Relation]) -> bool:
    """Whether a component is kept level by level; other recursions are sets."""
    return component.recursive and not component.aggregated and not relations[component.relations[0]].distinct


def too_many_levels(rule: Rule) -> ConvergenceError:
    return ConvergenceError(
        f"the recursion of {relation_named(rule.head.relation)} has more than {MAX_LEVELS} levels",
        span=rule.span,
        hint="with UNION ALL rows come again and again around a cycle; UNION ends when nothing new comes",
    )
