"""What stops a recursion that does not come to an end."""

from __future__ import annotations

from collections.abc import Callable

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits, makes_values, too_deep, too_large, too_much_work
from whence.errors import ConvergenceError, shown
from whence.model.rules import Rule
from whence.model.types import Row


class ConvergenceLimit:
    """Stops a component whose rules make new values when it goes too deep, grows too large or takes too much work."""

    def __init__(self, component: Component, limits: RecursionLimits) -> None:
        self._limits = limits
        self._aggregated = component.aggregated
        self._limited = any(makes_values(rule) for rule in component.rules)
        # How deep derivations may get; no depth is too great for rules that only pass on the values they find.
        self.depth: float = limits.rounds if self._limited else float("inf")
        self.begin(0)

    def begin(self, rows: int) -> None:
        """A change begins, with so many rows in the component."""
        self._rows, self._matches = rows, 0

    def grew(self, rows: int = 1) -> None:
        """The component has a row more, or so many, which may be matched as well."""
        self._rows += rows

    def counter(self, rule: Rule) -> Callable[[int], None] | None:
        """Counts partial matches of a rule's body with rows, so many more; None where their number does not matter."""
        if not self._limited:
            return None

        def count(matches: int) -> None:
            self._matches += matches
            self.check_matches(self._matches, self._rows, rule)

        return count

    def most_matches(self, rows: int) -> int | None:
        """How many matches there may be with so many rows in the component; None where it does not matter."""
        return self._limits.matches_for(rows) if self._limited else None

    def check_matches(self, matches: int, rows: int, rule: Rule) -> None:
        """After so many matches in all, the last of the rule, with so many rows in the component."""
        most = self._limits.matches_for(rows)
        if self._limited and matches > most:
            raise too_much_work(rule, most)

    def check_size(self, size: int, rule: Rule) -> None:
        """After a relation of this size got its newest row by the rule."""
        if self._limited and size > self._limits.rows and rule.head.relation not in self._aggregated:
            raise too_large(rule, self._limits.rows)

    def too_deep(self, row: Row, rule: Rule) -> ConvergenceError:
        """For a row that the rule derives too many steps away from the input."""
        return too_deep(rule, list(map(shown, row)), self._limits.rounds, improves=bool(self._aggregated))
