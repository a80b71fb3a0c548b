"""Operators and Soufflé's own functions, in terms of whence's functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whence.errors import ArityError, UnsupportedError
from whence.functions.patterns import WHOLE
from whence.model.span import Span
from whence.model.terms import Call, Cast, Constant, Term
from whence.model.types import BIGINT, DOUBLE, INT, STRING, Type


@dataclass(frozen=True, slots=True)
class Operator:
    function: str
    strength: int
    right: bool = False
    # What it means, where that is no function of its name.
    meaning: Callable[[Term, Term, Span | None], Term] | None = None


OR = Operator("or", 1)
AND = Operator("and", 2)
NOT = Operator("not", 3)
# A comparison stands between two sums: `a < b < c` is no term.
COMPARING = 4
MINUS = Operator("-", 14)


def _truth(term: Term) -> Term:
    """Any number but 0 is true."""
    return Call("!=", (term, Constant(0, INT, span=term.span)), span=term.span)


def _number(condition: Term) -> Term:
    one, zero = (Constant(value, INT, span=condition.span) for value in (1, 0))
    return Call("if", (condition, one, zero), span=condition.span)


def _logical(function: str) -> Callable[[Term, Term, Span | None], Term]:
    return lambda left, right, span: _number(Call(function, (_truth(left), _truth(right)), span=span))


def _sum(left: Term, right: Term, span: Span | None) -> Term:
    """Soufflé adds texts as well, which is seen where one of them is written there, or made there."""
    return Call("concat" if is_text(left) or is_text(right) else "+", (left, right), span=span)


def is_text(term: Term) -> bool:
    match term:
        case Constant(type=kind) | Cast(type=kind):
            return kind == STRING
        case Call(function="concat" | "substring"):
            return True
    return False


CONNECTIVES: Mapping[str, Operator] = {"or": OR, "and": AND}
ARITHMETIC: Mapping[str, Operator] = {
    "lor": Operator("lor", 5, meaning=_logical("or")),
    "lxor": Operator("lxor", 6, meaning=_logical("!=")),
    "land": Operator("land", 7, meaning=_logical("and")),
    "bor": Operator("|", 8),
    "bxor": Operator("^", 9),
    "band": Operator("&", 10),
    "bshl": Operator("shiftleft", 11),
    "bshr": Operator("shiftright", 11),
    "bshru": Operator("shiftrightunsigned", 11),
    "+": Operator("+", 12, meaning=_sum),
    "-": Operator("-", 12),
    "*": Operator("*", 13),
    "/": Operator("quotient", 13),
    "%": Operator("%", 13),
    "^": Operator("**", 15, right=True),
}
# How each function is written between its arguments.
INFIX: Mapping[str, tuple[str, Operator]] = {
    operator.function: (sign, operator) for sign, operator in (*CONNECTIVES.items(), *ARITHMETIC.items())
}


@dataclass(frozen=True, slots=True)
class Minus:
    """A sign before an operand: a minus, or Soufflé's words for the complement of bits and of truth."""

    span: Span
    word: str = "-"

    def of(self, term: Term, span: Span | None) -> Term:
        if self.word == "lnot":
            return _number(Call("=", (term, Constant(0, INT, span=term.span)), span=span))
        match term:
            case Constant(type=Type(name="BIGINT"), value=int(value)) if self.word == "bnot" and value in INT.limits:
                # Any other number that is as small is an INT.
                raise UnsupportedError(
                    "the complement of an unsigned number depends on how many bits it has",
                    span=span,
                    hint="whence has no unsigned numbers of a size; leave out the u, or subtract from the largest one",
                )
        return Call("~" if self.word == "bnot" else "-", (term,), span=span)


def arrange(parts: Sequence[Term | Operator | Minus]) -> Term:
    """Operands and operators in turn, as calls. By a loop over two stacks, so that no list is too long for it."""
    operands: list[Term] = []
    waiting: list[Operator | Minus] = []

    def apply() -> None:
        operator = waiting.pop()
        right = operands.pop()
        if isinstance(operator, Minus):
            operands.append(operator.of(right, _spanning(operator.span, right.span)))
        else:
            left = operands.pop()
            span = _spanning(left.span, right.span)
            if operator.meaning is not None:
                operands.append(operator.meaning(left, right, span))
            else:
                operands.append(Call(operator.function, (left, right), span=span))

    for part in parts:
        if isinstance(part, Operator):
            while waiting and _binds_before(waiting[-1], part):
                apply()
            waiting.append(part)
        elif isinstance(part, Minus):
            waiting.append(part)
        else:
            operands.append(part)
    while waiting:
        apply()
    return operands[0]


