"""What is computed of all values of a group at once: variances, percentiles, correlations, the most frequent value.

SQL's aggregates of these names are functions of collect_list. They are computed exactly and rounded once, so that they
depend on no order, and deletes leave no trace in them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from whence.errors import EvaluationError
from whence.functions.arrays import element_type
from whence.functions.mathematics import finite
from whence.functions.resolve import (
    APPROXIMATE,
    ARRAY,
    TEXT,
    Builtin,
    Parameter,
    always,
    plain,
    takes,
)
from whence.functions.widening import is_integer
from whence.model.types import DOUBLE, NULL, STRING, ArrayType, Type

_DOUBLES = Parameter(
    "an ARRAY of DOUBLEs",
    lambda given: ArrayType(DOUBLE) if given in (ArrayType(DOUBLE), ArrayType(NULL)) else None,
)
# Pairs of DOUBLEs, y before x, as SQL has them.
_PAIRS = Parameter(
    "an ARRAY of pairs",
    lambda given: ArrayType(ArrayType(DOUBLE)) if given == ArrayType(ArrayType(DOUBLE)) else None,
)
_WHOLE = Parameter(
    "an ARRAY of whole numbers",
    lambda given: given if isinstance(given, ArrayType) and is_integer(given.element) else None,
)
_TEXTS = Parameter("an ARRAY<STRING>", lambda given: given if given == ArrayType(STRING) else None)


def _moment(values: Sequence[float], power: int) -> Fraction:
    """The sum of the deviations from the mean, to a power."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / len(exact)
    return sum(((value - mean) ** power for value in exact), Fraction())


def _variance(lost: int) -> Callable[[Sequence[float]], float | None]:
    """Of a whole population, or with one degree of freedom lost of a sample."""

    def variance(values: Sequence[float]) -> float | None:
        if len(values) <= lost:
            return None
        return finite(_rounded(_moment(values, 2) / (len(values) - lost)), lambda: "the variance")

    return variance


def _rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf


def _root(function: Callable[[Sequence[float]], float | None]) -> Callable[[Sequence[float]], float | None]:
    def root(values: Sequence[float]) -> float | None:
        found = function(values)
        return None if found is None else math.sqrt(found)

    return root


def _skewness(values: Sequence[float]) -> float | None:
    if not values:
        return None
    second = _rounded(_moment(values, 2))
    if not second:
        return None
    return math.sqrt(len(values)) * _rounded(_moment(values, 3)) / math.sqrt(second**3)


def _kurtosis(values: Sequence[float]) -> float | None:
    if not values:
        return None
    second = _moment(values, 2)
    return None if not second else _rounded(len(values) * _moment(values, 4) / (second * second)) - 3.0


def _percentile(values: Sequence[float], share: float) -> float | None:
    """Between the two values next to that share of all others."""
    if not 0 <= share <= 1:
        raise EvaluationError(f"percentile() takes a share from 0 to 1, not {share}")
    if not values:
        return None
    values = sorted(values)
    place = (len(values) - 1) * share
    low, high = math.floor(place), math.ceil(place)
    if low == high or values[low] == values[high]:
        return values[low]
    return (high - place) * values[low] + (place - low) * values[high]


def _discrete(values: Sequence[float], share: float) -> float | None:
    """The first value that is at least that share of all, counted."""
    if not 0 <= share <= 1:
        raise EvaluationError(f"percentile_disc() takes a share from 0 to 1, not {share}")
    return sorted(values)[max(math.ceil(len(values) * share) - 1, 0)] if values else None


def _discrete_from_above(values: Sequence[float], share: float) -> float | None:
    found = _discrete([-value for value in values], share)
    return None if found is None else -found + 0.0


def _mode(values: Sequence[Any]) -> Any:
    """The value that is there most often; of several the first in their order."""
    counted = Counter(values)
    most = max(counted.values(), default=0)
    return next((value for value in values if counted[value] == most), None)


def _bits(operate: Callable[[int, int], int]) -> Callable[[Sequence[int]], int | None]:
    return lambda values: reduce(operate, values) if values else None


def _product(values: Sequence[float]) -> float | None:
    return finite(math.prod(values), lambda: "the product") if values else None


class _Moments:
    """Exact sums over pairs (y, x)."""

    def __init__(self, pairs: Sequence[Sequence[float]]) -> None:
        ys, xs = ([Fraction(pair[place]) for pair in pairs] for place in (0, 1))
        self.count = len(pairs)
        self.y, self.x = sum(ys, Fraction()) / self.count, sum(xs, Fraction()) / self.count
        self.yy = sum(((y - self.y) ** 2 for y in ys), Fraction())
        self.xx = sum(((x - self.x) ** 2 for x in xs), Fraction())
        self.xy = sum(((y - self.y) * (x - self.x) for y, x in zip(ys, xs, strict=True)), Fraction())


