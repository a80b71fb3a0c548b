"""A script of changes as its steps: each statement, with the comment that stands before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from whence.errors import WhenceError
from whence.model.span import Source, Span

# What a `;` does not end a statement in: comments, strings, quoted names.
_TOKEN = re.compile(
    r"""(?P<comment> --[^\n]* | /\*.*?\*/ )
      | (?P<end> ; )
      | (?P<other> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | \S )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Step:
    """`words` is the text of the comments before the statement, `start` where in the source the statement begins."""

    words: str
    statement: str
    start: int


def steps(source: Source) -> Iterator[Step]:
    r"""The statements of a SQL script, in order.

    >>> [*steps(Source("day.sql", "-- The cable breaks.\nDELETE FROM link; -- The end."))]
    [Step(words='The cable breaks.', statement='DELETE FROM link', start=21)]
    """
    comments: list[str] = []
    start: int | None = None
    stop = 0
    for token in _TOKEN.finditer(source.text):
        if token["comment"] and start is None:
            comments.append(_words(token["comment"]))
        elif token["other"]:
            start = token.start() if start is None else start
            stop = token.end()
        elif token["end"]:
            if start is not None:
                yield Step(" ".join(comments), source.text[start:stop], start)
            comments, start = [], None
    if start is not None:
        yield Step(" ".join(comments), source.text[start:stop], start)


def _words(comment: str) -> str:
    return " ".join(comment.removeprefix("--").removeprefix("/*").removesuffix("*/").split())


def relocate(error: WhenceError, step: Step, source: Source) -> None:
    """Make an error about a step's statement point into the script it comes from."""

    def moved(span: Span | None) -> Span | None:
        if span is None or span.source.text != step.statement:
            return span
        return Span(source, span.start + step.start, span.end + step.start)

    error.span = moved(error.span)
    error.related = tuple((note, moved(span)) for note, span in error.related)
