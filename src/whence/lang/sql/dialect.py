"""Text to sqlglot trees, with the guards that keep hostile text from harming the parser."""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import ParseError as GlotParseError
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from whence.errors import Hint, NextStep, ParseError, UnsupportedError, did_you_mean
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.positions import locate
from whence.lang.sql.strict import (
    check_brackets,
    check_calls,
    check_cases,
    check_commas,
    check_head,
    check_words,
    place_of,
)
from whence.model.span import SourceText, Span

MAX_NESTING = 100
# sqlglot descends recursively, some 25 Python frames per level of nesting: too much for the usual limit of 1,000.
# These are frames of Python code only, which take no room on the C stack.
_FRAMES = 6_000
# Chains such as a OR b OR c become trees as deep as they are long.
MAX_STATEMENT_TOKENS = 20_000

_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}

_SUPPORTED = (
    "supported: CREATE TABLE, CREATE [MATERIALIZED] VIEW, ALTER TABLE, DROP, INSERT, UPDATE, DELETE, MERGE, TRUNCATE"
)
_INSTEAD = {
    "MERGE": "write MERGE INTO name USING source ON condition WHEN MATCHED THEN ...",
    "REPLACE": "use MERGE INTO, or INSERT OVERWRITE",
    "TRUNCATE": "write TRUNCATE TABLE name",
    "ALTER": "write ALTER TABLE name ADD | DROP | RENAME COLUMN ..., or CREATE OR REPLACE VIEW",
    "SHOW": "db.query answers it",
    "DESCRIBE": "db.query answers it",
    "DESC": "db.query answers it",
    "REFRESH": "leave it out: views follow their tables at once",
    "FUNCTION": "register a Python function with db.function(...)",
}
# What may stand between CREATE or DROP and the kind of thing.
_BEFORE_KIND = ("CREATE", "DROP", "OR", "REPLACE", "TEMP", "TEMPORARY", "GLOBAL", "EXTERNAL")

# sqlglot warns there when it gives up on a statement; we refuse that statement ourselves.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


# 1E3-1 is a difference, which sqlglot takes for one number.
_TWO_NUMBERS = re.compile(r"([\d.]+[eE]\d+)(?=[+-])")


