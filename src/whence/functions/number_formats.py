"""Texts with values in them, by patterns: to_number('$1,234.5-', '$9,999.9S') and format_string('%-5s', x)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from whence.errors import EvaluationError, TypeMismatchError, UnsupportedError, shown
from whence.functions.resolve import TEXT, Builtin, Evaluator, Operand, Resolved, accept, always, check_arity
from whence.functions.widening import is_integer
from whence.model.terms import Call, Constant
from whence.model.types import NULL, STRING, DecimalType, Type, Value
from whence.model.types.base import castable, converter
from whence.model.types.decimals import MAX_PRECISION

_FORMAT = re.compile(
    r"(?P<before>S|MI)?(?P<dollar>\$)?(?P<whole>[09]+(?:[G,][09]+)*)?(?:[.D](?P<fraction>[09]*))?(?P<after>S|MI|PR)?"
)


class _Format(NamedTuple):
    """Groups of digits before the point, each with whether it has exactly so many; how many may follow the point."""

    groups: tuple[tuple[int, bool], ...]
    fraction: int
    dollar: bool
    before: str
    after: str

    @property
    def type(self) -> DecimalType:
        whole = sum(count for count, _ in self.groups)
        return DecimalType(whole + self.fraction, self.fraction)


def _format(text: str) -> _Format | None:
    found = _FORMAT.fullmatch(text.upper())
    if found is None or (found["before"] and found["after"]):
        return None
    groups = re.split("[G,]", found["whole"]) if found["whole"] else []
    fraction = len(found["fraction"] or "")
    digits = sum(map(len, groups)) + fraction
    if not 0 < digits <= MAX_PRECISION:
        return None
    sized = tuple((len(group), group.startswith("0")) for group in groups)
    return _Format(sized, fraction, found["dollar"] is not None, found["before"] or "", found["after"] or "")


def _resolve_number(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    pattern = call.arguments[1]
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        raise TypeMismatchError("to_number() takes a constant format", span=pattern.span or call.span)
    written = _format(pattern.value)
    if written is None:
        raise UnsupportedError(
            f"{shown(pattern.value)} is no format of a number here",
            span=pattern.span or call.span,
            hint="write for example '999,999.99', with S, MI or PR for the sign and $ before the number",
        )
    return Resolved(written.type, (accept(call, 0, TEXT, types[0]), STRING))


def _to_number(text: str, pattern: str) -> Decimal:
    written = _format(pattern)
    assert written is not None, "it was looked at"
    number = _read("".join(text.split()), written)
    if number is None:
        raise EvaluationError(f"{shown(text)} is no number like {shown(pattern)}", hint="try_to_number() gives NULL")
    return number.quantize(Decimal(1).scaleb(-written.fraction))


def _read(text: str, written: _Format) -> Decimal | None:
    negative = False
    if written.after == "PR" and text.startswith("<") and text.endswith(">"):
        text, negative = text[1:-1], True
    signs = {"S": "+-", "MI": "-"}
    if text[:1] and text[0] in signs.get(written.before, ""):
        text, negative = text[1:], text[0] == "-"
    if text[-1:] and text[-1] in signs.get(written.after, ""):
        text, negative = text[:-1], text[-1] == "-"
    if written.dollar:
        if not text.startswith("$"):
            return None
        text = text[1:]
    whole, _, fraction = text.partition(".")
    if not re.fullmatch(r"[0-9,]*", whole) or not re.fullmatch(r"[0-9]*", fraction) or not whole + fraction:
        return None
    given = whole.split(",")
    if len(given) > max(len(written.groups), 1) or len(fraction) > written.fraction:
        return None
    expected = written.groups[len(written.groups) - len(given) :] if written.groups else ((0, False),)
    missing = written.groups[: len(written.groups) - len(given)]
    if any(exact for _, exact in missing):
        return None
    for digits, (count, exact) in zip(given, expected, strict=True):
        if len(digits) > count or (exact and len(digits) != count):
            return None
    number = Decimal(f"{''.join(given) or 0}.{fraction or 0}")
    return -number if negative and number else number


# Java's formats, as far as they are the same for all values: %s, %d, %x, %%, with a place, a width and a minus.
_SPECIFIER = re.compile(r"%(?:(?P<place>\d+)\$)?(?P<left>-)?(?P<width>\d+)?(?P<kind>[a-zA-Z%])|%")


def _resolve_string(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 1, None)
    pattern = call.arguments[0]
    if not isinstance(pattern, Constant):
        raise TypeMismatchError("format_string() takes a constant format", span=pattern.span or call.span)
    places = 0
    for found in _SPECIFIER.finditer(pattern.value if isinstance(pattern.value, str) else ""):
        if found["kind"] == "%":
            continue
        places += found["place"] is None
        at = int(found["place"]) if found["place"] else places
        if found["kind"] not in ("s", "d", "x") or not 0 < at < len(types):
            raise UnsupportedError(
                f"format_string() has nothing for {found[0]}", span=call.span, hint="there are %s, %d, %x and %%"
            )
        if found["kind"] != "s" and not is_integer(types[at]) and types[at] != NULL:
            raise TypeMismatchError(f"{found[0]} is for whole numbers, not {types[at]}", span=call.span)
    for kind, argument in zip(types[1:], call.arguments[1:], strict=True):
        if kind != NULL and (not castable(kind, STRING) or not (is_integer(kind) or kind == STRING)):
            raise UnsupportedError(
                f"format_string() of {kind} is not supported", span=argument.span or call.span, hint="CAST it to STRING"
            )
    return Resolved(STRING, (accept(call, 0, TEXT, types[0]), *types[1:]))


def _format_string(resolved: Resolved) -> Callable[..., Evaluator]:
    texts = [converter(kind, STRING) for kind in resolved.arguments]

    def build(pattern: Operand, *operands: Operand) -> Evaluator:
        def evaluate(environment: Mapping[str, Value]) -> Value:
            written: Any = pattern.evaluate(environment)
            if written is None:
                return None
            values = [operand.evaluate(environment) for operand in operands]
            places = iter(range(1, len(values) + 1))

            def value(found: re.Match[str]) -> str:
                if found["kind"] in ("%", None):
                    return "%"
                at = int(found["place"]) if found["place"] else next(places)
                given: Any = values[at - 1]
                if given is None:
                    text = "null"
                elif found["kind"] == "x":
                    bits = 32 if resolved.arguments[at].name == "INT" else 64
                    text = f"{given % (1 << bits):x}"
                else:
                    text = str(texts[at](given))
                width = int(found["width"] or 0)
                return text.ljust(width) if found["left"] else text.rjust(width)

            return _SPECIFIER.sub(value, written)

        return evaluate

    return build


NUMBER_FORMATS = (
    Builtin("to_number", _resolve_number, lambda _: _to_number),
    Builtin("format_string", _resolve_string, _format_string, strict=False, nullable=always),
)
