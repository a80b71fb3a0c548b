"""Queries for which there would be no exact verdict are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from whence.documents.xpath.syntax import And, Comparison, Expression, Or, PathExpression, Step
from whence.errors import UnsupportedError


def check_attributes(path: PathExpression) -> None:
    """An attribute has one value. One that is joined may not be compared once more: what a stream brings would have to
    fit several values at once, and whether it can depends on all of them.
    """
    for step, rest in _steps(path):
        uses = Counter(_attributes(step, rest, joined=None))
        for name in _attributes(step, rest, joined=True):
            if uses[name] > 1:
                raise UnsupportedError(
                    f"@{name} is joined with other values and compared again, at the same node",
                    span=step.span,
                    hint="compare the other side of the join instead",
                )


def _steps(path: PathExpression) -> Iterator[tuple[Step, Expression | None]]:
    """Every step of the path and its predicates, with what follows it."""
    for at, step in enumerate(path.steps):
        yield step, PathExpression(path.steps[at + 1 :]) if at + 1 < len(path.steps) else None
        for predicate in step.predicates:
            yield from _within(predicate)


def _within(part: Expression) -> Iterator[tuple[Step, Expression | None]]:
    match part:
        case And(parts=parts) | Or(parts=parts):
            for each in parts:
                yield from _within(each)
        case Comparison(left=left, right=right):
            for side in (left, right):
                if isinstance(side, PathExpression):
                    for step, rest in _steps(side):
                        below = rest if isinstance(rest, PathExpression) else None
                        yield step, None if below is None else Comparison(below, part.op, right, part.offset)
        case PathExpression():
            yield from _steps(part)


def _attributes(step: Step, rest: Expression | None, *, joined: bool | None) -> Iterator[str]:
    """The attributes of a step's node that are compared, or only those that are joined."""
    for part in (*step.predicates, *([] if rest is None else [rest])):
        yield from _compared(part, joined)


def _compared(part: Expression, joined: bool | None) -> Iterator[str]:
    match part:
        case And(parts=parts) | Or(parts=parts):
            for each in parts:
                yield from _compared(each, joined)
        case Comparison(left=left, right=right):
            is_join = isinstance(right, PathExpression)
            if joined is None or is_join:
                for side in (left, right):
                    if isinstance(side, PathExpression) and len(side.steps) == 1 and not side.absolute:
                        first = side.steps[0]
                        if first.kind == "attribute" and first.axis == "child" and side.document is None:
                            yield first.name
        case _:
            return
