"""How large and how deep a text may be, so that no later step has to fear it."""

from __future__ import annotations

import re

from whence.errors import ParseError
from whence.model.span import Source, Span
from whence.model.terms import Constant, Term, Variable, Wildcard, children

# Brackets within brackets. Lowering follows them by recursion.
NESTING_LIMIT = 100
# Calls within calls of one term, `a + b + c` counting two. Python compares and hashes terms by recursion.
DEPTH_LIMIT = 200
# Rules that one rule stands for, once `;` and the empty groups of aggregates are written out.
EXPANSION_LIMIT = 1000

_NO_TEXT = re.compile("[\x00\ud800-\udfff]")


def check_characters(source: Source) -> None:
    """NUL and halves of surrogate pairs are no characters: files and databases cannot keep them."""
    found = _NO_TEXT.search(source.text)
    if found is not None:
        code = ord(found[0])
        what = "a NUL character" if code == 0 else f"half of a surrogate pair (U+{code:04X})"
        hint = 'inside a string it can be written "\\u0000"' if code == 0 else "was the text decoded as UTF-8?"
        # The message shows the line, and has to be text itself.
        shown = Source(source.name, _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", source.text))
        raise ParseError(f"the text contains {what}", span=Span(shown, *found.span()), hint=hint)


def deeper(nesting: int, span: Span) -> int:
    """One bracket further in."""
    if nesting >= NESTING_LIMIT:
        raise ParseError(f"nested too deeply (limit {NESTING_LIMIT})", span=span)
    return nesting + 1


def check_depth(term: Term) -> None:
    level: list[Term] = [] if isinstance(term, Variable | Constant | Wildcard) else [term]
    for _ in range(DEPTH_LIMIT + 1):
        level = [child for each in level for child in children(each)]
        if not level:
            return
    raise ParseError(
        f"nested too deeply (limit {DEPTH_LIMIT}, counting every operator)",
        span=term.span,
        hint="compute a part of it in a variable of its own: x = ..., y = x + ...",
    )
