"""A proof as a picture: what it shows, for Graphviz and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from whence.explain.proofs.text import heading, in_a_line

if TYPE_CHECKING:
    from whence.explain.proofs.proof import Proof, ProofStep

# A picture of more boxes cannot be read.
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
        todo: list[tuple[ProofStep, int | None]] = [(root, None) for root in reversed(proof.roots)]
        while todo:
            step, above = todo.pop()
            is_new, number = self._number(step)
            if number is None:
                continue
            if above is not None and (above, number) not in self.lines[-_MOST_BOXES:]:
                self.lines.append((above, number))
            if is_new:
                todo.extend((child, number) for child in reversed(step.children))

    def _number(self, step: ProofStep) -> tuple[bool, int | None]:
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


def _box(step: ProofStep) -> Box:
    note = in_a_line(step.rule or "")
    if step.kind in ("base", "absent"):
        note = ""
    return Box(step.kind, heading(step), note, step.label)


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


_CHARACTER, _LINE, _GAP, _BETWEEN, _MARGIN, _PADDING = 7.3, 17, 22, 46, 16, 10
_WIDEST = 44
_COLOURS = {
    "base": ("#e7f3ec", "#2f7d4f"),
    "absent": ("#fbeae7", "#b3452f"),
    "aggregate": ("#fdf3dc", "#a9761a"),
    "sum": ("#fdf3dc", "#a9761a"),
    "open": ("#f1f1f1", "#888888"),
}
_OTHERS = ("#e8eefb", "#3a5fb0")
# Sweeps over the layers that bring boxes near to those they are joined with.
_SWEEPS = 4


class Place(NamedTuple):
    x: float
    y: float
    width: float
    height: float


def svg(proof: Proof) -> str:
    drawing = Drawing(proof)
    texts = [[*_broken(box.title), *_broken(box.note)] for box in drawing.boxes]
    places = _places(drawing, texts)
    width = max(place.x + place.width for place in places) + _MARGIN
    height = max(place.y + place.height for place in places) + _MARGIN
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="ui-monospace, DejaVu Sans Mono, monospace" '
        'font-size="12">'
    )
    parts = [
        opening,
        f"<title>{escape(f'why {drawing.boxes[0].title}')}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        *_joined(drawing, places),
        *(_drawn(box, lines, place) for box, lines, place in zip(drawing.boxes, texts, places, strict=True)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _broken(text: str) -> Iterator[str]:
    """In lines that are not too wide."""
    line = ""
    for word in text.split(" "):
        piece = word
        while len(piece) > _WIDEST:
            if line:
                yield line
                line = ""
            yield piece[:_WIDEST]
            piece = piece[_WIDEST:]
        if line and len(line) + 1 + len(piece) > _WIDEST:
            yield line
            line = piece
        else:
            line = f"{line} {piece}" if line else piece
    if line:
        yield line


def _places(drawing: Drawing, texts: Sequence[list[str]]) -> list[Place]:
    layers = _layers(drawing)
    sizes = [
        (max(map(len, lines)) * _CHARACTER + 2 * _PADDING, len(lines) * _LINE + 2 * _PADDING - 5) for lines in texts
    ]
    widest = max(sum(sizes[box][0] for box in layer) + _GAP * (len(layer) - 1) for layer in layers)
    places: dict[int, Place] = {}
    y = float(_MARGIN)
    for layer in layers:
        total = sum(sizes[box][0] for box in layer) + _GAP * (len(layer) - 1)
        x = _MARGIN + (widest - total) / 2
        for box in layer:
            width, height = sizes[box]
            places[box] = Place(x, y, width, height)
            x += width + _GAP
        y += max(sizes[box][1] for box in layer) + _BETWEEN
    return [places[box] for box in range(len(texts))]


def _layers(drawing: Drawing) -> list[list[int]]:
    """Each box below all that rest on it, and near to them."""
    above: dict[int, list[int]] = {box: [] for box in range(len(drawing.boxes))}
    below: dict[int, list[int]] = {box: [] for box in range(len(drawing.boxes))}
    for high, low in drawing.lines:
        above[low].append(high)
        below[high].append(low)
    level = dict.fromkeys(above, 0)
    left = {box: len(highs) for box, highs in above.items()}
    ready = [box for box, number in left.items() if not number]
    for box in ready:
        for low in below[box]:
            level[low] = max(level[low], level[box] + 1)
            left[low] -= 1
            if not left[low]:
                ready.append(low)
    layers: list[list[int]] = [[] for _ in range(max(level.values()) + 1)]
    for box in above:
        layers[level[box]].append(box)
    for sweep in range(_SWEEPS):
        neighbours, order = (above, layers[1:]) if sweep % 2 == 0 else (below, layers[-2::-1])
        position = {box: at / max(1, len(layer) - 1) for layer in layers for at, box in enumerate(layer)}
        for layer in order:
            means = {
                box: sum(position[each] for each in neighbours[box]) / len(neighbours[box])
                if neighbours[box]
                else position[box]
                for box in layer
            }
            layer.sort(key=means.__getitem__)
            position.update((box, at / max(1, len(layer) - 1)) for at, box in enumerate(layer))
    return layers


def _joined(drawing: Drawing, places: Sequence[Place]) -> Iterator[str]:
    for high, low in drawing.lines:
        top, bottom = places[high], places[low]
        x1, y1 = top.x + top.width / 2, top.y + top.height
        x2, y2 = bottom.x + bottom.width / 2, bottom.y
        bend = (y2 - y1) / 2
        yield (
            f'<path d="M{x1:.1f},{y1:.1f} C{x1:.1f},{y1 + bend:.1f} {x2:.1f},{y2 - bend:.1f} {x2:.1f},{y2:.1f}" '
            'fill="none" stroke="#8a8f98" stroke-width="1.3"/>'
        )


def _drawn(box: Box, lines: Sequence[str], place: Place) -> str:
    fill, stroke = _COLOURS.get(box.kind, _OTHERS)
    titles = len(list(_broken(box.title)))
    texts = "".join(
        f'<text x="{place.x + _PADDING:.1f}" y="{place.y + _PADDING + 10 + number * _LINE:.1f}" '
        + ('font-weight="bold" fill="#1c2330">' if number < titles else 'fill="#5a6270">')
        + f"{escape(line)}</text>"
        for number, line in enumerate(lines)
    )
    return (
        f'<g data-label="{box.label}"><rect x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="6" fill="{fill}" stroke="{stroke}"/>{texts}</g>'
    )
