"""Where in the user's text a node came from."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class SourceText:
    """A text and the name it goes by in messages: a file, or `<sql>` and `<rules>` for strings."""

    name: str
    text: str = field(repr=False)
    # So that a hint can say it in the language of the text.
    is_datalog: bool = field(default=False, repr=False, compare=False)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        starts = [0]
        starts.extend(i + 1 for i, c in enumerate(self.text) if c == "\n")
        return tuple(starts)

    def line_text(self, line: int) -> str:
        start = self.line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of a source."""

    source: SourceText
    start: int
    end: int

    def __str__(self) -> str:
        """`links.dl:3:7`."""
        return f"{self.source.name}:{self.line}:{self.column}"

    @property
    def line(self) -> int:
        """Counted from 1."""
        return self._line_index + 1

    @property
    def column(self) -> int:
        """Counted from 1."""
        return self.start - self.source.line_starts[self._line_index] + 1

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def _line_index(self) -> int:
        return bisect_right(self.source.line_starts, self.start) - 1


@dataclass(frozen=True, slots=True)
class Located:
    """What came from a text, and where. Two of the same meaning are equal wherever they stand."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
