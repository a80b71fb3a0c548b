"""What is said of a recursion that does not come to an end."""

from __future__ import annotations

from whence.analysis.components import Component
from whence.analysis.wording import relation_named
from whence.engines.reference.fixpoint import Limits, makes_values
from whence.errors import ConvergenceError
from whence.functions.text import shown
from whence.model.rules import Rule
from whence.model.types import Row


class Brake:
    """Stops a component whose rules make new values when it goes too deep or grows too large."""

    def __init__(self, component: Component, limits: Limits) -> None:
        self._limits = limits
        self._aggregated = component.aggregated
        self._limited = any(makes_values(rule) for rule in component.rules)
        # How deep derivations may get; no depth is too great for rules that only pass on the values they find.
        self.depth: float = limits.rounds if self._limited else float("inf")

    def check_size(self, size: int, rule: Rule) -> None:
        """After a relation of this size got its newest row by the rule."""
        if self._limited and size > self._limits.rows and rule.head.relation not in self._aggregated:
            raise ConvergenceError(
                f"{relation_named(rule.head.relation)} grows without end: it has more than {self._limits.rows:,} rows",
                span=rule.span,
                hint="stop the recursion with a condition on the value that grows",
            )

    def too_deep(self, row: Row, rule: Rule) -> ConvergenceError:
        """For a row that the rule derives too many steps away from the input."""
        return ConvergenceError(
            f"{relation_named(rule.head.relation)} does not come to an end: after {self._limits.rounds:,} rounds it "
            f"still gets new rows, such as ({', '.join(map(shown, row))})",
            span=rule.span,
            hint=(
                "around some cycle the values get better every time, so there is no best one"
                if self._aggregated
                else "stop it with a condition on the value that grows, or keep the best row only, with min or max"
            ),
        )
