"""A part of a document in memory, small enough to try things on it, and what a pattern means there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whence.database.overview import MOST_ROWS
from whence.documents.nodes import ATTRIBUTE, StreamNode
from whence.documents.satisfiable import passes
from whence.documents.xpath.syntax import ANY_NAME, And, Comparison, Expression, Or, PathExpression, Step
from whence.model.types import Row

if TYPE_CHECKING:
    from whence.documents.document import Document

# Of one page of children. A node with more is too large to try things on.
MOST_CHILDREN = 1_000


class TooLargeError(Exception):
    """More nodes than are looked at."""


class NotDecidedError(Exception):
    """A pattern with more than steps and equalities: what follows from one node depends on others."""


@dataclass(eq=False, slots=True)
class TreeNode:
    label: str
    attributes: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    children: list[TreeNode] = field(default_factory=list)
    streams: list[StreamNode] = field(default_factory=list)

    def walk(self) -> Iterator[TreeNode]:
        """The node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def load(document: Document, node: int, label: str, places: dict[int, list[StreamNode]], room: list[int]) -> TreeNode:
    """The tree of a node, as long as there is room: `room` has how many nodes may still be loaded."""
    page, tables, paths = document.database.page, document.tables, document.paths.all
    values = page(tables.text, {"parent": node}, limit=MOST_CHILDREN)
    elements = page(tables.element, {"parent": node}, limit=MOST_CHILDREN)
    room[0] -= 1 + len(values) + len(elements)
    if room[0] < 0 or max(len(values), len(elements)) == MOST_CHILDREN:
        raise TooLargeError
    found = TreeNode(label, streams=places.get(node, []))
    for _, _, path, value, _ in values:
        name = paths[int(str(path))].label
        if paths[int(str(path))].kind == "attribute":
            found.attributes[name.removeprefix(ATTRIBUTE)] = str(value)
        else:
            found.texts.append(str(value))
    for child, _, path in elements:
        found.children.append(load(document, int(str(child)), paths[int(str(path))].label, places, room))
    return found


def rows_below(document: Document, row: Row) -> tuple[list[Row], list[Row], list[StreamNode]]:
    """The rows of an element and of all below it: elements, texts, and nodes of streams."""
    places, page, tables = document.places(), document.database.page, document.tables
    elements, texts, streams = [row], list[Row](), list[StreamNode]()
    for each in elements:
        elements += page(tables.element, {"parent": each[0]}, limit=MOST_ROWS)
        texts += page(tables.text, {"parent": each[0]}, limit=MOST_ROWS)
        streams += places.get(int(str(each[0])), [])
    return elements, texts, streams


def holds(part: Expression, node: TreeNode) -> bool:
    """Whether a predicate is true of a node."""
    match part:
        case And(parts=parts):
            return all(holds(each, node) for each in parts)
        case Or(parts=parts):
            return any(holds(each, node) for each in parts)
        case PathExpression():
            return has(local_steps(part), None, node)
        case Comparison(left=left):
            return has(value_steps(left), constant_test(part), node)


def has(steps: Sequence[Step], test: Comparison | None, node: TreeNode) -> bool:
    """Whether the steps lead somewhere from a node, to a value that passes the test if there is one."""
    step, rest = steps[0], steps[1:]
    for place in places_of(step, node):
        if step.kind == "element":
            if any(matches(step, child) and (not rest or has(rest, test, child)) for child in place.children):
                return True
        elif any(test is None or passes(value, test) for value in values_of(step, place)):
            return True
    return False


def places_of(step: Step, node: TreeNode) -> Iterator[TreeNode]:
    """The nodes below which a step looks for children."""
    return iter((node,)) if step.axis == "child" else node.walk()


def values_of(step: Step, node: TreeNode) -> list[str]:
    if step.kind == "text":
        return node.texts
    return [node.attributes[step.name]] if step.name in node.attributes else []


def matches(step: Step, node: TreeNode) -> bool:
    return step.name in (ANY_NAME, node.label) and all(holds(part, node) for part in step.predicates)


def local_steps(path: PathExpression) -> tuple[Step, ...]:
    if path.absolute or path.document is not None:
        raise NotDecidedError
    return path.steps


def value_steps(path: PathExpression) -> tuple[Step, ...]:
    steps = local_steps(path)
    return steps if steps and steps[-1].kind != "element" else (*steps, Step("child", "text", ""))


def constant_test(part: Comparison) -> Comparison:
    """Only an equality with a text says which value it is; others leave a choice."""
    if part.op != "=" or not isinstance(part.right, str):
        raise NotDecidedError
    return part
