"""Verdicts where calls return once: which one tree each of them would have to return.

Streams can bring everything that a query asks for, one after the other. A call returns one tree, so that what one part
of a query needs of it can rule out what another does; to decide that is NP-complete (Theorem 3). The outermost node of
what a call returns is tried, out of those that the query can tell apart; below that node anything may stand, as if a
stream stood there. Too many combinations are not tried: then the verdict is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from whence.documents.nodes import ANYTHING, ATTRIBUTE, TEXT, StreamNode
from whence.documents.satisfiable import candidate_values, passes
from whence.documents.schema import Schema
from whence.documents.xpath.syntax import ANY_NAME, And, Comparison, Expression, Or, PathExpression

if TYPE_CHECKING:
    from whence.documents.document import Document
    from whence.documents.query import Query

MOST_TRIALS = 500
# Of one call. There are more of them if a query compares many attributes.
MOST_SHAPES = 100
# A label that no query has.
OTHER_LABEL = "other-"


class UndecidedError(Exception):
    """There is more to try than is tried."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The outermost node of what a call returns: an element with attributes, or a text; in JSON a value, which is a
    text or has members.
    """

    label: str
    attributes: tuple[tuple[str, str], ...] = ()
    text: str | None = None

    def xml(self, stream: str, array: str) -> str:
        """With a stream in the place of all that may stand below; as a value of the array if there is one."""
        label = array or self.label
        if label == TEXT:
            return escape(self.text or "")
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in self.attributes)
        inside = f"<?stream {stream}?>" if self.text is None else escape(self.text)
        return f"<{label}{attributes}>{inside}</{label}>"


def can_become_true(query: Query) -> bool:
    """Whether there is a result of each call with which the query may become true, now that it is not.

    Raises UndecidedError if that was not found out.
    """
    document = query.document
    calls = document.calls()
    asked = Asked.of(query)
    if any(sibling.calls() for sibling in document.registry.documents.values() if sibling is not document):
        raise UndecidedError
    shapes = {call: _shapes(asked, places, document) for call, places in calls.items()}
    room = [MOST_TRIALS]
    if _search(query, list(shapes.items()), {}, room):
        return True
    if asked.has_joins:
        # The values that would have to be returned are among those of the document, which were not tried.
        raise UndecidedError
    return False


def _search(
    query: Query, left: Sequence[tuple[str, Sequence[Shape]]], chosen: Mapping[str, Shape], room: list[int]
) -> bool:
    """Whether it can become true with what is chosen, for the calls that are left as if they were streams."""
    room[0] -= 1
    if room[0] < 0:
        raise UndecidedError
    if chosen and not query.may_become_true(query.document.supposed(chosen)):
        return False
    if not left:
        return True
    (call, shapes), *rest = left
    return any(_search(query, rest, {**chosen, call: shape}, room) for shape in shapes)


@dataclass(slots=True)
class Asked:
    """What a query can tell nodes apart by."""

    labels: set[str]
    tests: dict[str, list[Comparison]]
    """Comparisons with constants, by the label of what is compared: attributes and texts."""

    has_joins: bool = False

    @classmethod
    def of(cls, query: Query) -> Asked:
        found = cls(set(), {})
        for path in (query.path, *(query.columns or {}).values()):
            found._path(path, None)
        found.has_joins = found.has_joins or query.where is not None
        return found

    def _path(self, path: PathExpression, test: Comparison | None) -> None:
        for step in path.steps:
            if step.kind == "element" and step.name != ANY_NAME:
                self.labels.add(step.name)
            elif step.kind != "element":
                self.tests.setdefault(step.label, [])
            for predicate in step.predicates:
                self._part(predicate)
        if test is not None:
            last = path.steps[-1] if path.steps else None
            label = TEXT if last is None or last.kind == "element" else last.label
            self.tests.setdefault(label, []).append(test)

    def _part(self, part: Expression) -> None:
        match part:
            case And(parts=parts) | Or(parts=parts):
                for each in parts:
                    self._part(each)
            case PathExpression():
                self._path(part, None)
            case Comparison(left=left, right=PathExpression() as right):
                self.has_joins = True
                self._path(left, None)
                self._path(right, None)
            case Comparison(left=left):
                self._path(left, part)


def _shapes(asked: Asked, places: Sequence[StreamNode], document: Document) -> list[Shape]:
    """What a call may return, as far as the query can tell."""
    allowed = document.source(places[0].stream, places[0].label).labels
    found = list(islice(_all_shapes(asked, places, allowed, document.schema), MOST_SHAPES + 1))
    if len(found) > MOST_SHAPES:
        raise UndecidedError
    return found


def _all_shapes(
    asked: Asked, places: Sequence[StreamNode], allowed: frozenset[str] | None, schema: Schema
) -> Iterator[Shape]:
    if places[0].label != ANYTHING:
        yield Shape(places[0].label)
        for value in _distinct_values(asked.tests.get(TEXT, [])):
            yield Shape(places[0].label, text=value)
        return
    labels = sorted(asked.labels | {OTHER_LABEL}) if allowed is None else sorted(allowed)
    attributes = sorted(label for label in asked.tests if label.startswith(ATTRIBUTE))
    for label in labels:
        if label == TEXT or label.startswith(ATTRIBUTE):
            continue
        inside = schema.inside(label)
        names = [each for each in attributes if inside is None or each in inside]
        values: list[list[str | None]] = [[*_distinct_values(asked.tests[name]), None] for name in names]
        for combination in product(*values):
            given = [(name.removeprefix(ATTRIBUTE), value) for name, value in zip(names, combination, strict=True)]
            yield Shape(label, tuple((name, value) for name, value in given if value is not None))
    if allowed is None or TEXT in allowed:
        for value in _distinct_values(asked.tests.get(TEXT, [])):
            yield Shape(TEXT, text=value)


def _distinct_values(tests: Sequence[Comparison]) -> list[str]:
    """One value for each way in which some of the tests are passed and the others are not."""
    found: dict[tuple[bool, ...], str] = {}
    for value in candidate_values(tests):
        found.setdefault(tuple(passes(value, test) for test in tests), value)
    return list(found.values())


def inside_of(shape: Shape, schema: Schema) -> frozenset[str] | None:
    """What may stand below the outermost node; attributes are those that it has."""
    inside = schema.inside(shape.label)
    return None if inside is None else frozenset(each for each in inside if not each.startswith(ATTRIBUTE))
