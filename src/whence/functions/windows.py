"""Window functions: their types, and which of them look at what."""

from __future__ import annotations

from collections.abc import Sequence

from whence.errors import ArityError, TypeMismatchError, UnknownNameError, UnsupportedError, did_you_mean
from whence.functions.aggregates import aggregate_type
from whence.model.terms import AGGREGATES, Constant, Window
from whence.model.types import BOOLEAN, DOUBLE, INT, NULL, Type

# What numbers rows, by which rows can be left out.
NUMBERING = ("row_number", "rank", "dense_rank", "within")
# What depends on the place of a row only.
PLACES = (*NUMBERING, "ntile", "percent_rank", "cume_dist")
# What takes the value of another row, so many before or after.
NEIGHBOURS = ("lag", "lead")
# What takes the value of a row in the frame.
PICKS = ("first_value", "last_value", "nth_value")
WINDOW_FUNCTIONS = (*PLACES, *NEIGHBOURS, *PICKS)

_ARGUMENTS = {
    **dict.fromkeys(PLACES, (0, 0)),
    "ntile": (1, 1),
    **dict.fromkeys(NEIGHBOURS, (1, 3)),
    **dict.fromkeys(PICKS, (1, 2)),
    "nth_value": (2, 3),
}


def has_frame(function: str) -> bool:
    """Whether the function looks at the rows of a frame."""
    return function in PICKS or function in AGGREGATES


def window_type(term: Window, given: Sequence[tuple[Type, bool]]) -> tuple[Type, bool]:
    """The type of a window function, and whether it can be NULL, from those of its arguments."""
    function = term.function
    if function in AGGREGATES:
        kind = aggregate_type(function, given[0][0] if given else None, term.span)
        return kind, function != "count"
    if function not in WINDOW_FUNCTIONS:
        known = (*WINDOW_FUNCTIONS, *AGGREGATES)
        raise UnknownNameError(
            f"there is no window function {function}", span=term.span, hint=did_you_mean(function, known)
        )
    least, most = _ARGUMENTS[function]
    if not least <= len(given) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise ArityError(f"{function} takes {wanted} arguments, and {len(given)} are given", span=term.span)
    _check_counts(term)
    if function in PICKS:
        return given[0][0], True
    if function in NEIGHBOURS:
        default = given[2] if len(given) > 2 else (NULL, True)
        return given[0][0], given[0][1] or default[1]
    if function == "within":
        return BOOLEAN, False
    return (DOUBLE if function in ("percent_rank", "cume_dist") else INT), False


def _check_counts(term: Window) -> None:
    """Numbers of rows and of parts are written down, and not computed for each row."""
    at = {"ntile": 0, "nth_value": 1, "lag": 1, "lead": 1}.get(term.function)
    if at is None or at >= len(term.arguments):
        return
    count = term.arguments[at]
    if not isinstance(count, Constant) or type(count.value) is not int:
        raise UnsupportedError(
            f"{term.function} takes a number here that is the same for all rows", span=count.span or term.span
        )
    if count.value < 1 and term.function in ("ntile", "nth_value"):
        raise TypeMismatchError(f"{term.function} needs a number above 0", span=count.span or term.span)
