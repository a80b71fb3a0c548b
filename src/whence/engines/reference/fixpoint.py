"""A recursive component: R := T(R) from empty, until nothing changes.

Each round computes all relations of the component from those of the round before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from whence.analysis.wording import relation_named
from whence.engines.reference.tables import EMPTY, Table
from whence.engines.reference.view import View
from whence.errors import ConvergenceError
from whence.functions.text import shown
from whence.model.rules import Comparison, Rule
from whence.model.terms import Call, Cast, Skolem, Term, walk
from whence.model.types import Row


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a recursion that makes new values may go: rounds, and rows in one of its relations.

    A recursion that only passes on the values it finds comes to an end by itself and is not limited.
    """

    rounds: int = 1_000
    rows: int = 5_000_000


DEFAULT_LIMITS = Limits()


def fixpoint(views: Sequence[View], below: Mapping[str, Table], limits: Limits) -> dict[str, Table]:
    limited = any(makes_values(rule.rule) for view in views for rule in view.rules)
    tables = {view.name: EMPTY for view in views}
    rounds = 0
    while True:
        around = {**below, **tables}
        following = {view.name: Table(view.counts(around, limits.rows if limited else None)) for view in views}
        changed = [view for view in views if following[view.name].counts != tables[view.name].counts]
        if not changed:
            return tables
        if limited and rounds >= limits.rounds:
            raise _endless(changed, around, following, rounds)
        tables = following
        rounds += 1


def makes_values(rule: Rule) -> bool:
    """Whether the rule can yield values that its input does not hold."""
    computed: list[Term] = list(rule.head.terms)
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.op == "=":
            computed += (literal.left, literal.right)
    return any(isinstance(inner, Call | Cast | Skolem) for term in computed for inner in walk(term))


def _endless(
    changed: Sequence[View], before: Mapping[str, Table], after: Mapping[str, Table], rounds: int
) -> ConvergenceError:
    """The error that names the rules whose rows were still new in the last round."""
    guilty: list[tuple[View, Rule, list[str]]] = []
    for view in changed:
        fresh = {row for row in after[view.name].counts if row not in before[view.name].counts}
        producing = [each for each in view.rules if not fresh.isdisjoint(View(view.relation, [each]).counts(before))]
        # Where rules aggregate several values together, none of them may produce a row alone.
        guilty += [(view, each.rule, _example(fresh)) for each in producing or view.rules]
    view, rule, example = guilty[0]
    return ConvergenceError(
        f"{relation_named(view.name)} does not come to an end: after {rounds:,} rounds it still gets new rows, "
        f"such as ({', '.join(example)})",
        span=rule.span,
        related=[("this rule keeps producing new rows too", other.span) for _, other, _ in guilty[1:]],
        hint=(
            "stop it with a condition on the value that grows, or keep the best row only, with min or max"
            if not any(view.folds for view in changed)
            else "around some cycle the values get better every time, so there is no best one"
        ),
    )


def _example(rows: Collection[Row]) -> list[str]:
    """The same one of these rows every time, as text: the shortest to write, and of those the first."""
    return min(([shown(value) for value in row] for row in rows), key=lambda row: [*map(len, row), *row], default=[])
