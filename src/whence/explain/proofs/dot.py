"""A proof for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whence.explain.proofs.drawing import Drawing

if TYPE_CHECKING:
    from whence.explain.proofs.proof import Proof

_SHAPES = {"base": "box", "absent": "note"}


def dot(proof: Proof) -> str:
    return "\n".join(_lines(Drawing(proof))) + "\n"


def _lines(drawing: Drawing) -> Iterator[str]:
    yield "digraph proof {"
    yield "  rankdir=TB; node [fontname=Helvetica];"
    for number, box in enumerate(drawing.boxes):
        label = _quoted("\n".join(part for part in (box.title, box.note) if part))
        yield f"  n{number} [shape={_SHAPES.get(box.kind, 'ellipse')}, label={label}];"
    for above, below in drawing.lines:
        yield f"  n{above} -> n{below};"
    yield "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
