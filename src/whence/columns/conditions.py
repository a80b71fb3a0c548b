"""Comparisons, logic and choices over arrays: SQL's three truth values, and operands only for rows that need them."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whence.columns.arithmetic import beyond, scale_of, whole
from whence.columns.casts import conversion
from whence.columns.encoding import INTEGER, Array
from whence.columns.parts import (
    Batch,
    Binary,
    Choice,
    Computed,
    Mask,
    Part,
    Run,
    dtype_of,
    either,
    strict,
    where_needed,
)
from whence.functions.widening import is_exact
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, NULL, REAL, TIMESTAMP, Type, Value
from whence.model.types.decimals import CONTEXT

Ufunc = Callable[..., Any]

_COMPARE: dict[str, Ufunc] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# What to ask, in place of a comparison to a number between two units, of the lower of these.
_OF_LOWER = {"<": "<=", "<=": "<=", ">": ">", ">=": ">"}
# Types other than exact numbers whose values lie in arrays in their order.
_ORDERED = (BOOLEAN, DATE, DOUBLE, REAL, TIMESTAMP)
# So many equalities are faster than a search.
_FEW = 4


def comparison(symbol: str, left: Part, right: Part) -> Run | None:
    kernel = _comparing(symbol, left, right)
    return None if kernel is None else strict(kernel, left.run, right.run)


def _comparing(symbol: str, left: Part, right: Part) -> Binary | None:
    """None where arrays do not know: of text they know only whether it is the same."""
    if NULL in (left.kind, right.kind):
        return None
    if not is_exact(left.kind):
        return _plain(_COMPARE[symbol]) if symbol in ("=", "!=") or left.kind in _ORDERED else None
    if right.is_constant and right.value is not None:
        return _to_constant(symbol, scale_of(left.kind), right.value)
    if left.is_constant and left.value is not None:
        of_right = _to_constant(_MIRRORED[symbol], scale_of(right.kind), left.value)
        return None if of_right is None else lambda a, b: of_right(b, a)
    return _between_scales(_COMPARE[symbol], scale_of(left.kind), scale_of(right.kind))


def _plain(compare: Ufunc) -> Binary:
    return lambda a, b: (compare(a, b), None)


def _to_constant(symbol: str, scale: int, value: Value) -> Binary | None:
    """Compares numbers of this scale to one that may lie between two of them."""
    lower, is_whole = _units(value, scale)
    if lower not in BIGINT.limits:
        return None
    if not is_whole and symbol in ("=", "!="):
        differs = symbol == "!="
        return lambda a, _: (np.full(a.shape, differs), None)
    compare, constant = _COMPARE[symbol if is_whole else _OF_LOWER[symbol]], whole(lower)
    return lambda a, _: (compare(a, constant), None)


def _units(value: Any, scale: int) -> tuple[int, bool]:
    """The units of this scale in an exact number, rounded down, and whether they are all of it."""
    exact = CONTEXT.scaleb(decimal.Decimal(value), scale)
    lower = int(exact.to_integral_value(decimal.ROUND_FLOOR))
    return lower, lower == exact


def _between_scales(compare: Ufunc, left: int, right: int) -> Binary | None:
    if left == right:
        return _plain(compare)
    if abs(left - right) > 18:
        return None
    factor = 10 ** abs(left - right)
    times, limit = whole(factor), (BIGINT.limits.stop - 1) // factor
    if left < right:
        return lambda a, b: (compare(a * times, b), beyond(a, limit))
    return lambda a, b: (compare(a, b * times), beyond(b, limit))


def same(left: Part, right: Part) -> Run | None:
    """`<=>`, which is never NULL."""
    kernel = _comparing("=", left, right)
    if kernel is None:
        return None
    compare, first, second = kernel, left.run, right.run

    def run(batch: Batch) -> Computed:
        a, a_nulls, a_doubt = first(batch)
        b, b_nulls, b_doubt = second(batch)
        equal, doubt = compare(a, b)
        nulls = either(a_nulls, b_nulls)
        if nulls is not None:
            equal = equal & ~nulls
            doubt = None if doubt is None else doubt & ~nulls
        if a_nulls is not None and b_nulls is not None:
            equal = equal | (a_nulls & b_nulls)
        return equal, None, either(doubt, either(a_doubt, b_doubt))

    return run


def membership(needle: Part, options: Sequence[Part]) -> Run | None:
    """IN, among constants."""
    if needle.kind == NULL or not all(option.is_constant for option in options):
        return None
    wanted = _wanted(needle.kind, [option for option in options if option.value is not None])
    unknown = any(option.value is None for option in options)
    find = _search(wanted)
    value = needle.run

    def run(batch: Batch) -> Computed:
        values, nulls, doubt = value(batch)
        found = find(values)
        return found, either(nulls, ~found) if unknown else nulls, doubt

    return run


def _wanted(kind: Type, options: Sequence[Part]) -> Array:
    """The different constants that a value of `kind` can be equal to."""
    if not is_exact(kind):
        return np.array(sorted({option.number for option in options}), dtype_of(kind))
    units = (_units(option.value, scale_of(kind)) for option in options)
    return np.array(sorted({lower for lower, is_whole in units if is_whole and lower in BIGINT.limits}), INTEGER)


def _search(wanted: Array) -> Callable[[Array], Mask]:
    if len(wanted) > _FEW:
        last = whole(len(wanted) - 1)
        return lambda values: wanted[np.minimum(np.searchsorted(wanted, values), last)] == values
    constants = [np.array(each) for each in wanted]

    def find(values: Array) -> Mask:
        found: Mask = np.zeros(values.shape, np.bool_)
        for constant in constants:
            found |= values == constant
        return found

    return find


def extreme(choose: Ufunc, parts: Sequence[Part]) -> Run | None:
    """greatest and least, which skip NULLs."""
    kind = parts[0].kind
    if not is_exact(kind) and kind not in _ORDERED:
        return None
    first, *others = [part.run for part in parts]

    def run(batch: Batch) -> Computed:
        values, nulls, doubt = first(batch)
        for other in others:
            more, more_nulls, more_doubt = other(batch)
            chosen = choose(values, more)
            if more_nulls is not None:
                chosen = np.where(more_nulls, values, chosen)
            values = chosen if nulls is None else np.where(nulls, more, chosen)
            nulls = None if nulls is None or more_nulls is None else nulls & more_nulls
            doubt = either(doubt, more_doubt)
        return values, nulls, doubt

    return run


def chain(decisive: bool, parts: Sequence[Part]) -> Run:
    """`and` is decided by the first FALSE, `or` by the first TRUE; what follows it is not needed."""
    first, *others = parts
    start = first.run
    combine: Ufunc = np.logical_or if decisive else np.logical_and

    def run(batch: Batch) -> Computed:
        values, nulls, doubt = start(batch)
        for part in others:
            # Where the result so far is not decisive, or NULL.
            open_rows = _open(values, nulls, decisive)
            more, more_nulls, more_doubt = where_needed(part, batch, open_rows)
            if more_doubt is not None:
                doubt = either(doubt, more_doubt & open_rows)
            either_null = either(nulls, more_nulls)
            if either_null is not None:
                nulls = either_null & open_rows & _open(more, more_nulls, decisive)
            values = combine(values, more)
        return values, nulls, doubt

    return run


def _open(values: Array, nulls: Mask | None, decisive: bool) -> Mask:
    undecided: Mask = ~values if decisive else values
    return undecided if nulls is None else undecided | nulls


def negated(a: Array) -> tuple[Array, Mask | None]:
    return ~a, None


def is_null(part: Part, *, wanted: bool) -> Run:
    operand = part.run

    def run(batch: Batch) -> Computed:
        _, nulls, doubt = operand(batch)
        if nulls is None or not nulls.ndim:
            return np.full(batch.length, (nulls is not None) is wanted), None, doubt
        return nulls if wanted else ~nulls, None, doubt

    return run


def case(kind: Type, parts: Sequence[Part]) -> Run:
    """Condition, result, condition, result, ..., and the result otherwise."""
    *pairs, otherwise = parts
    branches = list(zip(pairs[::2], pairs[1::2], strict=True))

    def run(batch: Batch) -> Computed:
        choice = Choice(kind, batch.length)
        for condition, then in branches:
            holds, nulls, doubt = where_needed(condition, batch, choice.undecided)
            choice.doubt(doubt)
            chosen = choice.undecided & holds
            if nulls is not None:
                chosen &= ~nulls
            if np.count_nonzero(chosen):
                choice.take(chosen, where_needed(then, batch, chosen))
        choice.take(choice.undecided, where_needed(otherwise, batch, choice.undecided))
        return choice.made()

    return run


def coalesce(kind: Type, parts: Sequence[Part]) -> Run:
    *candidates, last = parts

    def run(batch: Batch) -> Computed:
        choice = Choice(kind, batch.length)
        for part in candidates:
            computed = where_needed(part, batch, choice.undecided)
            _, nulls, doubt = computed
            choice.doubt(doubt)
            chosen = choice.undecided if nulls is None else choice.undecided & ~nulls
            choice.take(chosen, computed)
            if nulls is None:
                return choice.made()
        choice.take(choice.undecided, where_needed(last, batch, choice.undecided))
        return choice.made()

    return run


def nullif(common: Type, left: Part, right: Part) -> Run | None:
    """The first operand as it is, unless it equals the second, both as the common type."""
    widen = conversion(left.kind, common)
    equal = _comparing("=", Part(common, left.run), right)
    if left.is_constant or widen is None or equal is None:
        return None
    convert, compare, first, second = widen, equal, left.run, right.run

    def run(batch: Batch) -> Computed:
        values, nulls, doubt = first(batch)
        other, other_nulls, other_doubt = second(batch)
        widened, misfit = convert(values)
        found, unsure = compare(widened, other)
        for each in (misfit, unsure):
            if each is not None:
                doubt = either(doubt, each if nulls is None else each & ~nulls)
        if other_nulls is not None:
            found = found & ~other_nulls
        return values, either(nulls, found), either(doubt, other_doubt)

    return run
