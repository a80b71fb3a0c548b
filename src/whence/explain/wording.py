"""Numbers, times and places as explanations write them."""

from __future__ import annotations

from collections.abc import Mapping

from whence.model.schema import Relation
from whence.model.span import Span
from whence.model.types import Row


def amount(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rows(relation: Relation, counts: Mapping[Row, int]) -> str:
    """How many rows there are, copies included."""
    there = len(counts) if relation.distinct else sum(count for count in counts.values() if count > 0)
    return amount(there, "row")


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3f} ms"


def place(span: Span) -> str:
    return f"{span.source.name}:{span.line}:{span.column}"
