"""Where the nodes of a text stand, and what its leaves say."""

from __future__ import annotations

from lark import Token

from whence.lang.datalog.literals import integer, name_text, string_value
from whence.lang.datalog.syntax import Placed, first, last
from whence.model.span import Source, Span


class Places:
    """The places of one text."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def span(self, node: Placed) -> Span:
        return Span(self._source, first(node), last(node))

    def between(self, opening: Placed, closing: Placed) -> Span:
        return Span(self._source, first(opening), last(closing))

    def name(self, token: Token) -> str:
        return name_text(token, self.span(token))

    def string(self, token: Token) -> str:
        return string_value(token, self.span(token))

    def number(self, token: Token) -> int:
        value = integer(token, self.span(token)).value
        assert isinstance(value, int)
        return value