class _Descents:
    """The limit belongs to the whole process: it is high while any thread descends, and then what it was before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._threads == 0:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, _FRAMES))
            self._threads += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads -= 1
            if self._threads == 0:
                sys.setrecursionlimit(self._before)


_DESCENTS = _Descents()


@contextmanager
def room_to_descend(span: Span) -> Iterator[None]:
    """Let deeply nested text be descended into, and tell the user where even that is not enough."""
    try:
        with _DESCENTS:
            yield
    except RecursionError:
        raise ParseError(
            "this statement is too long or nested too deeply", span=first_word(span), hint="split it into several views"
        ) from None


def first_word(span: Span) -> Span:
    return replace(span, end=span.start + len(span.text.split(None, 1)[0]))


def statements(source: SourceText) -> Iterator[tuple[exp.Expr, Span]]:
    """The statements of a script, each with the place where it starts."""
    for tokens in _split(_tokenize(source)):
        whole = Span(source, tokens[0].start, tokens[-1].end + 1)
        _check_nesting(tokens, source)
        check_commas(tokens, source)
        try:
            with room_to_descend(whole):
                # There is none where sqlglot takes the first words for the end of a block.
                (tree, *_) = DIALECT.parser().parse(list(tokens), source.text) or [None]
        except GlotParseError as error:
            raise _syntax_error(error, tokens, source) from None
        except (TypeError, AttributeError, ValueError):
            # Words in places that sqlglot did not reckon with.
            raise ParseError("this statement cannot be read as SQL", span=first_word(whole)) from None
        if tree is None or isinstance(tree, exp.Command):
            raise unknown_statement(whole)
        check_brackets(tokens, source)
        check_words(tokens, source)
        check_cases(tokens, source)
        check_calls(tokens, source)
        if _is_plain_view(tree):
            check_head(tokens, source)
        _restore_exists(tree)
        locate(tree)
        yield tree, whole


def _is_plain_view(tree: exp.Expr) -> bool:
    """A view without properties, which are refused by name."""
    if not isinstance(tree, exp.Create) or tree.args["kind"] != "VIEW":
        return False
    properties = tree.args.get("properties")
    return properties is None or all(isinstance(p, exp.MaterializedProperty) for p in properties.expressions)


def unknown_statement(whole: Span) -> UnsupportedError:
    """The refusal of a statement by the words that it begins with."""
    words = re.findall(r"\w+", whole.text[:200])
    first = words[0].upper() if words else whole.text[:1]
    span = first_word(whole)
    if first not in ("CREATE", "DROP"):
        hint = _INSTEAD.get(first, _SUPPORTED)
        return UnsupportedError(f"whence does not know the statement {first}", span=span, hint=hint)
    kinds = [m for m in re.finditer(r"\w+", whole.text[:200]) if m[0].upper() not in _BEFORE_KIND]
    expected: tuple[str, ...] = ("TABLE", "VIEW", "MATERIALIZED")
    if kinds and kinds[0][0].upper() == "MATERIALIZED":
        first, expected = f"{first} MATERIALIZED", ("VIEW",)
        del kinds[0]
    if not kinds:
        missing = " or ".join(expected[:2])
        return UnsupportedError(f"{first} needs {missing} and a name", span=span, hint=_SUPPORTED)
    kind = kinds[0][0].upper()
    span = replace(whole, start=whole.start + kinds[0].start(), end=whole.start + kinds[0].end())
    hint = did_you_mean(kind, expected) or _INSTEAD.get(kind, _SUPPORTED)
    return UnsupportedError(f"{first} {kind} is not supported", span=span, hint=hint)


def _restore_exists(tree: exp.Expr) -> None:
    """EXISTS with a query in double parentheses comes as a call of a function named so."""
    for call in list(tree.find_all(exp.Anonymous)):
        match call.expressions:
            case [exp.Query() | exp.Subquery() as query] if str(call.this).lower() == "exists":
                call.replace(exp.Exists(this=query))


def _tokenize(source: SourceText) -> list[Token]:
    for at, character in enumerate(source.text):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise ParseError(
                f"the text contains the character {character!r}, which no SQL text can", span=Span(source, at, at + 1)
            )
    try:
        return _windows(list(_numbers(DIALECT.tokenize(source.text))))
    except TokenError:
        raise _unclosed(source) from None


def _windows(tokens: list[Token]) -> list[Token]:
    """`window` as a name, other than where it begins the clause `WINDOW w AS (...)`."""
    for at, token in enumerate(tokens):
        if token.token_type is TokenType.WINDOW and [each.text.upper() for each in tokens[at + 2 : at + 3]] != ["AS"]:
            tokens[at] = Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end)
    return tokens


def _numbers(tokens: Iterable[Token]) -> Iterator[Token]:
    """Each number as one token with its suffix, which sqlglot makes a CAST of, and never two of them as one."""
    waiting = iter(tokens)
    for token in waiting:
        text = token.text
        if token.token_type is TokenType.NUMBER and token.end - token.start >= len(text):
            next(waiting)
            text += next(waiting).text
        first = _TWO_NUMBERS.match(text) if token.token_type in (TokenType.NUMBER, TokenType.VAR) else None
        if first is not None:
            rest = len(text) - first.end()
            end, column = token.end - rest, token.col - rest
            yield Token(TokenType.NUMBER, first.group(), token.line, column, token.start, end)
            for part in _numbers(DIALECT.tokenize(text[first.end() :])):
                start = end + 1 + part.start
                yield Token(part.token_type, part.text, token.line, column + part.col, start, end + 1 + part.end)
        elif text is not token.text:
            yield Token(token.token_type, text, token.line, token.col, token.start, token.end)
        else:
            yield token


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _check_nesting(tokens: list[Token], source: SourceText) -> None:
    depth = 0
    for token in tokens:
        if token.token_type in _OPEN:
            depth += 1
            if depth > MAX_NESTING:
                raise ParseError(
                    f"nested too deeply: more than {MAX_NESTING} levels of parentheses",
                    span=place_of(token, source),
                    hint="move inner parts into views of their own",
                )
        elif token.token_type in _CLOSE:
            depth -= 1
    if len(tokens) > MAX_STATEMENT_TOKENS and tokens[0].token_type is not TokenType.INSERT:
        raise ParseError(
            f"this statement has more than {MAX_STATEMENT_TOKENS} words",
            span=place_of(tokens[0], source),
            hint="split it into several views",
        )


def _syntax_error(error: GlotParseError, tokens: list[Token], source: SourceText) -> ParseError:
    found = error.errors[0] if error.errors else {}
    description = str(found.get("description") or error).partition(" but got ")[0]
    at = next((t for t in tokens if (t.line, t.col) == (found.get("line"), found.get("col"))), tokens[-1])
    span = place_of(at, source)
    if at is tokens[-1] and description.startswith(("Expecting", "Expected")):
        return ParseError(f"the statement ends too early after {at.text!r}: {_lower(description)}", span=span)
    after = tokens[tokens.index(at) + 1 :][:1]
    if at.token_type is TokenType.DOT and after and at is not tokens[0]:
        if after[0].token_type is TokenType.NUMBER:
            return ParseError("this point belongs to no number", span=span, hint="write .5 in one piece")
        return ParseError("a name is missing before or after '.'", span=span, hint="write t.a for column a of table t")
    if description.startswith("Required keyword"):
        return ParseError(f"something is missing before or after {at.text!r}", span=span, hint=_slip(tokens))
    if description.startswith("Invalid expression"):
        return ParseError(f"unexpected {at.text!r}", span=span, hint=_slip(tokens))
    return ParseError(f"syntax error at {at.text!r}: {_lower(description)}", span=span, hint=_slip(tokens))


def _lower(description: str) -> str:
    return description[:1].lower() + description[1:].rstrip(".")


def _slip(tokens: list[Token]) -> str | Hint | None:
    """A hint for what people often type."""
    word = tokens[0].text.lower()
    if word == "." or any(a.text == ":" and b.text == "-" and a.end + 1 == b.start for a, b in pairwise(tokens)):
        return Hint("this looks like Datalog: use {}", (NextStep("rules", "db.rules(...) or a .dl file"),))
    if tokens[0].token_type is TokenType.VAR:
        return did_you_mean(word, ("select", "create", "insert", "update", "delete", "drop", "with", "values"))
    return None


# A comment, a text or a quoted name with its end, or what is none of these.
_CLOSED = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|[^'"`/-]+|/(?!\*)|-""", re.DOTALL
)


def _unclosed(source: SourceText) -> ParseError:
    """sqlglot does not say where; the opening quote or comment is what the user has to find."""
    at = 0
    while (closed := _CLOSED.match(source.text, at)) is not None:
        at = closed.end()
    if at == len(source.text):
        return ParseError("the text cannot be read as SQL", span=Span(source, 0, 1))
    quote = source.text[at]
    if quote == "/":
        return ParseError("this comment is never closed", span=Span(source, at, at + 2), hint="close it with */")
    what = "name" if quote == "`" else "text"
    return ParseError(
        f"this quoted {what} is never closed", span=Span(source, at, at + 1), hint=f"close it with {quote}"
    )
