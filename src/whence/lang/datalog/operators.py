"""Which operator binds how strongly, and lists of operands and operators turned into calls by that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whence.model.span import Span
from whence.model.terms import Call, Term


@dataclass(frozen=True, slots=True)
class Operator:
    function: str
    strength: int
    right: bool = False


OR = Operator("or", 1)
AND = Operator("and", 2)
NOT = Operator("not", 3)
# A comparison stands between two sums: `a < b < c` is no term.
COMPARING = 4
MINUS = Operator("-", 7)

CONNECTIVES: Mapping[str, Operator] = {"or": OR, "and": AND}
ARITHMETIC: Mapping[str, Operator] = {
    "+": Operator("+", 5),
    "-": Operator("-", 5),
    "*": Operator("*", 6),
    "/": Operator("/", 6),
    "%": Operator("%", 6),
    "^": Operator("power", 8, right=True),
}
# How each function is written between its arguments.
INFIX: Mapping[str, tuple[str, Operator]] = {
    operator.function: (sign, operator) for sign, operator in (*CONNECTIVES.items(), *ARITHMETIC.items())
}


@dataclass(frozen=True, slots=True)
class Minus:
    """A minus before an operand."""

    span: Span


def arrange(parts: Sequence[Term | Operator | Minus]) -> Term:
    """Operands and operators in turn, as calls. By a loop over two stacks, so that no list is too long for it."""
    operands: list[Term] = []
    waiting: list[Operator | Minus] = []

    def apply() -> None:
        operator = waiting.pop()
        right = operands.pop()
        if isinstance(operator, Minus):
            operands.append(Call("-", (right,), span=_spanning(operator.span, right.span)))
        else:
            left = operands.pop()
            operands.append(Call(operator.function, (left, right), span=_spanning(left.span, right.span)))

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
