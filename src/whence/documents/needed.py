"""Which paths the queries of a document can ever look at: rows elsewhere need not be kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whence.documents.conditions import TEXT_STEP
from whence.documents.nodes import Path
from whence.documents.positions import Position
from whence.documents.xpath.syntax import And, Comparison, Expression, Or, PathExpression


class Needs:
    """What some queries look at. `document` is the one whose paths are asked about."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._positions: list[Position] = []

    def add(self, path: PathExpression, owner: str, columns: Sequence[PathExpression] = ()) -> None:
        """Another query, of the document that owns it."""
        end = self._path(path, None, owner)
        self._value(path, end)
        for column in columns:
            self._value(column, self._path(column, end, owner))

    def wants(self, path: Path) -> bool:
        """Whether a query can look at nodes there: at a step, or on the way from one to its descendants."""
        if any(position.is_at(path) for position in self._positions):
            return True
        if path.kind != "element":
            return False
        climbed = [position.above for position in self._positions if position.step.axis == "descendant"]
        return any(position is not None and position.is_around(path) for position in climbed)

    def _path(self, path: PathExpression, context: Position | None, owner: str) -> Position | None:
        if path.document is not None or path.absolute:
            owner, context = path.document or owner, None
        here = context
        for step in path.steps:
            here = Position(step, here)
            if owner == self._document:
                self._positions.append(here)
            for predicate in step.predicates:
                for part, is_value in _paths(predicate):
                    end = self._path(part, here, owner)
                    if is_value and (part.document or owner) == self._document:
                        self._value(part, end)
        return here

    def _value(self, path: PathExpression, end: Position | None) -> None:
        if end is not None and (not path.steps or path.steps[-1].kind == "element"):
            self._positions.append(Position(TEXT_STEP, end))


def _paths(part: Expression) -> Iterator[tuple[PathExpression, bool]]:
    """The paths of a predicate, and whether their values count."""
    match part:
        case And(parts=parts) | Or(parts=parts):
            for each in parts:
                yield from _paths(each)
        case Comparison(left=left, right=right):
            yield left, True
            if isinstance(right, PathExpression):
                yield right, True
        case PathExpression():
            yield part, False
