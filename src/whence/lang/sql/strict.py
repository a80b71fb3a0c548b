"""What sqlglot lets pass and Spark does not, told by the words alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from whence.errors import ParseError, UnsupportedError
from whence.model.span import SourceText, Span

# What no item of a list begins with.
_NO_ITEM = {
    TokenType.COMMA,
    TokenType.R_PAREN,
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
    TokenType.UNION,
    TokenType.INTERSECT,
    TokenType.EXCEPT,
    TokenType.ALIAS,
    TokenType.WITH,
}
# What an item of a list stands directly after.
_BEFORE_ITEM = {
    TokenType.L_PAREN,
    TokenType.SELECT,
    TokenType.ALL,
    TokenType.DISTINCT,
    TokenType.FROM,
    TokenType.GROUP_BY,
    TokenType.ORDER_BY,
    TokenType.VALUES,
    TokenType.WITH,
    TokenType.RECURSIVE,
}
_QUERY_START = {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM}
_AFTER_AS = {*_QUERY_START, TokenType.L_PAREN, TokenType.TABLE}
_AFTER_INSERT = (TokenType.INTO, TokenType.OVERWRITE)
# Words that something has to follow, by what stands before them where that matters: SELECT a DIV, count(* EXCEPT).
_VALUE_ENDS = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN)
_NEED_MORE = {TokenType.ON, TokenType.USING, TokenType.NATURAL, TokenType.COLLATE}
_NEED_MORE_AFTER = {
    **{end: {TokenType.DIV} for end in _VALUE_ENDS},
    TokenType.STAR: {TokenType.EXCEPT, TokenType.REPLACE, TokenType.RENAME},
}
_JOINS = {TokenType.CROSS, TokenType.INNER, TokenType.NATURAL}
_FILTER = (TokenType.R_PAREN, TokenType.FILTER, TokenType.L_PAREN)
_NO_BANG_AFTER = {*_VALUE_ENDS, TokenType.IS}
_QUANTIFIERS = {TokenType.ALL, TokenType.DISTINCT}
_SET_OPERATIONS = {TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT}
_MOMENTS = {TokenType.DATE, TokenType.TIMESTAMP}
_MOMENT = "write DATE '2026-01-31' or TIMESTAMP '2026-01-31 12:00:00'"
_TYPES = SparkParser.TYPE_TOKENS - SparkParser.NESTED_TYPE_TOKENS
_TYPE_ENDS = {*_TYPES, TokenType.R_PAREN}
# What may stand between the arguments of calls with a syntax of their own.
_SEPARATORS = {",", "FROM", "FOR", "TO"}
_SIDES = {"LEADING", "TRAILING", "BOTH"}
_FORMS = {
    **dict.fromkeys(("SUBSTRING", "SUBSTR"), ("", ",", ", ,", "FROM", "FROM FOR")),
    "TRIM": ("", ",", "FROM", *(f"{side} FROM" for side in sorted(_SIDES))),
    **dict.fromkeys(("FLOOR", "CEIL"), ("", ",", "TO")),
}
_SHOWN = {
    **dict.fromkeys(("SUBSTRING", "SUBSTR"), "write substring(s, 1, 2), or substring(s FROM 1 FOR 2)"),
    "TRIM": "write trim(s), or trim(LEADING 'x' FROM s)",
    **dict.fromkeys(("FLOOR", "CEIL"), "write floor(x)"),
}
_WATCHED = {
    TokenType.L_PAREN,
    TokenType.DEFAULT,
    *_QUANTIFIERS,
    *_MOMENTS,
    TokenType.NOT,
    *_NEED_MORE,
    *(kind for kinds in _NEED_MORE_AFTER.values() for kind in kinds),
    *_JOINS,
    TokenType.JOIN,
    TokenType.DESC,
    TokenType.FILTER,
    TokenType.PLACEHOLDER,
}
_CREATES = [
    ["CREATE", *replace, *materialized]
    for replace in ([], ["OR", "REPLACE"])
    for materialized in ([], ["MATERIALIZED"])
]
_CREATE_VIEW = "write CREATE VIEW name AS SELECT ..."


def check_commas(tokens: Sequence[Token], source: SourceText) -> None:
    """The parser lets a comma be too many or missing, and what stands around AS be missing, which Spark does not."""
    for token, after, then in zip(tokens, [*tokens[1:], None], [*tokens[2:], None, None], strict=False):
        before = token.token_type
        next_type = after.token_type if after is not None else None
        found = "the end of the statement" if after is None else repr(after.text)
        if before is TokenType.COMMA and (next_type is None or next_type in _NO_ITEM):
            raise ParseError(f"something is missing between ',' and {found}", span=place_of(token, source))
        if before is TokenType.ALIAS and next_type in (None, TokenType.COMMA, TokenType.R_PAREN):
            raise ParseError(f"something is missing between {token.text!r} and {found}", span=place_of(token, source))
        # SELECT AS STRUCT is another dialect's, and refused by that name.
        is_misplaced = next_type is TokenType.ALIAS and (then is None or then.text.upper() not in ("STRUCT", "VALUE"))
        if (next_type is TokenType.COMMA or is_misplaced) and before in _BEFORE_ITEM:
            raise ParseError(f"something is missing between {token.text!r} and {found}", span=place_of(token, source))
        is_query = then is not None and then.token_type in _AFTER_AS
        if before is TokenType.R_PAREN and next_type is TokenType.L_PAREN and not is_query:
            raise ParseError("a comma is missing between ')' and '('", span=place_of(token, source))
        if token is tokens[0] and before is TokenType.INSERT and next_type not in _AFTER_INSERT:
            raise ParseError("INTO is missing after INSERT", span=place_of(token, source))
        if token is tokens[0] and before is TokenType.MERGE and next_type is not TokenType.INTO:
            raise ParseError("INTO is missing after MERGE", span=place_of(token, source))
        if token is tokens[0] and before is TokenType.TRUNCATE and next_type is not TokenType.TABLE:
            raise ParseError("TABLE is missing after TRUNCATE", span=place_of(token, source))


def check_brackets(tokens: Sequence[Token], source: SourceText) -> None:
    """The parser reads some calls without their ')', and names in braces, which Spark does not."""
    open_: list[Token] = []
    for token in tokens:
        if token.token_type in (TokenType.L_BRACE, TokenType.R_BRACE):
            raise _unexpected(token, source)
        if token.token_type is TokenType.L_PAREN:
            open_.append(token)
        elif token.token_type is TokenType.R_PAREN and open_:
            open_.pop()
    if open_:
        raise ParseError("this '(' is never closed", span=place_of(open_[-1], source), hint="close it with )")


def check_head(tokens: Sequence[Token], source: SourceText) -> None:
    """The parser passes over many a word around the name of a view, and over a missing AS, which Spark does not."""
    words = [token.text.upper() for token in tokens]
    at = words.index("VIEW")
    for end, token in enumerate(tokens[:at], start=1):
        if not any(form[:end] == words[:end] for form in _CREATES):
            raise _unexpected(token, source, _CREATE_VIEW)
    at += 5 if words[at + 1 : at + 4] == ["IF", "NOT", "EXISTS"] else 2
    # More names after dots are refused where the name is read.
    while words[at : at + 1] == ["."]:
        at += 2
    if words[at : at + 1] == ["("]:
        at = words.index(")", at) + 1
    for token, expected in zip(tokens[at:], ({TokenType.ALIAS}, _AFTER_AS), strict=False):
        if token.token_type in _QUERY_START - expected:
            raise ParseError(f"AS is missing before {token.text!r}", span=place_of(token, source), hint=_CREATE_VIEW)
        if token.token_type not in expected:
            raise _unexpected(token, source, _CREATE_VIEW)
    for token, after in pairwise(tokens[at + 1 :]):
        if token.token_type is TokenType.ALIAS and after.token_type is TokenType.SELECT:
            raise _unexpected(token, source)


def check_words(tokens: Sequence[Token], source: SourceText) -> None:
    """The parser passes over some words, or takes them for names, where Spark reads on and misses something."""
    for before, token, after, then in zip(
        tokens, tokens[1:], [*tokens[2:], None], [*tokens[3:], None, None], strict=False
    ):
        kind, kind_before = token.token_type, before.token_type
        # After AS and a dot any word is a name.
        if token.text.upper() == "IDENTIFIER" and after is not None and after.token_type is TokenType.L_PAREN:
            raise UnsupportedError("IDENTIFIER(...) is not supported", span=place_of(token, source), hint="name it")
        if kind not in _WATCHED or kind_before in (TokenType.ALIAS, TokenType.DOT):
            continue
        next_kind = after.token_type if after is not None else None
        needs_more = kind in _NEED_MORE or kind in _NEED_MORE_AFTER.get(kind_before, ())
        if needs_more and (next_kind is None or next_kind in _NO_ITEM):
            raise ParseError(f"something is missing after {token.text!r}", span=place_of(token, source))
        is_join = kind is TokenType.JOIN or (kind in _JOINS and next_kind is TokenType.JOIN)
        if kind_before is TokenType.COMMA and is_join:
            raise _unexpected(token, source, "write either a comma or JOIN")
        if kind_before is TokenType.ASC and kind is TokenType.DESC:
            raise _unexpected(token, source, "write either ASC or DESC")
        if kind is TokenType.NOT and token.text == "!" and kind_before in _NO_BANG_AFTER:
            raise _unexpected(token, source, "write NOT")
        if kind in _QUANTIFIERS and next_kind is TokenType.SELECT and kind_before not in _SET_OPERATIONS:
            raise _unexpected(token, source)
        if kind is TokenType.ALL and kind_before is TokenType.COMMA and next_kind not in _NO_ITEM:
            raise _unexpected(token, source)
        if kind in _MOMENTS and next_kind is TokenType.NUMBER:
            raise ParseError(f"{token.text} needs a text", span=place_of(token, source), hint=_MOMENT)
        if kind is TokenType.L_PAREN and kind_before in _TYPES and next_kind is TokenType.R_PAREN:
            raise _unexpected(token, source)
        if kind is TokenType.DEFAULT and kind_before in _TYPE_ENDS and next_kind is TokenType.R_PAREN:
            raise _unexpected(token, source)
        if kind is TokenType.PLACEHOLDER and kind_before in _VALUE_ENDS:
            raise _unexpected(token, source)
        if kind_before is TokenType.GROUP_BY and kind is TokenType.DISTINCT:
            raise _unexpected(token, source, "leave it out: groups differ anyway")
        is_filter = (kind_before, kind, next_kind) == _FILTER
        if is_filter and (then is None or then.token_type is not TokenType.WHERE):
            raise ParseError(
                "WHERE is missing in FILTER", span=place_of(token, source), hint="write FILTER (WHERE ...)"
            )


def check_cases(tokens: Sequence[Token], source: SourceText) -> None:
    """The parser lets THEN be missing, which Spark does not."""
    # For each CASE around, the WHEN that waits for its THEN.
    waiting: list[Token | None] = []
    for token in tokens:
        kind = token.token_type
        if kind is TokenType.CASE:
            waiting.append(None)
        elif waiting and kind in (TokenType.WHEN, TokenType.ELSE, TokenType.END):
            if (when := waiting[-1]) is not None:
                raise ParseError(f"THEN is missing after {when.text!r}", span=place_of(when, source))
            waiting[-1] = token if kind is TokenType.WHEN else None
            if kind is TokenType.END:
                waiting.pop()
        elif waiting and kind is TokenType.THEN:
            waiting[-1] = None


def check_calls(tokens: Sequence[Token], source: SourceText) -> None:
    """The parser takes the words between arguments in any order and number, which Spark does not."""
    for at, (name, opening) in enumerate(pairwise(tokens)):
        forms = _FORMS.get(name.text.upper())
        if forms is None or opening.token_type is not TokenType.L_PAREN:
            continue
        found = _separators(tokens[at + 2 :])
        for separator, after in found:
            if after.token_type is TokenType.R_PAREN or any(after is other for other, _ in found):
                raise ParseError(f"something is missing after {separator.text!r}", span=place_of(separator, source))
        first = tokens[at + 2].text.upper()
        words = [*([first] if first in _SIDES else []), *(separator.text.upper() for separator, _ in found)]
        if " ".join(words) not in forms:
            raise _unexpected(found[-1][0] if found else name, source, _SHOWN[name.text.upper()])


def _separators(tokens: Sequence[Token]) -> list[tuple[Token, Token]]:
    """What stands between the arguments of a call, each with what follows it."""
    found, depth = [], 0
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth < 0:
            break
        is_compared = before is not None and before.token_type is TokenType.DISTINCT
        if depth == 0 and token.text.upper() in _SEPARATORS and not is_compared:
            found.append((token, after))
    return found


def _unexpected(token: Token, source: SourceText, hint: str | None = None) -> ParseError:
    return ParseError(f"unexpected {token.text!r}", span=place_of(token, source), hint=hint)


def place_of(token: Token, source: SourceText) -> Span:
    return Span(source, token.start, token.end + 1)
