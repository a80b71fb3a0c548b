"""How far a recursion may go, on every engine, and the errors for one that goes further.

One that makes new values has limits of rounds, rows and work. Recursion as Spark's UNION ALL has it is a bag, whose
first column counts the levels:

    walk(0, x) :- start(x).
    walk(n + 1, y) :- walk(n, x), step(x, y).

A level follows from the one before it alone, so that a row has a count on every level, also around a cycle. There the
levels have no end, so that they have a limit, which is Spark's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from whence.analysis.components import Component
from whence.errors import ConvergenceError, Hint, NextStep
from whence.model.rules import Atom, Comparison, Rule
from whence.model.schema import Relation, relation_named
from whence.model.span import Span
from whence.model.terms import Call, Cast, Constant, Skolem, Term, Variable, walk

MAX_LEVELS = 100  # spark.sql.cteRecursionLevelLimit, the start included


@dataclass(frozen=True, slots=True)
class RecursionLimits:
    """How far a recursion that makes new values may go: rounds, rows in one of its relations, and matches of rules with
    rows, of which there may be some more for every row that is there.

    A recursion that only passes on the values it finds comes to an end by itself and is not limited.
    """

    rounds: int = 1_000
    rows: int = 5_000_000
    matches: int = 5_000_000

    @classmethod
    def for_rounds(cls, rounds: int) -> RecursionLimits:
        """More rounds allow more of everything."""
        times = max(1, rounds / cls().rounds)
        return cls(rounds, int(times * cls().rows), int(times * cls().matches))

    def matches_for(self, rows: int) -> int:
        # Paths between n places are n * n rows, and n * n * n matches of two paths that meet.
        return self.matches + int(4 * rows**1.5)


DEFAULT_LIMITS = RecursionLimits()


def makes_values(rule: Rule) -> bool:
    """Whether the rule can yield values that its input does not hold."""
    computed: list[Term] = list(rule.head.terms)
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.op == "=":
            computed += (literal.left, literal.right)
    return any(isinstance(inner, Call | Cast | Skolem) for term in computed for inner in walk(term))


_MORE = NextStep("max_rounds", "whence.connect(max_rounds=...)")


def too_deep(
    rule: Rule, row: Sequence[str], rounds: int, *, improves: bool, related: Sequence[tuple[str, Span | None]] = ()
) -> ConvergenceError:
    """For a row, as text, that the rule derives after so many rounds."""
    advice = (
        "around some cycle the values get better every time, so there is no best one"
        if improves
        else "stop it with a condition on the value that grows, or keep the best row only, with min or max"
    )
    return ConvergenceError(
        f"{relation_named(rule.head.relation)} does not come to an end: after {rounds:,} rounds it still gets new "
        f"rows, such as ({', '.join(row)})",
        span=rule.span,
        related=related,
        hint=Hint(f"{advice}; if it does end, {{}} allows more rounds", (_MORE,)),
    )


def too_large(rule: Rule, rows: int) -> ConvergenceError:
    """For a relation that has more than so many rows, the newest by the rule."""
    return ConvergenceError(
        f"{relation_named(rule.head.relation)} grows without end: it has more than {rows:,} rows",
        span=rule.span,
        hint=Hint(
            "stop the recursion with a condition on the value that grows; if it does end, {} allows more", (_MORE,)
        ),
    )


def too_much_work(rule: Rule, matches: int) -> ConvergenceError:
    """For a rule whose body was matched with rows more than so many times, all rules of its recursion together."""
    return ConvergenceError(
        f"{relation_named(rule.head.relation)} does not come to an end: its rules were matched with rows more than "
        f"{matches:,} times, and still are",
        span=rule.span,
        hint=Hint(
            "stop it with a condition on the value that grows, or join fewer rows in one rule; if it does end, {} "
            "allows more",
            (_MORE,),
        ),
    )


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
