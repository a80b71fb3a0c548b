"""How old contents are used for new definitions: planned before anything happens, and measured when it has."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_

from whence.engines.engine import Engine
from whence.model.rules import Rule
from whence.model.updates import Update
from whence.rewriting.adaptation import Adaptation, TableChanges, adaptation
from whence.rewriting.conjunction import forget_recent
from whence.rewriting.search import DEFAULT_SEARCH, SearchLimits
from whence.rewriting.signed_union import summed
from whence.session.definitions import Definitions

# Until the first plan has been measured: thirty million rows in a second.
SECONDS_PER_ROW = 3e-8
# Smaller plans are dominated by what does not depend on rows.
LEAST_MEASURED_ROWS = 10_000


class AdaptationPlanner:
    """Plans for one engine. What its plans take per row is learned, so that the time for a search is a fraction of what
    a view takes from scratch here.
    """

    def __init__(self, engine: Engine, limits: SearchLimits = DEFAULT_SEARCH) -> None:
        self._engine = engine
        self.limits = limits
        # Off for comparisons.
        self.is_used = True
        self.seconds_per_row = SECONDS_PER_ROW
        forget_recent()

    def plan(
        self,
        before: Definitions,
        after: Definitions,
        update: Update,
        altered: Mapping[str, Rule] | None = None,
        limits: SearchLimits | None = None,
    ) -> Adaptation | None:
        """None where there is nothing to be used: nothing of what was there is defined otherwise."""
        adapts = self._engine.capabilities.adaptation
        if not self.is_used or adapts is None or after is before or _is_extended(before, after):
            return None
        plan_costs = adapts.plan_costs()
        if plan_costs is None:
            return None
        functions = {**before.functions, **after.functions}
        changed = {name for name in functions if before.functions.get(name) != after.functions.get(name)}
        tables = TableChanges(
            {name: len(delta) for name, delta in update.deltas.items()},
            {name: summed([rule]) for name, rule in (altered or {}).items()},
        )
        return adaptation(
            before.waiting.computable,
            after.waiting.computable,
            adapts.statistics(),
            tables,
            changed,
            limits or self.limits,
            self.seconds_per_row,
            plan_costs,
        )

    def learn(self, plan: Adaptation, seconds: float) -> None:
        """What a plan has really taken."""
        if plan.cost >= LEAST_MEASURED_ROWS:
            measured = seconds / plan.cost
            self.seconds_per_row = (self.seconds_per_row + measured) / 2


def _is_extended(before: Definitions, after: Definitions) -> bool:
    """Whether all that was there is there as it was."""
    known = before.analysis.components
    return len(after.analysis.components) >= len(known) and all(map(is_, known, after.analysis.components))