def _binds_before(earlier: Operator | Minus, later: Operator) -> bool:
    strength = MINUS.strength if isinstance(earlier, Minus) else earlier.strength
    return strength > later.strength or (strength == later.strength and not later.right)


def _spanning(left: Span | None, right: Span | None) -> Span | None:
    return left if left is None or right is None else Span(left.source, left.start, right.end)


Arguments: TypeAlias = tuple[Term, ...]
Meaning: TypeAlias = Callable[[Arguments, Span], Term]


def _renamed(function: str) -> Meaning:
    return lambda arguments, span: Call(function, arguments, span=span)


def _cast(target: Type) -> Meaning:
    return lambda arguments, span: Cast(arguments[0], target, span=span)


def _substr(arguments: Arguments, span: Span) -> Term:
    """Soufflé counts characters from 0, Spark from 1, and from the end where the number is negative."""
    text, start, length = arguments
    match start:
        case Constant(value=int(value), type=Type(name="INT")) if 0 <= value < 2**31 - 1:
            return Call("substring", (text, Constant(value + 1, INT, span=start.span), length), span=span)
    position = Call("+", (start, Constant(1, INT, span=start.span)), span=start.span)
    found = Call("substring", (text, position, length), span=span)
    outside = Call("<", (start, Constant(0, INT, span=start.span)), span=start.span)
    return Call("if", (outside, Constant("", STRING, span=span), found), span=span)


def _contains(arguments: Arguments, span: Span) -> Term:
    needle, text = arguments
    return Call("contains", (text, needle), span=span)


def _match(arguments: Arguments, span: Span) -> Term:
    """Soufflé matches the whole text, Spark any part of it."""
    pattern, text = arguments
    match pattern:
        case Constant(value=str(value)):
            whole: Term = Constant(_portable(value).join(WHOLE), STRING, span=pattern.span)
        case _:
            opening, closing = (Constant(each, STRING, span=pattern.span) for each in WHOLE)
            whole = Call("concat", (opening, pattern, closing), span=pattern.span)
    return Call("rlike", (text, whole), span=span)


# The classes of POSIX, which C++ knows within a set of characters, and neither Java nor Python does.
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_SET = re.compile(r"\\.|\[\^?(?:\\.|\[:\w+:\]|[^\]\\])*\]", re.DOTALL)
_MEMBER = re.compile(r"\\.|\[:(\w+):\]|\[[=.]|[\[&~|]", re.DOTALL)


def _portable(pattern: str) -> str:
    """The pattern with its sets of characters as Java and Python write them."""

    def member(found: re.Match[str]) -> str:
        if found[1]:
            return _CLASSES.get(found[1], found[0])
        return "\\" + found[0] if len(found[0]) == 1 else found[0]

    def whole(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == "\\" else "[" + _MEMBER.sub(member, found[0][1:])

    return _SET.sub(whole, pattern)


# Name, number of arguments (None for any), meaning.
INTRINSICS: dict[str, tuple[int | None, Meaning]] = {
    "cat": (None, _renamed("concat")),
    "strlen": (1, _renamed("length")),
    "substr": (3, _substr),
    "min": (None, _renamed("least")),
    "max": (None, _renamed("greatest")),
    "to_string": (1, _cast(STRING)),
    "to_number": (1, _cast(BIGINT)),
    "to_unsigned": (1, _cast(BIGINT)),
    "to_float": (1, _cast(DOUBLE)),
    "contains": (2, _contains),
    "match": (2, _match),
}

REFUSED = {
    "ord": "its number depends on the order in which values were first seen; two can be compared: ord(x) < ord(y)",
    "range": "it has a start and an end, and perhaps a step: x = range(0, 10)",
    "autoinc": "its number depends on the order of evaluation; #f(x) makes a value for x that stays the same",
}


def intrinsic(name: str, arguments: Arguments, span: Span) -> Term | None:
    """What a call means, or None where the name is none of Soufflé's."""
    if name in REFUSED:
        raise UnsupportedError(f"whence does not have Soufflé's {name}()", span=span, hint=REFUSED[name])
    if name not in INTRINSICS:
        return None
    count, meaning = INTRINSICS[name]
    if count is not None and len(arguments) != count:
        plural = "argument" if count == 1 else "arguments"
        raise ArityError(f"{name} takes {count} {plural}, not {len(arguments)}", span=span)
    return meaning(arguments, span)
