"""Where the nodes of a text stand, how deep they may nest, and what names, strings and numbers say."""

from __future__ import annotations

import decimal
import re

from lark import Token

from whence.errors import ParseError, UnsupportedError
from whence.functions.widening import is_number
from whence.lang.datalog.syntax import Node, first, last
from whence.model.span import SourceText, Span
from whence.model.terms import Constant, Term, Variable, Wildcard, children
from whence.model.types import BIGINT, DOUBLE, INT, STRING, DecimalType, Type, Value
from whence.model.types.decimals import MAX_PRECISION, decimal_from_literal, smallest_decimal
from whence.model.types.numbers import LONGEST_LITERAL

# Brackets within brackets. Lowering follows them by recursion.
NESTING_LIMIT = 100
# Calls within calls of one term, `a + b + c` counting two. Python compares and hashes terms by recursion.
DEPTH_LIMIT = 200
# Rules that one rule stands for, once `;` and the empty groups of aggregates are written out.
EXPANSION_LIMIT = 1000

_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class Places:
    """Where the nodes of one text stand, and what its leaves say."""

    def __init__(self, source: SourceText) -> None:
        self._source = source

    def span(self, node: Node) -> Span:
        return self.between(node, node)

    def between(self, opening: Node, closing: Node) -> Span:
        return Span(self._source, first(opening), last(closing))

    def name(self, token: Token) -> str:
        """The name a token stands for. One that starts with $ is a branch of a type of Soufflé's."""
        if is_quoted(token):
            return token[1:-1].replace("``", "`")
        if token.startswith("$"):
            raise UnsupportedError(
                f"{token} is a branch of an algebraic data type, and whence has none",
                span=self.span(token),
                hint="keep the branch's name and its fields in columns of their own",
            )
        return str(token)

    def string(self, token: Token) -> str:
        start = first(token) + 1

        def unescape(found: re.Match[str]) -> str:
            code, letter = found.groups()
            place = Span(self._source, start + found.start(), start + found.end())
            if code is not None:
                if 0xD800 <= int(code, 16) <= 0xDFFF:
                    raise ParseError(
                        f"\\u{code} is half of a surrogate pair", span=place, hint="write the character itself"
                    )
                return chr(int(code, 16))
            if letter not in _ESCAPES:
                raise ParseError(
                    f"a string has no escape \\{letter}",
                    span=place,
                    hint=f"write \\\\{letter} for a backslash and {letter}",
                )
            return _ESCAPES[letter]

        return _ESCAPE.sub(unescape, token[1:-1])

    def number(self, token: Token) -> int:
        value = integer(token, self.span(token)).value
        assert isinstance(value, int)
        return value


def is_quoted(name: Token) -> bool:
    return name.startswith("`")


def check_characters(source: SourceText) -> None:
    """NUL and halves of surrogate pairs are no characters: files and databases cannot keep them."""
    found = _NO_TEXT.search(source.text)
    if found is not None:
        code = ord(found[0])
        what = "a NUL character" if code == 0 else f"half of a surrogate pair (U+{code:04X})"
        hint = 'inside a string it can be written "\\u0000"' if code == 0 else "was the text decoded as UTF-8?"
        # The message shows the line, and has to be text itself.
        shown = SourceText(source.name, _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", source.text))
        raise ParseError(f"the text contains {what}", span=Span(shown, *found.span()), hint=hint)


def deeper(nesting: int, span: Span) -> int:
    """One bracket further in."""
    if nesting >= NESTING_LIMIT:
        raise ParseError(f"nested too deeply (limit {NESTING_LIMIT})", span=span)
    return nesting + 1


def check_depth(term: Term) -> None:
    level: list[Term] = [] if isinstance(term, Variable | Constant | Wildcard) else [term]
    for _ in range(DEPTH_LIMIT + 1):
        level = [child for each in level for child in children(each)]
        if not level:
            return
    raise ParseError(
        f"nested too deeply (limit {DEPTH_LIMIT}, counting every operator)",
        span=term.span,
        hint="compute a part of it in a variable of its own: x = ..., y = x + ...",
    )


def integer(token: str, span: Span, *, negative: bool = False) -> Constant:
    """INT where it fits, else BIGINT, which unsigned numbers are, too."""
    digits = token.lower().removesuffix("u")
    base = {"0x": 16, "0b": 2}.get(digits[:2], 10)
    value = int(digits[2:] if base != 10 else digits, base) if len(digits) <= LONGEST_LITERAL else 2**64
    if negative:
        value = -value
    for candidate in (BIGINT,) if digits != token.lower() else (INT, BIGINT):
        if value in candidate.limits:
            return Constant(value, candidate, span=span)
    raise ParseError("this number does not fit in 64 bits", span=span, hint='write DECIMAL "..." for a larger one')


def double(token: str, span: Span, *, negative: bool = False) -> Constant:
    value = float(token)
    if value == float("inf"):
        raise ParseError("this number is too large for a DOUBLE", span=span)
    return Constant(-value if negative and value else value, DOUBLE, span=span)


def typed(target: Type, text: str, span: Span) -> Constant:
    """`DATE "2026-01-01"`."""
    value = target.from_literal(text)
    if value is None:
        raise ParseError(f"{text!r} is no {target}", span=span, hint=target.literal_hint)
    return Constant(value, target, span=span)


def typed_decimal(text: str, span: Span) -> Constant:
    """`DECIMAL "3.50"`, with as many digits as it shows."""
    value = decimal_from_literal(text)
    if value is None:
        raise ParseError(f"{text!r} is no DECIMAL", span=span, hint='like DECIMAL "3.50"')
    target = smallest_decimal(value)
    if target.precision > MAX_PRECISION:
        digits = target.precision
        raise ParseError(f"a DECIMAL has at most {MAX_PRECISION} digits, and this has {digits}", span=span)
    return Constant(value, target, span=span)


def ascribed(constant: Constant, target: Type) -> Constant | None:
    """The constant with that type (`null::INT`, `"1.5"::DECIMAL(10,2)`), or None where it does not fit."""
    value = _retyped(constant.value, constant.type, target)
    return None if value is None and constant.value is not None else Constant(value, target)


def _retyped(value: Value, source: Type, target: Type) -> Value:
    if value is None or source == target:
        return value
    if source == STRING:
        assert isinstance(value, str)
        return target.from_literal(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return target.from_literal(str(value)) if is_number(target) else None
    if isinstance(value, decimal.Decimal) and isinstance(target, DecimalType):
        return value if target.holds(value) else None
    return None
