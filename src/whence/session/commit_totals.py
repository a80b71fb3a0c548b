"""What the commits of a process add up to, for those who watch it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from whence.model.updates import Commit


@dataclass(slots=True)
class CommitTotals:
    """How many commits there were, the seconds that they took, and their metrics: added up, and those of the last."""

    commits: int = 0
    seconds: float = 0.0
    summed: defaultdict[str, int | float] = field(default_factory=lambda: defaultdict(int))
    last: Mapping[str, int | float] = field(default_factory=dict)

    def add(self, commit: Commit) -> Commit:
        self.commits += 1
        self.seconds += commit.elapsed
        for name, value in commit.metrics.items():
            if value:
                self.summed[name] += value
        self.last = commit.metrics
        return commit
