"""Functions that change, compare and take apart a text, character by character."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions.resolve import (
    COUNT,
    TEXT,
    Builtin,
    Evaluator,
    Operand,
    Parameter,
    Resolved,
    accept,
    always,
    check_arity,
    constant_arguments,
    plain,
    takes,
    uncast,
)
from whence.functions.strings import checked_length, substring
from whence.functions.widening import is_integer
from whence.model.terms import Call, Constant
from whence.model.types import BIGINT, BINARY, BOOLEAN, INT, NULL, STRING, ArrayType, Type, Value

_SOUNDS = "01230127022455012623017202"


def _initcap(text: str) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def _levenshtein(left: str, right: str, threshold: int | None = None) -> int:
    """How many characters have to be put in, left out or changed; -1 where it is more than the threshold."""
    before = list(range(len(right) + 1))
    for row, mine in enumerate(left, start=1):
        here = [row]
        for column, other in enumerate(right, start=1):
            here.append(min(before[column] + 1, here[column - 1] + 1, before[column - 1] + (mine != other)))
        before = here
    distance = before[-1]
    return distance if threshold is None or distance <= threshold else -1


def _soundex(text: str) -> str:
    first = text[:1].upper() if text[:1].isascii() else ""
    if not first.isalpha():
        return text
    code, last = first, _SOUNDS[ord(first) - 65]
    for sign in text[1:]:
        upper = sign.upper() if sign.isascii() else ""
        if not upper.isalpha():
            last = "0"
            continue
        sound = _SOUNDS[ord(upper) - 65]
        if sound == "7":
            continue
        if sound not in ("0", last):
            code += sound
            if len(code) == 4:
                break
        last = sound
    return code.ljust(4, "0")


def _ascii(text: str) -> int:
    return ord(text[0]) if text else 0


def _chr(number: int) -> str:
    return "" if number < 0 else chr(number % 256)


def _translate(text: str, given: str, wanted: str) -> str:
    table: dict[int, str | None] = {}
    for place, sign in enumerate(given):
        table.setdefault(ord(sign), wanted[place] if place < len(wanted) else None)
    return text.translate(table)


def _overlay(text: str, replacement: str, position: int, length: int = -1) -> str:
    taken = length if length >= 0 else len(replacement)
    return substring(text, 1, position - 1) + replacement + substring(text, position + taken)


def _substring_index(text: str, delimiter: str, count: int) -> str:
    """What stands before the delimiter's so many-th occurrence, or after it, counted from the end."""
    if not delimiter or not count:
        return ""
    if count > 0:
        return delimiter.join(text.split(delimiter, count)[:count])
    return delimiter.join(text.rsplit(delimiter, -count)[count:])


def _split_part(text: str, delimiter: str, part: int) -> str:
    if part == 0:
        raise EvaluationError("split_part() counts parts from 1, and there is no part 0")
    parts = text.split(delimiter) if delimiter else [text]
    if -len(parts) <= part <= len(parts):
        return parts[part - 1 if part > 0 else part]
    return ""


def _find_in_set(text: str, listed: str) -> int:
    parts = listed.split(",")
    return parts.index(text) + 1 if "," not in text and text in parts else 0


def _locate(_: Resolved) -> Callable[..., Evaluator]:
    """An empty part is at the first place, wherever the search starts, and from nowhere on nothing is found, whatever
    it is: as in Spark.
    """

    def build(part: Operand, text: Operand, start: Operand | None = None) -> Evaluator:
        def evaluate(environment: Mapping[str, Value]) -> Value:
            first: Any = 1 if start is None else start.evaluate(environment)
            if first is None:
                return 0
            wanted: Any = part.evaluate(environment)
            searched: Any = None if wanted is None else text.evaluate(environment)
            if searched is None:
                return None
            if first <= 0:
                return 0
            return searched.find(wanted, first - 1) + 1 if wanted else 1

        return evaluate

    return build


def _mask(_: Resolved) -> Callable[..., Evaluator]:
    """mask(text, upper, lower, digit, other): a NULL instead of a sign leaves those characters as they are."""

    def build(*operands: Operand) -> Evaluator:
        evaluators = [operand.evaluate for operand in operands]

        def evaluate(environment: Mapping[str, Value]) -> Value:
            text, *given = (each(environment) for each in evaluators)
            if text is None:
                return None
            signs: list[Any] = [*given, *("X", "x", "n", None)[len(given) :]]
            for sign in signs:
                if sign is not None and len(sign) != 1:
                    raise EvaluationError(f"mask() puts one character for each, and {sign!r} is not one")
            return "".join(_masked(each, signs) for each in str(text))

        return evaluate

    return build


def _masked(sign: str, signs: Sequence[str | None]) -> str:
    kind = 0 if sign.isupper() else 1 if sign.islower() else 2 if sign.isdecimal() else 3
    wanted = signs[kind]
    return sign if wanted is None else wanted


# Spark casts nothing else to it here.
_ONLY_TEXT = Parameter(TEXT.description, TEXT.accept)


def _resolve_mask(call: Call, types: tuple[Type, ...]) -> Resolved:
    resolved = takes(*[_ONLY_TEXT] * 5, optional=4, returns=STRING)(call, types)
    constant_arguments(call, 1)
    for argument in call.arguments[1:]:
        if isinstance(argument, Constant) and isinstance(argument.value, str) and len(argument.value) != 1:
            raise TypeMismatchError("mask() puts one character for each", span=argument.span or call.span)
    return resolved


