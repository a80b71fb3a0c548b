"""Where a sqlglot node stands in the text.

Only names, literals and function names carry positions; a node reaches from its first such word to its last. That is
worked out once for a whole statement, since asking at every level of a long one would take quadratic time. A node with
no such word in it, such as `?` or `current_date`, is where the parser stood when it had read it.
"""

from __future__ import annotations

from sqlglot import exp

from whence.model.span import SourceText, Span

_KEY = "whence_span"
_LAST_WORD = "whence_last_word"


def note_last_word(node: exp.Expr, start: int, end: int) -> None:
    node.meta[_LAST_WORD] = (start, end)


def locate(statement: exp.Expr) -> None:
    """Note at every node of the statement where it begins and ends."""
    for node in reversed(list(statement.bfs())):
        # The words of a hint are counted from its own beginning.
        parts = (child for child in node.iter_expressions() if not isinstance(child, exp.Hint))
        extents = [extent for child in parts if (extent := child.meta.get(_KEY)) is not None]
        if "start" in node.meta:
            extents.append((node.meta["start"], node.meta["end"] + 1))
        if not extents and _LAST_WORD in node.meta:
            extents.append(node.meta[_LAST_WORD])
        node.meta[_KEY] = (min(start for start, _ in extents), max(end for _, end in extents)) if extents else None


def span_of(node: exp.Expr | None, source: SourceText) -> Span | None:
    """The node's place, or that of what is around it; None where nothing has one."""
    if node is None:
        return None
    if _KEY not in node.meta:
        # A node made during lowering, around located ones.
        locate(node)
    extent = node.meta.get(_KEY)
    # A word that the parser notes no place of, such as DEFAULT, is somewhere in what is around it.
    return span_of(node.parent, source) if extent is None else Span(source, *extent)
