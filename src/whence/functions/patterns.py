"""like and rlike."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from whence.errors import EvaluationError, ParseError, shown
from whence.functions.resolve import TEXT, Builtin, Resolved, Resolver, plain, takes
from whence.model.terms import Call, Constant
from whence.model.types import BOOLEAN, Type

# Around a pattern these make it match the whole text. A $ would also match before a last line break.
WHOLE = ("^(?:", r")(?![\s\S])")


def _like(text: str, pattern: str, escape: str = "\\") -> bool:
    return _like_pattern(pattern, escape).fullmatch(text) is not None


def _rlike(text: str, pattern: str) -> bool:
    return regular_expression(pattern).search(text) is not None


@lru_cache(maxsize=1024)
def _like_pattern(pattern: str, escape: str = "\\") -> re.Pattern[str]:
    """% matches any characters, _ exactly one, and the escape character takes the meaning from either."""
    if len(escape) != 1:
        raise EvaluationError(f"the escape of LIKE must be one character, not {shown(escape)}")
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None or escaped not in ("%", "_", escape):
                raise EvaluationError(
                    f"in the LIKE pattern {shown(pattern)} the escape {escape} stands before neither % nor _",
                    hint=f"write {escape}{escape} for the character itself",
                )
            parts.append(re.escape(escaped))
        elif character == "%":
            parts.append(".*")
        elif character == "_":
            parts.append(".")
        else:
            parts.append(re.escape(character))
    return re.compile("".join(parts), re.DOTALL)


@lru_cache(maxsize=1024)
def regular_expression(pattern: str) -> re.Pattern[str]:
    _check_portable(pattern)
    try:
        compiled = re.compile(pattern, re.ASCII)
        return compiled if "\\" not in pattern else re.compile(_PART.sub(_boundary, pattern), re.ASCII)
    # Repetition counts and nesting beyond what the machine can do are no re.error.
    except (re.error, OverflowError, RecursionError) as error:
        raise EvaluationError(f"{_written(pattern)} is not a regular expression: {error}") from None


def _boundary(part: re.Match[str]) -> str:
    # To Java, words have letters of all languages where they begin and end. And before 3.14 Python finds no \B in an
    # empty text, but it finds that there is no \b.
    return {r"\b": r"(?u:\b)", r"\B": r"(?!(?u:\b))"}.get(part[0], part[0])


def _written(pattern: str) -> str:
    """As the user wrote it: Datalog's match() has put something around it."""
    return shown(pattern.removeprefix(WHOLE[0]).removesuffix(WHOLE[1]))


def _check_portable(pattern: str) -> None:
    """Refuse what Python takes for text, or warns about, and Java and C++ take for something else or for a mistake."""
    for part in (found[0] for found in _PART.finditer(pattern)):
        if part == "{":
            raise EvaluationError(
                f"{_written(pattern)} is not a regular expression: a {{ that starts no repetition",
                hint="write \\{ for the character itself",
            )
        if part[0] == "[" and _NESTED.search(part, 1):
            raise EvaluationError(
                f"in the regular expression {_written(pattern)} a set of characters holds another one: {part}",
                hint="write \\[ or \\& for the character itself, and 0-9 for [:digit:]",
            )


# An escaped character, a set of characters, a repetition; then what is none of these.
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]?|\{\d+(?:,\d*)?\}|\{", re.DOTALL)
_NESTED = re.compile(r"(?<!\\)(?:\[|&&|--|~~|\|\|)")


def checking_constants(resolve: Resolver, check: Callable[..., object]) -> Resolver:
    """Refuses a constant pattern that is not one right away, not when the first row comes."""

    def resolve_pattern(call: Call, types: tuple[Type, ...]) -> Resolved:
        resolved = resolve(call, types)
        constants = [argument.value for argument in call.arguments[1:] if isinstance(argument, Constant)]
        is_text = bool(constants) and isinstance(constants[0], str)
        if is_text and len(constants) == len(call.arguments) - 1 and None not in constants:
            try:
                check(*constants)
            except EvaluationError as error:
                raise ParseError(error.message, span=call.arguments[1].span or call.span, hint=error.hint) from None
        return resolved

    return resolve_pattern


PATTERNS = (
    Builtin(
        "like",
        checking_constants(takes(TEXT, TEXT, TEXT, optional=1, returns=BOOLEAN), _like_pattern),
        plain(_like),
    ),
    Builtin("rlike", checking_constants(takes(TEXT, TEXT, returns=BOOLEAN), regular_expression), plain(_rlike)),
)
