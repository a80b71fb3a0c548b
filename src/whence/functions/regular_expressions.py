"""Regular expressions that find, replace and split. What Java and Python read differently is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from whence.errors import EvaluationError
from whence.functions.patterns import checking_constants, regular_expression
from whence.functions.resolve import (
    COUNT,
    TEXT,
    Builtin,
    Resolved,
    Resolver,
    always,
    constant_arguments,
    plain,
    takes,
)
from whence.model.terms import Call
from whence.model.types import INT, STRING, ArrayType, Type

# In what takes the place of a match: $1 is a group, and a backslash takes the meaning from what follows.
_REPLACEMENT = re.compile(r"\\(.)|\$(\d)|\$\{|\$|\\", re.DOTALL)


def _group(name: str, found: re.Match[str], number: int) -> str:
    if not 0 <= number <= (found.re.groups):
        raise EvaluationError(f"{name}() has no group {number}: the pattern has {found.re.groups}")
    return found[number] or ""


def _extract(text: str, pattern: str, number: int = 1) -> str:
    compiled = regular_expression(pattern)
    found = compiled.search(text)
    if found is None:
        return ""
    return _group("regexp_extract", found, number)


def _extract_all(text: str, pattern: str, number: int = 1) -> tuple[str, ...]:
    compiled = regular_expression(pattern)
    return tuple(_group("regexp_extract_all", found, number) for found in compiled.finditer(text))


def _replace(text: str, pattern: str, replacement: str, start: int = 1) -> str:
    if start < 1:
        raise EvaluationError(f"regexp_replace() starts at a place from 1 on, not at {start}")
    compiled = regular_expression(pattern)
    if start - 1 >= len(text) and start > 1:
        return text
    if compiled.search(text[start - 1 :]) is None:
        # Then nobody looks at the replacement, whatever is wrong with it.
        return text
    made = list(_parts(replacement, compiled.groups))
    head = text[: start - 1]
    rest = compiled.sub(
        lambda found: "".join(found[part] or "" if isinstance(part, int) else part for part in made), text[start - 1 :]
    )
    return head + rest


def _parts(replacement: str, groups: int) -> Iterator[str | int]:
    """The texts and the groups that a replacement is made of."""
    at = 0
    for found in _REPLACEMENT.finditer(replacement):
        yield replacement[at : found.start()]
        at = found.end()
        if found[1] is not None:
            yield found[1]
        elif found[2] is not None:
            # Java takes as many digits as make the number of a group.
            number = int(found[2])
            while (
                at < len(replacement)
                and replacement[at] in "0123456789"
                and number * 10 + int(replacement[at]) <= groups
            ):
                number = number * 10 + int(replacement[at])
                at += 1
            if number > groups:
                raise EvaluationError(f"regexp_replace() has no group {number}: the pattern has {groups}")
            yield number
        else:
            raise EvaluationError(
                f"in a replacement {found[0]} stands before no group", hint="write \\\\$ for the sign itself"
            )
    yield replacement[at:]


def _count(text: str, pattern: str) -> int:
    return sum(1 for _ in regular_expression(pattern).finditer(text))


def _place(text: str, pattern: str, _group: int = 0) -> int:
    """Where the first match begins, from 1. Spark takes a group and looks at the whole match."""
    found = regular_expression(pattern).search(text)
    return 0 if found is None else found.start() + 1


def _part(text: str, pattern: str) -> str | None:
    found = regular_expression(pattern).search(text)
    # Spark takes an empty match for none.
    return None if found is None else found[0] or None


def _split(text: str, pattern: str, limit: int = -1) -> tuple[str, ...]:
    """As Java splits: a match of no width at the beginning makes no part."""
    if not pattern:
        parts = list(text) if limit <= 0 or limit >= len(text) else [*text[: limit - 1], text[limit - 1 :]]
        return tuple(parts or [""])
    parts, at = [], 0
    for found in regular_expression(pattern).finditer(text):
        if len(parts) + 1 == limit:
            break
        if found.end() == 0 or found.start() == found.end() == len(text):
            continue
        parts.append(text[at : found.start()])
        at = found.end()
    return (*parts, text[at:])


def _checked(resolve: Resolver) -> Resolver:
    return checking_constants(resolve, lambda pattern, *_: regular_expression(pattern))


def _replacing(call: Call, types: tuple[Type, ...]) -> Resolved:
    """regexp_replace(), whose start Spark takes as a constant only."""
    resolved = takes(TEXT, TEXT, TEXT, COUNT, optional=1, returns=STRING)(call, types)
    constant_arguments(call, 3)
    return resolved


def _of_pattern(name: str, resolve: Resolver, function: Callable[..., object]) -> Builtin:
    return Builtin(name, _checked(resolve), plain(function), nullable=always if function is _part else any)


REGULAR_EXPRESSIONS = (
    _of_pattern("regexp_extract", takes(TEXT, TEXT, COUNT, optional=1, returns=STRING), _extract),
    _of_pattern("regexp_extract_all", takes(TEXT, TEXT, COUNT, optional=1, returns=ArrayType(STRING)), _extract_all),
    _of_pattern("regexp_replace", _replacing, _replace),
    _of_pattern("regexp_count", takes(TEXT, TEXT, returns=INT), _count),
    _of_pattern("regexp_instr", takes(TEXT, TEXT, COUNT, optional=1, returns=INT), _place),
    _of_pattern("regexp_substr", takes(TEXT, TEXT, returns=STRING), _part),
    _of_pattern("split", takes(TEXT, TEXT, COUNT, optional=1, returns=ArrayType(STRING)), _split),
)
