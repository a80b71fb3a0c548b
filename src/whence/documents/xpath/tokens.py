"""The words of an XPath expression, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whence.errors import ParseError
from whence.model.span import SourceText, Span

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<text>"[^"]*"|'[^']*')
    | (?P<number>\d+(?:\.\d*)?|\.\d+)
    | (?P<sign>//|::|\.\.|!=|<=|>=|[/\[\]()@.*=<>|,+$-])
    | (?P<name>[^\W\d][\w.-]*(?::[^\W\d][\w.-]*)?)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is "text", "number", "sign", "name", or "end" after the last."""

    kind: str
    word: str
    span: Span


def tokens(source: SourceText) -> list[Token]:
    text, at = source.text, 0
    found: list[Token] = []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            quote = text[at] in "\"'"
            raise ParseError(
                "a text has no end" if quote else f"{text[at]!r} means nothing in XPath",
                span=Span(source, at, at + 1),
                hint="close it with the same quote" if quote else None,
            )
        kind = str(match.lastgroup)
        if kind != "space":
            found.append(Token(kind, match[0], Span(source, at, match.end())))
        at = match.end()
    found.append(Token("end", "", Span(source, len(text), len(text))))
    return found
