"""Which way a term moves while the min or max that it is computed from improves.

During a recursion a min can still fall and a max still rise. What is computed from it must follow: `c + 1` falls with
c, `10 - c` rises, and a comparison such as `c < 10` may become true (FALSE counts as less than TRUE) but never false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from whence.errors import StratificationError
from whence.functions.resolve import title
from whence.functions.types import Typed
from whence.functions.widening import is_number
from whence.model.span import Span
from whence.model.terms import Aggregate, Call, Cast, Constant, Term, Variable, fold
from whence.model.types import NULL, Type


class Direction(Enum):
    FALLS = -1
    RISES = 1

    @property
    def opposite(self) -> Direction:
        return Direction(-self.value)


@dataclass(frozen=True, slots=True)
class Moving:
    """A value that moves in one direction, because of that aggregate. What does not move is None."""

    direction: Direction
    aggregate: Aggregate

    @property
    def because(self) -> str:
        """Why nothing final can be said of the value yet."""
        better = "smaller" if self.aggregate.function == "min" else "larger"
        return f"{self.aggregate.function} can still make the value {better} while the recursion runs"

    @property
    def origin(self) -> tuple[str, Span | None]:
        """A note that shows the aggregate."""
        return f"the {self.aggregate.function} is here", self.aggregate.span

    def with_sign(self, sign: int) -> Moving:
        return self if sign > 0 else Moving(self.direction.opposite, self.aggregate)


# How a function's value moves with each argument: 1 along with it, -1 against it, 0 in no known way. The last holds for
# all further arguments.
MONOTONE: Mapping[str, tuple[int, ...]] = {
    "+": (1,),
    "-": (1, -1),
    "least": (1,),
    "greatest": (1,),
    "floor": (1,),
    "ceil": (1,),
    "round": (1, 0),
    "sqrt": (1,),
    "exp": (1,),
    "ln": (1,),
    "date_add": (1,),
    "date_sub": (1, -1),
    "add_months": (1,),
    "add_interval": (1,),
    "datediff": (1, -1),
    "<": (-1, 1),
    "<=": (-1, 1),
    ">": (1, -1),
    ">=": (1, -1),
    "and": (1,),
    "or": (1,),
    "not": (-1,),
}
# What keeps to its direction only this way. NULL counts as the worst value, but least and greatest pass over it, and so
# can have a better result before there is a value than afterwards. ln is NULL for 0 and below.
ONE_WAY = {"least": Direction.FALLS, "greatest": Direction.RISES, "ln": Direction.RISES}
SCALING = ("*", "/", "div", "quotient")
EQUALITY = ("=", "!=", "<=>", "in")


class Compass:
    """The directions of a rule's terms, given those of its variables."""

    def __init__(self, variables: Mapping[str, Moving], typed: Callable[[Term], Typed]) -> None:
        self.variables = variables
        self.typed = typed
        # Products and quotients that are monotone only if the other factor is never negative.
        self.assumed: list[Call] = []

    def moving(self, term: Term) -> Moving | None:
        """How the term moves. Raises StratificationError where it may move either way."""
        return fold(term, self.combine)

    def combine(self, term: Term, inside: Sequence[Moving | None]) -> Moving | None:
        if isinstance(term, Variable):
            return self.variables.get(term.name)
        moving = next((move for move in inside if move is not None), None)
        if moving is None:
            return None
        match term:
            case Call(function="isnotnull"):
                # No value becomes NULL again.
                return Moving(Direction.RISES, moving.aggregate)
            case Call(function="isnull"):
                return Moving(Direction.FALLS, moving.aggregate)
            case Call(function=function) if function in SCALING:
                signs = self.scale(term, inside)
            case Call(function="-", arguments=(_,)):
                signs = (-1,)
            case Call(function=function) if function in MONOTONE:
                self.check_null(term, inside)
                signs = MONOTONE[function]
            case Cast() if _keeps_order(self.typed(term.term).type, term.type):
                signs = (1,)
            case _:
                raise _no_direction(term, moving)
        return _together(term, inside, signs)

    def check_null(self, term: Call, inside: Sequence[Moving | None]) -> None:
        """Refuse a function whose result gets worse when a value comes instead of NULL, or NULL instead of a value."""
        only = ONE_WAY.get(term.function)
        if only is None:
            return
        for argument, move in zip(term.arguments, inside, strict=True):
            if (
                move is not None
                and move.direction is not only
                and (term.function == "ln" or self.typed(argument).nullable)
            ):
                raise _null(term, argument, move)

    def scale(self, term: Call, inside: Sequence[Moving | None]) -> tuple[int, ...]:
        """`c * 2` moves with c, `c * -2` against it, and `c * q` with it if q is not negative, which is assumed."""
        left, right = term.arguments
        if term.function != "*" and inside[1] is not None:
            raise _no_direction(term, inside[1])
        factor = _number(right if inside[1] is None else left)
        if factor is None or (inside[0] is not None and inside[1] is not None):
            self.assumed.append(term)
            return (1, 1)
        return (1, 1) if factor >= 0 else (-1, -1)


def _together(term: Term, inside: Sequence[Moving | None], signs: tuple[int, ...]) -> Moving | None:
    result: Moving | None = None
    for position, move in enumerate(inside):
        if move is None:
            continue
        sign = signs[min(position, len(signs) - 1)]
        if sign == 0 or (result is not None and result.direction is not move.with_sign(sign).direction):
            raise _no_direction(term, move)
        result = result or move.with_sign(sign)
    return result


def _no_direction(term: Term, moving: Moving) -> StratificationError:
    if isinstance(term, Call) and term.function in EQUALITY:
        message = f"this compares for equality, but {moving.because}"
    else:
        what = title(term.function).strip("'()") if isinstance(term, Call) else "this term"
        message = f"the result of {what} may move either way, for {moving.because}"
    return StratificationError(
        message,
        span=term.span,
        related=[moving.origin],
        hint="+, -, least, greatest, and * or / by a positive constant follow the value; compute anything else in a "
        "relation of its own that reads the recursive one",
    )


def _null(term: Call, argument: Term, moving: Moving) -> StratificationError:
    if term.function == "ln":
        message = f"ln is NULL as soon as its argument has come down to 0, and {moving.because}"
        hint = "keep the argument itself in the recursion, and take ln in a relation of its own that reads it"
    else:
        message = (
            f"{term.function} passes over NULL, and this can be NULL first and have a value later, with which "
            f"{term.function} may get worse"
        )
        written = "..." if argument.span is None else argument.span.text
        hint = f"keep NULL out of it with a condition: isnotnull({written}), or in SQL {written} IS NOT NULL"
    return StratificationError(
        message,
        span=argument.span or term.span,
        related=[moving.origin],
        hint=hint,
    )


def _number(term: Term) -> int | float | Decimal | None:
    """The number that a term is, if it is one, perhaps with a sign."""
    match term:
        case Constant(value=bool()):
            return None
        case Constant(value=int() | float() | Decimal() as value):
            return value
        case Call(function="-", arguments=(Constant(value=int() | float() | Decimal() as value),)):
            return -value
    return None


def _keeps_order(source: Type, target: Type) -> bool:
    """Between numbers and between times: the larger one stays the larger one, or becomes equal."""
    kinds = [kind for kind in (source, target) if kind != NULL]
    return all(map(is_number, kinds)) or all(kind.is_time for kind in kinds)
