"""What a picture of a proof shows: every row once, and lines to the rows that it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whence.explain.proofs.text import heading
from whence.explain.proofs.words import in_a_line

if TYPE_CHECKING:
    from whence.explain.proofs.proof import Proof, Step

# A picture of more is of no use to anybody.
_MOST_BOXES = 400


class Box(NamedTuple):
    """`note` is the rule by which the row is there, or what is left out below it."""

    kind: str
    title: str
    note: str
    label: str


class Drawing:
    """Boxes, and lines between them by their numbers, from a row to what it rests on."""

    def __init__(self, proof: Proof) -> None:
        self.boxes: list[Box] = []
        self.lines: list[tuple[int, int]] = []
        self._numbers: dict[object, int] = {}
        todo: list[tuple[Step, int | None]] = [(root, None) for root in reversed(proof.roots)]
        while todo:
            step, above = todo.pop()
            is_new, number = self._number(step)
            if number is None:
                continue
            if above is not None and (above, number) not in self.lines[-_MOST_BOXES:]:
                self.lines.append((above, number))
            if is_new:
                todo.extend((child, number) for child in reversed(step.children))

    def _number(self, step: Step) -> tuple[bool, int | None]:
        """Whether the step has a new box, and its number; None if there is no room for one."""
        shown = step if step.again_at is None else step.again_at
        key: object = shown if shown.kind in ("member", "absent") else shown.fact
        known = self._numbers.get(key)
        if known is not None:
            return False, known
        if len(self.boxes) >= _MOST_BOXES:
            return False, None
        number = self._numbers[key] = len(self.boxes)
        self.boxes.append(_box(shown))
        return True, number


def _box(step: Step) -> Box:
    note = in_a_line(step.rule or "")
    if step.kind in ("base", "absent"):
        note = ""
    return Box(step.kind, heading(step), note, step.label)