_LISTED = Parameter(
    "a STRING or an ARRAY<STRING>",
    lambda given: (
        given
        if given == STRING or given == ArrayType(STRING)
        else STRING
        if given == NULL
        else ArrayType(STRING)
        if given == ArrayType(NULL)
        else None
    ),
    STRING,
)


def _concat_ws(_: Resolved) -> Callable[..., Evaluator]:
    """All texts that are not NULL, and all in arrays, with the separator between them."""

    def build(separator: Operand, *operands: Operand) -> Evaluator:
        evaluators = [operand.evaluate for operand in operands]

        def evaluate(environment: Mapping[str, Value]) -> Value:
            between = separator.evaluate(environment)
            if between is None:
                return None
            found: list[str] = []
            for each in evaluators:
                value: Any = each(environment)
                found += [value] if isinstance(value, str) else [part for part in value or () if part is not None]
            return str(between).join(found)

        return evaluate

    return build


def _resolve_elt(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, None)
    place = accept(call, 0, COUNT, types[0])
    rest = types[1:]
    kind = BINARY if all(each in (BINARY, NULL) for each in rest) and BINARY in rest else STRING
    texts = (
        tuple(accept(call, position, TEXT, each) for position, each in enumerate(rest, start=1))
        if kind == STRING
        else rest
    )
    return Resolved(kind, (place, *texts))


def _elt(_: Resolved) -> Callable[..., Evaluator]:
    def build(place: Operand, *operands: Operand) -> Evaluator:
        evaluators = [operand.evaluate for operand in operands]

        def evaluate(environment: Mapping[str, Value]) -> Value:
            number: Any = place.evaluate(environment)
            if number is None:
                return None
            if not 1 <= number <= len(evaluators):
                raise EvaluationError(f"elt() has {len(evaluators)} values, and no value {number}")
            chosen: Value = evaluators[number - 1](environment)
            return chosen

        return evaluate

    return build


TEXT_OR_BYTES = Parameter(
    "a STRING or a BINARY",
    lambda given: given if given in (STRING, BINARY) else STRING if given == NULL else None,
    STRING,
)


def _octets(value: str | bytes) -> int:
    return len(value.encode() if isinstance(value, str) else value)


def _luhn(text: str) -> bool:
    """Whether the last digit is the check digit of those before it."""
    if not text.isascii() or not text.isdecimal():
        return False
    total = 0
    for place, sign in enumerate(reversed(text)):
        digit = int(sign) * (1 + place % 2)
        total += digit - 9 if digit > 9 else digit
    return total % 10 == 0


def _quote(text: str) -> str:
    escaped = text.replace("'", "\\'")
    return f"'{escaped}'"


_CODE = Parameter("a BIGINT", lambda given: BIGINT if is_integer(given) or given == NULL else None, BIGINT)

TEXT_EDITS = (
    Builtin("initcap", takes(TEXT, returns=STRING), plain(_initcap)),
    Builtin("levenshtein", takes(TEXT, TEXT, COUNT, optional=1, returns=INT), plain(_levenshtein)),
    Builtin("soundex", takes(uncast(STRING), returns=STRING), plain(_soundex)),
    Builtin("ascii", takes(TEXT, returns=INT), plain(_ascii)),
    Builtin("chr", takes(_CODE, returns=STRING), plain(_chr)),
    Builtin("translate", takes(TEXT, TEXT, TEXT, returns=STRING), plain(_translate)),
    Builtin("overlay", takes(TEXT, TEXT, COUNT, COUNT, optional=1, returns=STRING), plain(_overlay)),
    Builtin("substring_index", takes(TEXT, TEXT, COUNT, returns=STRING), plain(_substring_index)),
    Builtin("split_part", takes(TEXT, TEXT, COUNT, returns=STRING), plain(_split_part)),
    Builtin("find_in_set", takes(TEXT, TEXT, returns=INT), plain(_find_in_set)),
    # What position(part IN text) means; not instr() the other way round, since the part is evaluated first.
    Builtin(
        "locate",
        takes(TEXT, TEXT, COUNT, optional=1, returns=INT),
        _locate,
        strict=False,
        nullable=lambda nullable: any(nullable[:2]),
    ),
    Builtin("space", takes(COUNT, returns=STRING), plain(lambda count: " " * checked_length(max(count, 0)))),
    Builtin("mask", _resolve_mask, _mask, strict=False, nullable=always),
    Builtin("concat_ws", takes(TEXT, _LISTED, optional=1, repeated=True, returns=STRING), _concat_ws, strict=False),
    Builtin("elt", _resolve_elt, _elt, strict=False, nullable=always),
    Builtin("octet_length", takes(TEXT_OR_BYTES, returns=INT), plain(_octets)),
    Builtin("bit_length", takes(TEXT_OR_BYTES, returns=INT), plain(lambda value: 8 * _octets(value))),
    Builtin("luhn_check", takes(TEXT, returns=BOOLEAN), plain(_luhn)),
    Builtin("quote", takes(TEXT, returns=STRING), plain(_quote)),
)
