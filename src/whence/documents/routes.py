"""Tables of the nodes that a step of a query can look at. What arrives is put into them by its path of labels.

Whether labels match is known when a path is first seen. So a view reads the few nodes that are at its place, and an
update does not even reach the views of places where nothing came.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from whence.documents.nodes import Path
from whence.documents.positions import Position
from whence.documents.xpath.syntax import ANY_NAME, Step

Reach: TypeAlias = Literal["at", "below"]
"""Nodes at a position, or the elements below those."""

# An underscore at an end would meet the one between words.
_NOT_IN_NAMES = re.compile(r"\W|^_|_$")


@dataclass(frozen=True, eq=False, slots=True)
class Route:
    """A table of a document, with the columns of its table of elements or of its table of texts."""

    document: str
    position: Position
    reach: Reach = "at"

    @property
    def table(self) -> str:
        """`orders_?at_orders_order`: two queries that look at the same nodes share it."""
        words: list[str] = []
        position: Position | None = self.position
        while position is not None:
            words.append(_word(position.step))
            position = position.above
        return "_".join((self.document, f"?{self.reach}", *reversed(words)))

    @property
    def is_of_elements(self) -> bool:
        return self.reach != "at" or self.position.step.kind == "element"

    def declaration(self) -> str:
        values = "" if self.is_of_elements else ", value: symbol, number: float nullable"
        return f".decl {self.table}(node: number, parent: number, path: number{values}) bag"

    def takes(self, path: Path) -> bool:
        """Whether nodes of this path go here."""
        if self.reach == "at":
            return self.position.matches(path)
        return path.kind == "element" and path.parent is not None and self.position.is_around(path.parent)


def _word(step: Step) -> str:
    """The label as part of a name, in which an underscore stands between words and a question mark in no label."""
    axis = "?in_" if step.axis == "descendant" else ""
    if step.kind == "text":
        return f"{axis}?text"
    kind = "?of_" if step.kind == "attribute" else ""
    spelled = _NOT_IN_NAMES.sub(lambda found: f"?{ord(found[0]):x}?", step.name).replace("_", "__")
    return f"{axis}{kind}{'?any' if step.name == ANY_NAME else spelled}"
