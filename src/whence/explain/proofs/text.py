"""Rows, rules and places in the user's words.

What a front end had to add on the side (a subquery, an outer join, an aggregate in a body) has a relation of its own in
the program. Readers of a proof know the clause that it came from, not the relation.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

from whence.analysis.selection import selected_by
from whence.errors import shown
from whence.model.schema import AUXILIARY_MARK, is_auxiliary
from whence.model.span import Span
from whence.model.types import Value
from whence.rewriting.magic_sets import whole_relation

if TYPE_CHECKING:
    from whence.explain.proofs.proof import Proof, ProofStep

# A row in which some columns may hold anything.
Pattern: TypeAlias = "tuple[Value | EllipsisType, ...]"
# What front ends call the relations they make. Other names after the mark are the user's: those of CTEs.
_MADE = re.compile(
    r"(absent|agg|any|derived|domain|except|exists|grouped|in|intersect|join|left|mark|not|not_in|outer|right|scalar|"
    r"side|some|union|value|values)_?\d*"
)
_OPENING = re.compile(r"\bSELECT\s+(?:DISTINCT\s+|ALL\s+)?$", re.IGNORECASE)
_CLOSING = re.compile(r"\s*\)")
_BEFORE = re.compile(r"\(\s*$")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'")
# Of a long clause, so much is kept, and so much is shown in a line.
_LONGEST, _LONGEST_SHOWN = 2_000, 160


def is_made(relation: str) -> bool:
    """Whether a front end made the relation, so that no user has a name for it."""
    return is_auxiliary(relation) and _MADE.fullmatch(relation.partition(AUXILIARY_MARK)[2]) is not None


def relation_name(relation: str) -> str:
    """As the user wrote it; a CTE without the view that it is in."""
    whole = whole_relation(relation)
    function = selected_by(whole)
    if function is not None:
        whole = whole.removesuffix(AUXILIARY_MARK + function)
    view, _, inner = whole.partition(AUXILIARY_MARK)
    return view if not inner or is_made(whole) else inner


def values_text(row: Sequence[object]) -> str:
    return ", ".join("_" if value is ... else shown(value) for value in row)


def fact_text(relation: str, row: Sequence[object]) -> str:
    return f"{relation_name(relation)}({values_text(row)})"


def json_row(row: Sequence[object]) -> list[Any]:
    """As JSON has it: decimals and times as text, and what may be any value as None."""
    return [_plain(value) for value in row]


def _plain(value: object) -> Any:
    match value:
        case None | str() | int() | float():
            return value
        case tuple():
            return json_row(value)
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime():
            return value.isoformat(" ")
    return None if value is ... else str(value)


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
    """The text of a span on one line: a whole SELECT with all the parentheses that it opens and closes."""
    if span is None:
        return None
    if span.source.is_datalog:
        return " ".join(span.text[:_LONGEST].split())
    text, start, end = span.source.text, span.start, span.end
    opening = _OPENING.search(text, max(0, start - 40), start)
    if opening is not None:
        start = opening.start()
    unopened, unclosed = _parentheses(text[start:end])
    while unopened > 0 and (before := _BEFORE.search(text, max(0, start - 40), start)) is not None:
        start = before.start()
        unopened -= 1
    while unclosed > 0 and (closing := _CLOSING.match(text, end)) is not None:
        end = closing.end()
        unclosed -= 1
    return " ".join(text[start : min(end, start + _LONGEST)].split())


def _parentheses(text: str) -> tuple[int, int]:
    """How many are closed in the text that it has not opened, and opened that it does not close."""
    unopened = depth = 0
    for character in _QUOTED.sub("", text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            unopened, depth = unopened + 1, 0
    return unopened, depth


def in_a_line(words: str) -> str:
    return words if len(words) <= _LONGEST_SHOWN else words[: _LONGEST_SHOWN - 3] + "..."


# Of many members the first are shown; the others are in the proof, and `at` opens them one by one.
_SHOWN_MEMBERS = 20


def text(proof: Proof, depth: int | None, at: str | None) -> str:
    roots = proof.roots if at is None else (proof.step(at),)
    lines = [line for root in roots for line in _tree(root, depth)]
    if proof.more_rows and at is None:
        lines.append(f"... more rows of {proof.relation} match: these are the first {len(proof.roots)}")
    if not proof.complete and at is None and len(lines) > 0 and not proof.more_rows:
        lines.append("... a limit was reached: some steps were not followed to their end")
    return "\n".join(lines)


def _tree(root: ProofStep, depth: int | None) -> Iterator[str]:
    # A step, what stands before its own line, and what stands before the lines below it.
    todo: list[tuple[ProofStep | str, str, str, int]] = [(root, "", "", 0)]
    while todo:
        step, before, under, level = todo.pop()
        if isinstance(step, str):
            yield before + step
            continue
        yield before + heading(step)
        shown_children = step.children[:_SHOWN_MEMBERS]
        notes = _notes(step, len(step.children) - len(shown_children))
        if step is root and step.kind == "base":
            # Below other rows, that it has none below itself says so.
            notes.append("a row of the table: it was inserted")
        if depth is not None and level >= depth and step.children:
            hidden = sum(1 for _ in step.walk()) - 1
            yield f'{under}└─ ... {amount(hidden, "step")} more: text(at="{step.label}")'
            continue
        by = _by(step)
        if by is not None:
            yield f"{under}{'│' if shown_children or notes else ' '}  {by}"
        parts: list[ProofStep | str] = [*shown_children, *notes]
        for number, child in reversed(list(enumerate(parts, 1))):
            is_last = number == len(parts)
            todo.append(
                (child, under + ("└─ " if is_last else "├─ "), under + ("   " if is_last else "│  "), level + 1)
            )


def heading(step: ProofStep) -> str:
    """The row in one line, and what there is to say about it without a rule."""
    if step.kind == "absent":
        return absence_text(*step.fact, step.rule)
    if step.kind == "member":
        return "together"
    is_nameless = is_made(step.fact[0]) and step.rule
    named = f"({values_text(step.row)}) of {in_a_line(step.rule or '')}" if is_nameless else fact_text(*step.fact)
    if step.again_at is not None:
        return f"{named}   as shown at {step.again_at.label}"
    if step.kind == "open":
        return f"{named}   ... not followed: a limit was reached"
    return f"{named}   {step.count} copies" if step.count > 1 else named


def _by(step: ProofStep) -> str | None:
    if step.rule is None or step.kind in ("absent", "member", "base", "again", "open") or is_made(step.fact[0]):
        return None
    where = f"   [{step.place}]" if step.place is not None else ""
    return f"{'of' if step.kind == 'aggregate' else 'by'} {in_a_line(step.rule)}{where}"


def _notes(step: ProofStep, hidden: int) -> list[str]:
    notes = []
    if hidden:
        notes.append(f"... {hidden:,} more: text(at=...) opens each, to {step.children[-1].label}")
    if step.is_partial:
        notes.append("... and more that were not looked for: a limit was reached")
    if step.kind == "aggregate" and not step.children:
        notes.append("of no rows at all")
    return notes


def amount(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
