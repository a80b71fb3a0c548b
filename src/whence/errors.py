"""What whence says when something is wrong, in the words of the person who typed it.

An error has a first line (what is wrong), a place (file, line, caret), related places, and a hint.
Each kind has its class; all are under WhenceError. InternalError is our fault, every other is not.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from whence.model.span import Span


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do next, by its name, in Python's words, and what it is about: a relation, a row, a version.

    The command line, its shell and the page have words of their own for it.
    """

    name: str
    python: str
    about: tuple[object, ...] = ()


# How a way is told where the user is; None if there is no such way.
Say: TypeAlias = Callable[[NextStep], str | None]


@dataclass(frozen=True, slots=True)
class Hint:
    """Words with a place, `{}`, for each way that they name. Where one of the ways is missing, there is no hint."""

    words: str
    ways: tuple[NextStep, ...]

    def told(self, say: Say) -> str | None:
        ways = [say(way) for way in self.ways]
        return None if None in ways else self.words.format(*ways)


def in_python(way: NextStep) -> str:
    return way.python


class WhenceError(Exception):
    """The base of everything whence raises. `str()` tells it to those who program in Python."""

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        hint: str | Hint | None = None,
        related: Sequence[tuple[str, Span | None]] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self._hint = hint
        self.related = tuple(related)

    @property
    def hint(self) -> str | None:
        return self._hint_told(in_python)

    def __str__(self) -> str:
        return self.told(in_python)

    def told(self, say: Say) -> str:
        """All of it, with ways to go on in the words of the place where it is read."""
        parts = [self.message]
        if self.span is not None:
            parts.append(show(self.span))
        for note, span in self.related:
            parts.append(f"note: {note}")
            if span is not None:
                parts.append(show(span))
        if (hint := self._hint_told(say)) is not None:
            parts.append(f"hint: {hint}")
        return "\n".join(parts)

    def _hint_told(self, say: Say) -> str | None:
        return self._hint.told(say) if isinstance(self._hint, Hint) else self._hint


class ParseError(WhenceError):
    """The text is not a program."""


class UnsupportedError(WhenceError):
    """The text is legal SQL or Datalog, and whence does not do that part of it."""


class UnknownNameError(WhenceError):
    """A relation, column or function that does not exist."""


class DuplicateNameError(WhenceError):
    """A name that is taken already."""


class ArityError(WhenceError):
    """The wrong number of columns or arguments."""


class TypeMismatchError(WhenceError):
    """A value, column or argument of the wrong type."""


class UnsafeRuleError(WhenceError):
    """A variable that nothing binds."""


class StratificationError(WhenceError):
    """Recursion through negation, or through an aggregate that cannot be computed step by step."""


class DataError(WhenceError):
    """A row that does not fit its relation."""


class EvaluationError(WhenceError):
    """A value that cannot be computed: an overflow, a division by zero, a cast that fails."""


class ConvergenceError(WhenceError):
    """A recursion that does not come to an end."""


class StateError(WhenceError):
    """A database that cannot do this now: it is closed, or the view is in use."""


class OutOfTimeError(WhenceError):
    """A question that was given up, because the caller does not wait any longer."""


class InternalError(WhenceError):
    """A bug in whence."""


def show(span: Span) -> str:
    """The place, the line, and a caret under the words in question."""
    line, column = span.line, span.column
    text = span.source.line_text(line)
    width = max(1, min(span.end - span.start, len(text) - column + 1))
    # Very long lines (generated programs) are cut around the caret, so that the caret stays visible.
    first = max(0, column - 61)
    excerpt = text[first : first + 120]
    # A tab keeps its width under the line it belongs to.
    pad = "".join("\t" if c == "\t" else " " for c in text[first : column - 1])
    marks = "^" * min(width, max(1, len(excerpt) - (column - 1 - first)))
    gutter = " " * len(str(line))
    return f"{gutter}--> {span.source.name}:{line}:{column}\n{gutter} |\n{line} | {excerpt}\n{gutter} | {pad}{marks}"


def did_you_mean(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """A hint that names the closest known word, or None where nothing is close.

    Among many words one is like any other by chance: there, ask for more likeness.
    """
    by_folded = {word.lower(): word for word in known}
    close = get_close_matches(name.lower(), by_folded, n=1, cutoff=likeness)
    return f"did you mean {by_folded[close[0]]!r}?" if close else None


LONGEST_SHOWN = 60


def shown(value: object) -> str:
    """A value for a message: like a SQL literal, and never long."""
    return shortened(_literal(value))


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def _literal(value: object, depth: int = 0) -> str:
    # What is far longer or deeper than what is shown is cut before it is written.
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return repr(value[: LONGEST_SHOWN + 1])
        case decimal.Decimal() if value.is_finite() and abs(value.adjusted()) < LONGEST_SHOWN:
            return format(value, "f")
        case datetime.date():
            return str(value)
        case int() if abs(value) >= 10**LONGEST_SHOWN:
            return f"an integer of {value.bit_length()} bits"
        case tuple() | list():
            items = (_literal(item, depth + 1) for item in value[:LONGEST_SHOWN])
            return f"[{', '.join(items)}]" if depth < 3 else "[...]"
        case decimal.Decimal():
            return str(value)
    return repr(value)
