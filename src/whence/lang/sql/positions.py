"""Where a sqlglot node stands in the text.

Only names, literals and function names carry positions; a node reaches from its first such word to its last. That is
worked out once for a whole statement, since asking at every level of a long one would take quadratic time. A node with
no such word in it, such as `?` or `current_date`, is where the parser stood when it had read it.
"""

from __future__ import annotations

from sqlglot import exp

from whence.model.span import Source, Span

_KEY = "whence_span"
_LAST_WORD = "whence_last_word"


def note_last_word(node: exp.Expr, start: int, end: int) -> None:
    node.meta[_LAST_WORD] = (start, end)


def locate(statement: exp.Expr) -> None:
    """Note at every node of the statement where it begins and ends."""
    for node in reversed(list(statement.bfs())):
        extents = [child.meta[_KEY] for child in node.iter_expressions() if _KEY in child.meta]
        if "start" in node.meta:
            extents.append((node.meta["start"], node.meta["end"] + 1))
        if not extents and _LAST_WORD in node.meta:
            extents.append(node.meta[_LAST_WORD])
        if extents:
            node.meta[_KEY] = (min(start for start, _ in extents), max(end for _, end in extents))


def span_of(node: exp.Expr | None, source: Source) -> Span | None:
    """The node's place, or None where nothing in it has one."""
    if node is None:
        return None
    if _KEY not in node.meta:
        # A node made during lowering, around located ones.
        locate(node)
    extent = node.meta.get(_KEY)
    return None if extent is None else Span(source, *extent)
