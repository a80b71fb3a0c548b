"""Whether a stream is ever needed: Theorem 6, by scenarios.

A scenario says which streams bring which parts of a pattern so that it holds. A stream is useful if in some scenario
with it the pattern does not hold without it: if there is a document, made of what the others bring, that lacks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING

from whence.documents.nodes import ANYTHING
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
    places_of,
    value_steps,
)
from whence.documents.xpath.syntax import ANY_NAME, And, Comparison, Expression, Or, PathExpression, Step

if TYPE_CHECKING:
    from whence.documents.document import Document
    from whence.documents.query import Query

# Beyond that the answer is that the stream may be useful, which is always safe.
MOST_SCENARIOS = 500
MOST_MODELS = 500
# A label that no query has.
_FRESH = "\0"
# Nodes that one question loads at most, to try scenarios on.
MOST_NODES = 5_000


@dataclass(frozen=True, slots=True)
class Brought:
    """A stream brings a tree that matches these steps."""

    stream: str
    steps: tuple[Step, ...]
    test: Comparison | None


def is_needed(stream: str, parts: Sequence[Expression], node: TreeNode, *, source: SourceOf) -> bool:
    """Whether the parts can become true of the node in such a way that the stream is needed for it."""
    try:
        for number, scenario in enumerate(_all(parts, node, source)):
            if number >= MOST_SCENARIOS:
                return True
            if any(each.stream == stream for each in scenario):
                models = list(islice(_models(scenario, stream, node, parts), MOST_MODELS + 1))
                if len(models) > MOST_MODELS or any(not all(holds(part, model) for part in parts) for model in models):
                    return True
    except NotDecidedError:
        return True
    return False


def _all(parts: Sequence[Expression], node: TreeNode, source: SourceOf) -> Iterator[tuple[Brought, ...]]:
    for combination in product(*(_limited(_part(part, node, source)) for part in parts)):
        yield tuple(each for chosen in combination for each in chosen)


def _limited(scenarios: Iterator[tuple[Brought, ...]]) -> list[tuple[Brought, ...]]:
    found = list(islice(scenarios, MOST_SCENARIOS + 1))
    if len(found) > MOST_SCENARIOS:
        raise NotDecidedError
    return found


def _part(part: Expression, node: TreeNode, source: SourceOf) -> Iterator[tuple[Brought, ...]]:
    match part:
        case And(parts=parts):
            yield from _all(parts, node, source)
        case Or(parts=parts):
            for each in parts:
                yield from _part(each, node, source)
        case PathExpression():
            yield from _steps(local_steps(part), None, node, source)
        case Comparison(left=left):
            yield from _steps(value_steps(left), constant_test(part), node, source)


def _steps(
    steps: tuple[Step, ...], test: Comparison | None, node: TreeNode, source: SourceOf
) -> Iterator[tuple[Brought, ...]]:
    if has(steps, test, node):
        yield ()
        return
    step, rest = steps[0], steps[1:]
    for place in places_of(step, node):
        for stream in place.streams:
            if can_bring(source(stream.stream, stream.label), steps, test):
                yield (Brought(stream.stream, steps, test),)
        if step.kind != "element":
            continue
        for child in place.children:
            if step.name in (ANY_NAME, child.label):
                below = [_steps(rest, test, child, source)] if rest else []
                asked = (_all(step.predicates, child, source), *below)
                for combination in product(*map(_limited, asked)):
                    yield tuple(each for chosen in combination for each in chosen)


def _models(
    scenario: Sequence[Brought], without: str, node: TreeNode, parts: Sequence[Expression]
) -> Iterator[TreeNode]:
    """The documents that the scenario leads to if one stream brings nothing.

    A `//` may be bridged by any number of nodes; more than there are stars in the pattern make no difference.
    """
    brought = [each for each in dict.fromkeys(scenario) if each.stream != without]
    lengths = range(sum(_stars(part) for part in parts) + 2)
    bridges = sum(_bridges(each.steps) for each in brought)
    for chosen in product(lengths, repeat=bridges):
        rest = iter(chosen)
        trees = {each: _tree(each.steps, each.test, rest) for each in brought}
        yield _with(node, trees)


def _with(node: TreeNode, trees: dict[Brought, TreeNode]) -> TreeNode:
    """A copy of the node in which streams have brought their trees."""
    copy = TreeNode(node.label, node.attributes, list(node.texts), [_with(child, trees) for child in node.children])
    for place in node.streams:
        for brought, tree in trees.items():
            # In an array a stream brings nodes of the array's name alone.
            fits = place.label == ANYTHING or all(child.label == place.label for child in tree.children)
            if brought.stream == place.stream and fits:
                _merge(copy, tree)
    return copy


def _merge(node: TreeNode, tree: TreeNode) -> None:
    node.texts.extend(tree.texts)
    node.children.extend(tree.children)


def _tree(steps: Sequence[Step], test: Comparison | None, lengths: Iterator[int]) -> TreeNode:
    """A node with just what the steps ask for below it."""
    top = node = TreeNode(_FRESH)
    for step in steps:
        if step.axis == "descendant":
            for _ in range(next(lengths)):
                node.children.append(TreeNode(_FRESH))
                node = node.children[-1]
        if step.kind == "text":
            node.texts.append(_value(test))
        elif step.kind == "attribute":
            node.attributes[step.name] = _value(test)
        else:
            node.children.append(TreeNode(_FRESH if step.name == ANY_NAME else step.name))
            node = node.children[-1]
            for part in step.predicates:
                _satisfy(part, node, lengths)
    return top


def _satisfy(part: Expression, node: TreeNode, lengths: Iterator[int]) -> None:
    match part:
        case And(parts=parts):
            for each in parts:
                _satisfy(each, node, lengths)
        case Or():
            # Which of them the stream brings is a choice that other scenarios may depend on.
            raise NotDecidedError
        case PathExpression():
            _join(node, _tree(local_steps(part), None, lengths))
        case Comparison(left=left):
            _join(node, _tree(value_steps(left), constant_test(part), lengths))


def _join(node: TreeNode, tree: TreeNode) -> None:
    node.attributes.update(tree.attributes)
    _merge(node, tree)


def _value(test: Comparison | None) -> str:
    return _FRESH if test is None else str(test.right)


def _stars(part: Expression) -> int:
    match part:
        case And(parts=parts) | Or(parts=parts):
            return sum(map(_stars, parts))
        case Comparison(left=left):
            return _stars(left)
        case PathExpression(steps=steps):
            return sum((step.name == ANY_NAME) + sum(map(_stars, step.predicates)) for step in steps)


def _bridges(steps: Sequence[Step]) -> int:
    return sum((step.axis == "descendant") + sum(map(_inner_bridges, step.predicates)) for step in steps)


def _inner_bridges(part: Expression) -> int:
    match part:
        case And(parts=parts) | Or(parts=parts):
            return sum(map(_inner_bridges, parts))
        case Comparison(left=left):
            return _bridges(left.steps)
        case PathExpression(steps=steps):
            return _bridges(steps)


def useless_streams(document: Document, queries: Iterable[Query]) -> tuple[str, ...]:
    """The streams that no query needs: first by views, and what these leave open by scenarios."""
    useful: set[str] = set()
    for query in queries:
        found = {stream for name, stream in query.useful() if name == document.name} - useful
        if found:
            useful |= _needed(document, query, found)
    return tuple(stream for stream in document.streams if stream not in useful)


def _needed(document: Document, query: Query, streams: set[str]) -> set[str]:
    """Of the streams that views have not ruled out, those that cannot be ruled out at all."""
    if query.columns is not None or query.document is not document:
        return streams
    needed = streams & query.sources()
    room = [MOST_NODES]
    places = document.places()
    try:
        for step, node in query.waiting():
            if needed == streams:
                break
            tree = load(document, node, query.path.steps[step].name, places, room)
            needed |= {stream for stream in streams - needed if _is_needed(query, step, stream, tree)}
    except TooLargeError:
        return streams
    return needed


def _is_needed(query: Query, step: int, stream: str, tree: TreeNode) -> bool:
    predicates = query.path.steps[step].predicates
    return is_needed(stream, predicates, tree, source=query.document.source)
