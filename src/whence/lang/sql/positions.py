"""Where a sqlglot node stands in the text."""

from __future__ import annotations

from sqlglot import exp

from whence.model.span import Source, Span


def span_of(node: exp.Expr | None, source: Source) -> Span | None:
    """From the first to the last character that sqlglot remembers inside the node.

    Only leaves (names, literals, function names) carry positions; keywords around them do not.
    """
    if node is None:
        return None
    starts, ends = [], []
    for part in node.walk():
        start = part.meta.get("start")
        if start is not None:
            starts.append(start)
            ends.append(part.meta["end"] + 1)
    return Span(source, min(starts), max(ends)) if starts else None
