"""Rows, rules and places in the user's words.

What a front end had to add on the side (a subquery, an outer join, an aggregate in a body) has a relation of its own in
the program. Readers of a proof know the clause that it came from, not the relation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import EllipsisType
from typing import TypeAlias

from whence.functions.text import shown
from whence.model.rules import Rule
from whence.model.schema import AUXILIARY_MARK, is_auxiliary
from whence.model.span import Span
from whence.model.types import Value

# A row in which some columns may hold anything.
Pattern: TypeAlias = "tuple[Value | EllipsisType, ...]"

# What front ends call the relations they make. Other names after the mark are the user's: those of CTEs.
_MADE = re.compile(
    r"(absent|agg|any|derived|domain|except|exists|grouped|in|intersect|join|left|mark|not|not_in|outer|right|scalar|"
    r"side|some|union|value|values)_?\d*"
)
_OPENING = re.compile(r"\bSELECT\s+(?:DISTINCT\s+|ALL\s+)?$", re.IGNORECASE)
_CLOSING = re.compile(r"\s*\)")
# Of a long clause, so much is kept, and so much is shown in a line.
_LONGEST, _LONGEST_SHOWN = 2_000, 160


def is_made(relation: str) -> bool:
    """Whether a front end made the relation, so that no user has a name for it."""
    return is_auxiliary(relation) and _MADE.fullmatch(relation.partition(AUXILIARY_MARK)[2]) is not None


def relation_name(relation: str) -> str:
    """As the user wrote it; a CTE without the view that it is in."""
    view, _, inner = relation.partition(AUXILIARY_MARK)
    return view if not inner or is_made(relation) else inner


def fact_text(relation: str, row: Sequence[object]) -> str:
    values = ", ".join("_" if value is ... else shown(value) for value in row)
    return f"{relation_name(relation)}({values})"


def absence_text(relation: str, pattern: Pattern, words: str | None) -> str:
    """That nothing is like a pattern: the pattern, or the clause that asks for it where the relation has no name."""
    if words is None or not is_made(relation):
        return f"absent: {fact_text(relation, pattern)}"
    if re.search(r"\bNOT\b", words, re.IGNORECASE):
        return f"holds: {in_a_line(words)}"
    values = ", ".join(shown(value) for value in pattern if value is not ...)
    return f"no row for {values}: {in_a_line(words)}" if values else f"no row: {in_a_line(words)}"


def place(span: Span | None) -> str | None:
    return None if span is None else f"{span.source.name}:{span.line}:{span.column}"


def words_of(span: Span | None) -> str | None:
    """The text of a span on one line: a whole SELECT with all the parentheses that it opens."""
    if span is None:
        return None
    if span.source.is_datalog:
        return " ".join(span.text[:_LONGEST].split())
    text, start, end = span.source.text, span.start, span.end
    opening = _OPENING.search(text, max(0, start - 40), start)
    if opening is not None:
        start = opening.start()
    unclosed = text.count("(", start, end) - text.count(")", start, end)
    while unclosed > 0 and (closing := _CLOSING.match(text, end)) is not None:
        end = closing.end()
        unclosed -= 1
    return " ".join(text[start : min(end, start + _LONGEST)].split())


def rule_words(rule: Rule) -> str | None:
    return words_of(rule.span)


def in_a_line(words: str) -> str:
    return words if len(words) <= _LONGEST_SHOWN else words[: _LONGEST_SHOWN - 3] + "..."
