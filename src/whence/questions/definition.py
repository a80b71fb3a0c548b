"""The text of a table or view as its user wrote it."""

from __future__ import annotations

import re
from textwrap import dedent

from whence.model.program import Program
from whence.model.span import Source, Span
from whence.session.definitions import Definitions

# The words of a SQL statement before the name that it defines, with the lines of comment above them.
_OPENING = re.compile(
    r"(?:^[ \t]*--[^\n]*\n)*[ \t]*\bCREATE\b(?:\s+\w+|\s*/\*[^*]*\*/)*?\s+(?:VIEW|TABLE)(?:\s+IF\s+NOT\s+EXISTS)?\s+\Z",
    re.IGNORECASE | re.MULTILINE,
)
# What a `;` does not end a statement in: comments, strings, quoted names.
_PIECE = re.compile(
    r"""--[^\n]* | /\*.*?\*/ | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | (?P<end>;)""", re.VERBOSE | re.DOTALL
)
# So much text before a name is searched for the beginning of its statement.
_FAR = 5_000


def definition_text(name: str, definitions: Definitions) -> str:
    """In the language it was written in, with the comment above it; in Datalog if that text is not known any more."""
    relation = definitions.relations[name]
    rules = [rule for rule in definitions.rules_of(name) if rule.span is not None]
    if relation.span is not None:
        statement = _sql(relation.span)
        if statement is not None:
            return statement
    if relation.span is None or len(rules) < len(list(definitions.rules_of(name))):
        from whence.lang.datalog.write import to_datalog

        return to_datalog(Program((relation,), tuple(definitions.rules_of(name)))).strip()
    places = dict.fromkeys(rule.span for rule in rules if rule.span is not None and "$" not in rule.head.relation)
    texts = [_line(relation.span)] if not rules or not _is_inside(relation.span, places) else []
    return "\n".join([*texts, *(dedent(span.text) for span in places)])


def _sql(span: Span) -> str | None:
    """The SQL statement around the name that it defines."""
    text = span.source.text
    opening = _OPENING.search(text[: span.start].rstrip("`"), max(0, span.start - _FAR))
    if opening is None:
        return None
    return text[opening.start() : _end(span.source, span.end)].strip()


def _end(source: Source, start: int) -> int:
    # A quoted name ends with its quote.
    start += source.text[start : start + 1] == "`"
    ends = (piece.start() for piece in _PIECE.finditer(source.text, start) if piece["end"])
    return next(ends, len(source.text))


def _line(span: Span) -> str:
    return span.source.line_text(span.line).strip()


def _is_inside(span: Span, others: dict[Span, None]) -> bool:
    """Whether a relation was never declared, so that it is where its first rule is."""
    return any(other.start <= span.start < other.end for other in others)
