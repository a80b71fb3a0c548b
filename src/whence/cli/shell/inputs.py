"""What was typed so far: which language it is in, and whether it is complete."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum

SQL_WORDS = frozenset(("select", "with", "values", "create", "drop", "insert", "delete", "update", "alter", "refresh"))
DIRECTIVES = frozenset((".decl", ".input", ".output", ".type", ".printsize"))

_FIRST = re.compile(r"\s*(\.?\w*)")
# What neither `;` nor `.` ends: comments, strings, quoted names. A number keeps its point.
_TOKEN = re.compile(
    r"""(?P<comment> --[^\n]* | //[^\n]* | /\*.*?\*/ )
      | (?P<open> /\*.* )
      | (?P<text> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | \d+\.\d+ )
      | (?P<unclosed> ['"`].* )
      | (?P<other> \S )""",
    re.VERBOSE | re.DOTALL,
)


class Kind(Enum):
    NOTHING = "nothing"
    QUESTION = "question"
    SQL = "sql"
    DATALOG = "datalog"


def kind_of(text: str) -> Kind:
    """What a text is, by its first word.

    >>> [kind_of(text).value for text in (" ", ".why p a", "SELECT 1;", "p(x) :- q(x).", ".decl p(x: symbol)")]
    ['nothing', 'question', 'sql', 'datalog', 'datalog']
    """
    if not any(token["comment"] is None for token in _TOKEN.finditer(text)):
        return Kind.NOTHING
    bare = text[next(token.start() for token in _TOKEN.finditer(text) if token["comment"] is None) :]
    found = _FIRST.match(bare)
    word = "" if found is None else found[1].lower()
    if word.startswith("."):
        return Kind.DATALOG if word in DIRECTIVES else Kind.QUESTION
    return Kind.SQL if word in SQL_WORDS else Kind.DATALOG


def is_complete(text: str) -> bool:
    r"""Whether a text can be run as it is: a question is one line, SQL ends in `;`, and facts in `.`.

    After rules comes an empty line, since a view gets all its rules at once.

    >>> [is_complete(text) for text in ("SELECT 1", "SELECT ';'", "SELECT 1;", "p(1.5).", "x", ".help")]
    [False, False, True, True, False, True]
    >>> [is_complete(text) for text in ("p(x) :-", "p(x) :- q(x).", "p(x) :- q(x).\n", "SELEC 1;", "p(x) :- q(x);")]
    [False, False, True, True, False]
    """
    kind = kind_of(text)
    if kind in (Kind.NOTHING, Kind.QUESTION):
        return True
    last = None
    for token in _TOKEN.finditer(text):
        if token["open"] or token["unclosed"]:
            return False
        if not token["comment"]:
            last = token[0]
    if kind is Kind.DATALOG and text.lstrip().startswith("."):
        # A directive ends with its line, unless a parenthesis is open.
        return text.count("(") == text.count(")")
    if kind is Kind.SQL:
        return last == ";"
    if ":-" not in text:
        # Facts, or a statement that begins with a word that SQL does not know.
        return last in (".", ";")
    return last == "." and text.rstrip(" \t").endswith("\n")


def pieces(lines: Iterable[str]) -> Iterator[str]:
    """Lines as texts that are complete; at the end, what is left. Datalog that stands together stays together."""
    text = program = ""
    for line in lines:
        text += line
        if is_complete(text):
            match kind_of(text):
                case Kind.DATALOG:
                    program += text
                case Kind.QUESTION | Kind.SQL:
                    if program:
                        yield program
                    yield text
                    program = ""
            text = ""
    if program:
        yield program
    if kind_of(text) is not Kind.NOTHING:
        yield text
