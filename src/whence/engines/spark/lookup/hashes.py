"""Hashes of columns in Arrow's layout, all rows at once. Equal values of one type have equal hashes, NULL included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes: TypeAlias = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_OTHER_ODD = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)
_NULL = np.uint64(0xA0761D6478BD642F)


def hash_rows(columns: Sequence[pa.Array]) -> Hashes:
    """One hash for each row of these columns, of which there is at least one."""
    hashes = hash_values(columns[0])
    for column in columns[1:]:
        hashes = _mixed(hashes * _OTHER_ODD + hash_values(column))
    return hashes


def hash_values(array: pa.Array) -> Hashes:
    hashes = _mixed(_bits(array))
    if array.null_count:
        hashes[array.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return hashes


def _mixed(bits: Hashes) -> Hashes:
    """Spread every bit over all of them. Different numbers stay different."""
    bits = (bits ^ (bits >> _HALF)) * _ODD
    return bits ^ (bits >> _HALF)


def _bits(array: pa.Array) -> Hashes:
    """A number for each value; for one that is NULL, any."""
    kind = array.type
    if pa.types.is_string(kind):
        starts = _offsets(array)
        return _of_sequences(np.frombuffer(array.buffers()[2] or b"", np.uint8).astype(np.uint64), starts)
    if pa.types.is_list(kind):
        return _of_sequences(hash_values(array.values), _offsets(array))
    if pa.types.is_decimal128(kind):
        words = np.frombuffer(array.buffers()[1], np.uint64)[2 * array.offset :][: 2 * len(array)]
        return _mixed(words[::2]) + words[1::2]
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.uint64)
    if pa.types.is_floating(kind):
        return _canonical(array.fill_null(0.0).to_numpy(zero_copy_only=False)).view(np.uint64)
    # What is left are numbers and moments of 1 to 64 bits.
    if pa.types.is_date32(kind):
        array = array.view(pa.int32())
    numbers: Hashes = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    return numbers


def _offsets(array: pa.Array) -> npt.NDArray[np.int64]:
    """Where each text or list begins, and where the last one ends."""
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1].astype(np.int64)


def _of_sequences(elements: Hashes, starts: npt.NDArray[np.int64]) -> Hashes:
    """A sequence is the sum of its elements, each mixed with its place, and of its length."""
    elements = elements[starts[0] : starts[-1]]
    starts = starts - starts[0]
    lengths = np.diff(starts)
    places = np.arange(len(elements)) - np.repeat(starts[:-1], lengths)
    mixed = _mixed(elements * _OTHER_ODD + places.astype(np.uint64))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)))
    return sums[starts[1:]] - sums[starts[:-1]] + lengths.astype(np.uint64)


def _canonical(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """There is one zero, and one number that is none."""
    numbers = numbers + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers
