"""The order of rows in columns, which is that of the rows themselves: NULL first, then by value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whence.columns.encoding import (
    INTEGER,
    NULL,
    OUTLIER,
    Array,
    DecimalEncoding,
    DictionaryEncoding,
    Encoding,
    TextEncoding,
)


def in_order(encodings: Sequence[Encoding], columns: Sequence[Array], length: int) -> Array:
    """The places of so many rows, in their order."""
    order = np.arange(length)
    # Where the rows begin that are the same in all columns so far; and the places that such rows share with others.
    groups = np.zeros(length, INTEGER)
    tied = np.arange(length if length > 1 else 0)
    for encoding, column in zip(encodings, columns, strict=True):
        if not len(tied):
            break
        rows = order[tied]
        keys = _ordered(encoding, column[rows])
        chosen = np.lexsort((keys, groups[tied]))
        order[tied] = rows[chosen]
        begins = _begins(groups[tied]) | _begins(keys[chosen])
        groups[tied] = np.maximum.accumulate(np.where(begins, tied, 0))
        is_last = np.append(begins[1:], True)
        tied = tied[~(begins & is_last)]
    return order


def _begins(values: Array) -> Array:
    """Which values differ from the one before them."""
    return np.append(True, values[1:] != values[:-1])


def _ordered(encoding: Encoding, numbers: Array) -> Array:
    """Integers in the order of the values, with the least for NULL."""
    if isinstance(encoding, DictionaryEncoding):
        return _ranks(numbers, lambda different: _value_order(encoding, different))
    if isinstance(encoding, DecimalEncoding) and len(numbers) and numbers.max() >= OUTLIER:
        return _ranks(numbers, lambda different: _places_in_order(encoding.units(different)))
    if encoding.dtype is INTEGER:
        return numbers
    # The bits of a DOUBLE are in its order, and backwards below zero, of which there is but one.
    bits = (numbers + 0.0).view(INTEGER)
    return np.where(encoding.is_null(numbers), NULL, bits ^ ((bits >> 63) & np.int64(2**63 - 1)))


def _ranks(numbers: Array, order: Callable[[Array], Any]) -> Array:
    """The rank of each number among the different ones, by the order of their values."""
    different, places = np.unique(numbers, return_inverse=True)
    # NULL is the least of them.
    values = different[1:] if len(different) and different[0] == NULL else different
    ranks = np.full(len(different), NULL)
    ranks[len(different) - len(values) + order(values)] = np.arange(len(values))
    found: Array = ranks[places]
    return found


def _value_order(encoding: DictionaryEncoding, numbers: Array) -> Array:
    if not isinstance(encoding, TextEncoding):
        values: Sequence[Any] = encoding.decode(numbers)
        key = encoding.type.sort_key
        return _places_in_order(values if key is None else list(map(key, values)))
    import pyarrow.compute as pc

    # The bytes of UTF-8 are in the order of code points, as Python compares them.
    order: Array = pc.sort_indices(encoding.to_arrow(numbers)).to_numpy()
    return order


def _places_in_order(values: Sequence[Any]) -> Array:
    return np.array(sorted(range(len(values)), key=values.__getitem__), INTEGER)
