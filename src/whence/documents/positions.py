"""Where a step of a query can be matched, told by the labels of a path alone."""

from __future__ import annotations

from dataclasses import dataclass

from whence.documents.nodes import Path, ancestors
from whence.documents.xpath.syntax import ANY_NAME, Step


@dataclass(frozen=True, eq=False, slots=True)
class Position:
    """A step of a query, below another or below the root."""

    step: Step
    above: Position | None

    def is_at(self, path: Path) -> bool:
        """Whether the labels of a path match the steps down to this one."""
        if self.step.kind != path.kind or (self.step.name != ANY_NAME and self.step.label != path.label):
            return False
        if self.step.axis == "child":
            return path.above.parent is None if self.above is None else self.above.matches(path.above)
        return self.above is None or self.above.is_around(path.above)

    def matches(self, path: Path) -> bool:
        """As `is_at`, of any path: the root is matched by no step."""
        return path.parent is not None and self.is_at(path)

    def is_around(self, path: Path) -> bool:
        """Whether the path, or one that it begins with, is matched."""
        return any(self.matches(each) for each in ancestors(path))