def _of_pairs(least: int, compute: Callable[[_Moments], Fraction | float | None]) -> Callable[..., float | None]:
    def computed(pairs: Sequence[Sequence[float]]) -> float | None:
        if len(pairs) < least:
            return None
        found = compute(_Moments(pairs))
        return None if found is None else finite(_rounded(Fraction(found)), lambda: "the result")

    return computed


def _correlation(moments: _Moments) -> float | None:
    if not moments.xx or not moments.yy:
        return None
    return _rounded(moments.xy) / math.sqrt(_rounded(moments.xx * moments.yy))


def _determination(moments: _Moments) -> Fraction | None:
    if not moments.xx:
        return None
    return moments.xy**2 / (moments.xx * moments.yy) if moments.yy else Fraction(1)


def _join(texts: Sequence[str], separator: str = "") -> str | None:
    return separator.join(texts) if texts else None


def _present(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the elements that are not NULL."""
    return lambda values, *more: function([value for value in values if value is not None], *more)


def _whole_pairs(function: Callable[..., float | None]) -> Callable[..., float | None]:
    return lambda pairs: function([pair for pair in pairs if pair is not None and len(pair) == 2 and None not in pair])


def _element(name: str, parameter: Parameter, function: Callable[..., Any]) -> Builtin:
    def returns(arguments: tuple[Type, ...]) -> Type:
        return element_type(arguments)

    return Builtin(name, takes(parameter, returns=returns), plain(_present(function)), nullable=always)


def _double(name: str, parameter: Parameter, function: Callable[..., float | None]) -> Builtin:
    whole = _whole_pairs(function) if parameter is _PAIRS else _present(function)
    return Builtin(name, takes(parameter, returns=DOUBLE), plain(whole), nullable=always)


def _share(name: str, function: Callable[..., float | None]) -> Builtin:
    return Builtin(name, takes(_DOUBLES, APPROXIMATE, returns=DOUBLE), plain(_present(function)), nullable=always)


STATISTICS = (
    _double("array_var_pop", _DOUBLES, _variance(0)),
    _double("array_var_samp", _DOUBLES, _variance(1)),
    _double("array_stddev_pop", _DOUBLES, _root(_variance(0))),
    _double("array_stddev_samp", _DOUBLES, _root(_variance(1))),
    _double("array_skewness", _DOUBLES, _skewness),
    _double("array_kurtosis", _DOUBLES, _kurtosis),
    _double("array_product", _DOUBLES, _product),
    _share("array_percentile", _percentile),
    _share("array_percentile_disc", _discrete),
    _share("array_percentile_disc_desc", _discrete_from_above),
    _element("array_mode", ARRAY, _mode),
    _element("array_bit_and", _WHOLE, _bits(and_)),
    _element("array_bit_or", _WHOLE, _bits(or_)),
    _element("array_bit_xor", _WHOLE, _bits(xor)),
    _double("array_corr", _PAIRS, _of_pairs(2, _correlation)),
    _double("array_covar_pop", _PAIRS, _of_pairs(1, lambda moments: moments.xy / moments.count)),
    _double("array_covar_samp", _PAIRS, _of_pairs(2, lambda moments: moments.xy / (moments.count - 1))),
    _double("array_regr_sxx", _PAIRS, _of_pairs(1, lambda moments: moments.xx)),
    _double("array_regr_syy", _PAIRS, _of_pairs(1, lambda moments: moments.yy)),
    _double("array_regr_sxy", _PAIRS, _of_pairs(1, lambda moments: moments.xy)),
    _double("array_regr_avgx", _PAIRS, _of_pairs(1, lambda moments: moments.x)),
    _double("array_regr_avgy", _PAIRS, _of_pairs(1, lambda moments: moments.y)),
    _double("array_regr_slope", _PAIRS, _of_pairs(2, lambda moments: moments.xy / moments.xx if moments.xx else None)),
    _double(
        "array_regr_intercept",
        _PAIRS,
        _of_pairs(2, lambda moments: moments.y - moments.xy / moments.xx * moments.x if moments.xx else None),
    ),
    _double("array_regr_r2", _PAIRS, _of_pairs(2, _determination)),
    Builtin("array_listagg", takes(_TEXTS, TEXT, optional=1, returns=STRING), plain(_present(_join)), nullable=always),
)
