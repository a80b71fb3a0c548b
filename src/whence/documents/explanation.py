"""Why a node is an answer, by nodes; and why there is none, by what is missing and the streams that could bring it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.documents.nodes import Path, StreamNode
from whence.documents.places import Position
from whence.documents.satisfiable import SourceOf, can_bring
from whence.documents.subtree import (
    NotDecidedError,
    TooLargeError,
    TreeNode,
    constant_test,
    has,
    holds,
    load,
    local_steps,
    matches,
    places_of,
    value_steps,
)
from whence.documents.xpath.syntax import ANY_NAME, And, Comparison, Expression, Or, PathExpression, Step

if TYPE_CHECKING:
    from whence.documents.query import Query

# What one answer looks at and tells: more is no explanation.
MOST_WAITING = 20
MOST_NODES = 5_000


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """`wanted` is lacking at `path`. It may come from `streams`; if there is none, it never will."""

    path: str
    wanted: str
    streams: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.streams:
            return f"{self.path} lacks {self.wanted}, and no stream can bring it"
        return f"{self.path} lacks {self.wanted}, which may come from {' or '.join(self.streams)}"


def missing(query: Query) -> list[Missing]:
    """What the query lacks: first at nodes that may become part of an answer, then whole answers."""
    found = dict.fromkeys(_waiting(query))
    for path, stream in query.source_places():
        rest = _rest(query.path.steps, path)
        found[Missing(str(path), _text(rest), (stream,))] = None
    return list(found) or _never(query)


def _waiting(query: Query) -> Iterator[Missing]:
    document, room = query.document, [MOST_NODES]
    places = document.places()
    for step, node in query.waiting()[:MOST_WAITING]:
        asked = query.path.steps[step]
        path = document.path_of(node)
        try:
            tree = load(document, node, path.label, places, room)
            for part in asked.predicates:
                yield from _lacking(part, tree, str(path), query.document.source)
        except (TooLargeError, NotDecidedError):
            wanted = "".join(f"[{part}]" for part in asked.predicates)
            yield Missing(str(path), wanted, tuple(sorted(stream for _, stream in query.useful())))


def _lacking(part: Expression, node: TreeNode, path: str, source: SourceOf) -> Iterator[Missing]:
    """What a node lacks of a predicate, as deep down as it can be told."""
    match part:
        case And(parts=parts) | Or(parts=parts):
            if not holds(part, node):
                for each in parts:
                    yield from _lacking(each, node, path, source)
        case PathExpression():
            yield from _lacking_steps(local_steps(part), None, node, path, source)
        case Comparison(left=left):
            yield from _lacking_steps(value_steps(left), constant_test(part), node, path, source)


def _lacking_steps(
    steps: Sequence[Step], test: Comparison | None, node: TreeNode, path: str, source: SourceOf
) -> Iterator[Missing]:
    if has(steps, test, node):
        return
    step, rest = steps[0], steps[1:]
    streams = sorted(
        {each.stream for place in places_of(step, node) for each in place.streams if _brings(each, steps, test, source)}
    )
    if streams:
        yield Missing(path, _text(steps) + _shown(test), tuple(streams))
    for place in places_of(step, node):
        for child in place.children:
            if step.kind == "element" and step.name in (ANY_NAME, child.label):
                below = f"{path}/{child.label}" if place is node else f"{path}//{child.label}"
                if rest and matches(step, child):
                    yield from _lacking_steps(rest, test, child, below, source)
                for part in step.predicates:
                    yield from _lacking(part, child, below, source)


def _brings(place: StreamNode, steps: Sequence[Step], test: Comparison | None, source: SourceOf) -> bool:
    return can_bring(source(place.stream, place.label), steps, test)


def _shown(test: Comparison | None) -> str:
    return "" if test is None else f' {test.op} "{test.right}"'


def _text(steps: Sequence[Step]) -> str:
    return str(PathExpression(tuple(steps)))


def _rest(steps: Sequence[Step], path: Path) -> Sequence[Step]:
    """The steps that are left at a place: those after the last one that the place matches."""
    above: Position | None = None
    left = steps
    for at, step in enumerate(steps):
        above = Position(step, above)
        if path.parent is not None and above.is_at(path):
            left = steps[at + 1 :]
    return left or steps[-1:]


def _never(query: Query) -> list[Missing]:
    """The first step that nothing can match any more."""
    above: Position | None = None
    for at, step in enumerate(query.path.steps):
        above = Position(step, above)
        so_far = str(PathExpression(query.path.steps[:at], absolute=True)) or "/"
        if not any(above.is_at(path) for path in query.document.paths.all[1:]):
            return [Missing(so_far, _text((step,)))]
    asked = [step for step in query.path.steps if step.predicates]
    if not asked:
        return []
    wanted = " and ".join(str(part) for part in asked[-1].predicates)
    return [Missing(_places(query), wanted)]


def _places(query: Query) -> str:
    """The path without its predicates."""
    return "".join(f"{'//' if step.axis == 'descendant' else '/'}{step.label}" for step in query.path.steps)
