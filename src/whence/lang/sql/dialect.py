"""Text to sqlglot trees, with the guards that keep hostile text from harming the parser."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError as GlotParseError
from sqlglot.errors import TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from whence.errors import Hint, ParseError, UnsupportedError, Way, did_you_mean
from whence.lang.sql.positions import locate, note_last_word
from whence.model.span import Source, Span

MAX_NESTING = 100
# sqlglot descends recursively, some 25 Python frames per level of nesting: too much for the usual limit of 1,000.
# These are frames of Python code only, which take no room on the C stack.
_FRAMES = 6_000
# Chains such as a OR b OR c become trees as deep as they are long.
MAX_STATEMENT_TOKENS = 20_000

# Calls that are not just a list of arguments: CAST(x AS INT), EXTRACT(YEAR FROM d).
_OWN_SYNTAX = frozenset("CAST TRY_CAST CEIL FLOOR EXTRACT POSITION SUBSTR SUBSTRING TRIM".split())

Made = TypeVar("Made", bound=exp.Expr)

_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}

# sqlglot warns there when it gives up on a statement; we refuse that statement ourselves.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


class SparkSql(Spark):
    """Spark SQL with functions left by the name that the user typed, and CAST as strict as Spark 4's."""

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in SparkParser.FUNCTION_PARSERS.items() if name in _OWN_SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name != "TRANSFORM"
        }
        STRICT_CAST = True

        def expression(self, instance: Made, token: Token | None = None, comments: list[str] | None = None) -> Made:
            made = super().expression(instance, token, comments)
            # DISTINCT is no part of the list that a SELECT is shown by.
            if "start" not in made.meta and not isinstance(made, exp.Distinct):
                note_last_word(made, self._prev.start, self._prev.end + 1)
            return made


DIALECT = SparkSql()


@contextmanager
def room_to_descend(span: Span) -> Iterator[None]:
    """Let deeply nested text be descended into, and tell the user where even that is not enough."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    except RecursionError:
        raise ParseError(
            "this statement is too long or nested too deeply", span=first_word(span), hint="split it into several views"
        ) from None
    finally:
        sys.setrecursionlimit(before)


def first_word(span: Span) -> Span:
    return replace(span, end=span.start + len(span.text.split(None, 1)[0]))


def statements(source: Source) -> Iterator[tuple[exp.Expr, Span]]:
    """The statements of a script, each with the place where it starts."""
    for tokens in _split(_tokenize(source)):
        whole = Span(source, tokens[0].start, tokens[-1].end + 1)
        _check_nesting(tokens, source)
        try:
            with room_to_descend(whole):
                tree = DIALECT.parser().parse(list(tokens), source.text)[0]
        except GlotParseError as error:
            raise _syntax_error(error, tokens, source) from None
        if tree is None or isinstance(tree, exp.Command):
            raise UnsupportedError(
                f"whence does not know the statement {tokens[0].text.upper()}",
                span=first_word(whole),
                hint="supported: CREATE TABLE, CREATE [MATERIALIZED] VIEW, DROP, INSERT, DELETE",
            )
        _restore_exists(tree)
        locate(tree)
        yield tree, whole


def _restore_exists(tree: exp.Expr) -> None:
    """EXISTS with a query in double parentheses comes as a call of a function named so."""
    for call in list(tree.find_all(exp.Anonymous)):
        match call.expressions:
            case [exp.Query() | exp.Subquery() as query] if str(call.this).lower() == "exists":
                call.replace(exp.Exists(this=query))


def _tokenize(source: Source) -> list[Token]:
    for at, character in enumerate(source.text):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise ParseError(
                f"the text contains the character {character!r}, which no SQL text can", span=Span(source, at, at + 1)
            )
    try:
        return list(DIALECT.tokenize(source.text))
    except TokenError:
        raise _unclosed(source) from None


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


def _check_nesting(tokens: list[Token], source: Source) -> None:
    depth = 0
    for token in tokens:
        if token.token_type in _OPEN:
            depth += 1
            if depth > MAX_NESTING:
                raise ParseError(
                    f"nested too deeply: more than {MAX_NESTING} levels of parentheses",
                    span=Span(source, token.start, token.end + 1),
                    hint="move inner parts into views of their own",
                )
        elif token.token_type in _CLOSE:
            depth -= 1
    if len(tokens) > MAX_STATEMENT_TOKENS and tokens[0].token_type is not TokenType.INSERT:
        raise ParseError(
            f"this statement has more than {MAX_STATEMENT_TOKENS} words",
            span=Span(source, tokens[0].start, tokens[0].end + 1),
            hint="split it into several views",
        )


def _syntax_error(error: GlotParseError, tokens: list[Token], source: Source) -> ParseError:
    found = error.errors[0] if error.errors else {}
    description = str(found.get("description") or error)
    at = next((t for t in tokens if (t.line, t.col) == (found.get("line"), found.get("col"))), tokens[-1])
    span = Span(source, at.start, at.end + 1)
    if at is tokens[-1] and description.startswith(("Expecting", "Expected")):
        return ParseError(f"the statement ends too early after {at.text!r}: {_lower(description)}", span=span)
    if description.startswith("Invalid expression"):
        return ParseError(f"unexpected {at.text!r}", span=span, hint=_slip(tokens))
    return ParseError(f"syntax error at {at.text!r}: {_lower(description)}", span=span, hint=_slip(tokens))


def _lower(description: str) -> str:
    return description[:1].lower() + description[1:].rstrip(".")


def _slip(tokens: list[Token]) -> str | Hint | None:
    """A hint for what people often type."""
    word = tokens[0].text.lower()
    if word == "." or any(a.text == ":" and b.text == "-" and a.end + 1 == b.start for a, b in pairwise(tokens)):
        return Hint("this looks like Datalog: use {}", (Way("rules", "db.rules(...) or a .dl file"),))
    if tokens[0].token_type is TokenType.VAR:
        return did_you_mean(word, ("select", "create", "insert", "delete", "drop", "with", "values"))
    return None


def _unclosed(source: Source) -> ParseError:
    """sqlglot does not say where; the opening quote or comment is what the user has to find."""
    text, at = source.text, 0
    while at < len(text):
        if text.startswith("--", at):
            at = text.find("\n", at)
            if at < 0:
                break
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                return ParseError(
                    "this comment is never closed", span=Span(source, at, at + 2), hint="close it with */"
                )
            at = end + 2
        elif text[at] in "'\"`":
            quote, start = text[at], at
            at += 1
            while at < len(text) and text[at] != quote:
                at += 2 if text[at] == "\\" and quote != "`" else 1
            if at >= len(text):
                what = "name" if quote == "`" else "text"
                return ParseError(
                    f"this quoted {what} is never closed",
                    span=Span(source, start, start + 1),
                    hint=f"close it with {quote}",
                )
            at += 1
        else:
            at += 1
    return ParseError("the text cannot be read as SQL", span=Span(source, 0, 1))
