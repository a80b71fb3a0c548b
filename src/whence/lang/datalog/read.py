"""From a text to its statements: the parser, made once, and its refusals in a person's words."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from lark import Lark, UnexpectedInput

from whence.lang.datalog.build import Builder, RefusedError
from whence.lang.datalog.limits import check_characters
from whence.lang.datalog.mistakes import mistake, refusal
from whence.lang.datalog.syntax import Statement
from whence.model.span import Source


def read(source: Source) -> list[Statement]:
    check_characters(source)
    try:
        statements: list[Statement] = _parser().parse(source.text)  # type: ignore[assignment]
    except RefusedError as refused:
        raise refusal(refused.token, source) from None
    except UnexpectedInput as unexpected:
        raise mistake(unexpected, source) from None
    return statements


@cache
def _parser() -> Lark:
    grammar = files("whence.lang.datalog").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=Builder())
