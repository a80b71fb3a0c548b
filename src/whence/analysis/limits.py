"""How far a recursion that makes new values may go, on every engine, and the errors for one that goes further."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whence.errors import ConvergenceError, Hint, NextStep
from whence.model.rules import Comparison, Rule
from whence.model.schema import relation_named
from whence.model.span import Span
from whence.model.terms import Call, Cast, Skolem, Term, walk


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
