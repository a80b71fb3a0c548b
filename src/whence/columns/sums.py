"""Exact totals of many groups at once: whole numbers in two words, DOUBLEs in as many as their range needs.

What was added can be taken away again and leaves nothing behind, in whatever order it comes.
"""

from __future__ import annotations

import math

import numpy as np

from whence.columns.compiled import kernel
from whence.columns.encoding import INTEGER, NULL, Array

WORD_BITS = 32
_WORD = (1 << WORD_BITS) - 1
# Words of a sum of DOUBLEs, and the exponent of its last bit. Most numbers fit into the narrow range, from 2**-160 to
# 2**127; the wide one holds every DOUBLE. The two differ by whole words.
NARROW_WORDS, NARROW_EXPONENT = 10, -160
WIDE_WORDS, WIDE_EXPONENT = 70, -1088
_MANTISSA_BITS = 53


@kernel
def add_integers(counts: Array, low: Array, high: Array, groups: Array, weights: Array, values: Array) -> None:
    """Add values to their groups' totals, each as often as its weight says; NULL counts for nothing."""
    for at in range(len(groups)):
        value = values[at]
        if value != NULL:
            group, weight = groups[at], weights[at]
            counts[group] += weight
            total = low[group] + (value & _WORD) * weight
            low[group] = total & _WORD
            high[group] += (value >> WORD_BITS) * weight + (total >> WORD_BITS)


@kernel
def add_counts(counts: Array, groups: Array, weights: Array, is_null: Array) -> None:
    """The same for a count alone."""
    for at in range(len(groups)):
        if not is_null[at]:
            counts[groups[at]] += weights[at]


@kernel
def fits_range(values: Array, exponent: int, words: int) -> bool:
    """Whether all of some DOUBLEs are whole numbers of the last bit, and their sum stays far below the first."""
    for value in values:
        if value == value and value != 0.0:
            _, power = math.frexp(value)
            if power - _MANTISSA_BITS < exponent or power + 2 * WORD_BITS > exponent + WORD_BITS * words:
                return False
    return True


@kernel
def add_doubles(counts: Array, sums: Array, exponent: int, groups: Array, weights: Array, values: Array) -> None:
    """Add DOUBLEs to the words of their groups' totals. All of them fit the range."""
    words = sums.shape[1]
    for at in range(len(groups)):
        value = values[at]
        if value != value:
            continue
        group, weight = groups[at], weights[at]
        counts[group] += weight
        fraction, power = math.frexp(value)
        mantissa = np.int64(fraction * 9007199254740992.0)
        if mantissa < 0:
            mantissa = -mantissa
            weight = -weight
        shift = power - _MANTISSA_BITS - exponent
        if mantissa == 0:
            continue
        word, offset = shift >> 5, shift & 31
        carry = np.int64(0)
        part = np.int64(0)
        while word < words and (mantissa != 0 or carry != 0):
            # The lowest bits of what is left, which belong into this word.
            part = (mantissa & (_WORD >> offset)) << offset
            mantissa = mantissa >> (WORD_BITS - offset)
            offset = 0
            total = sums[group, word] + part * weight + carry
            if word == words - 1:
                sums[group, word] = total
                carry = 0
            else:
                sums[group, word] = total & _WORD
                carry = total >> WORD_BITS
            word += 1


@kernel
def different(groups: Array, marks: Array, mark: int, found: Array) -> int:
    """List groups that do not have the mark yet, and mark them. Answers how many they are."""
    total = 0
    for group in groups:
        if marks[group] != mark:
            marks[group] = mark
            found[total] = group
            total += 1
    return total


def widened(sums: Array) -> Array:
    """Narrow sums in the wide range."""
    wide = np.zeros((len(sums), WIDE_WORDS), INTEGER)
    first = (NARROW_EXPONENT - WIDE_EXPONENT) // WORD_BITS
    wide[:, first : first + NARROW_WORDS] = sums
    # The first word has the sign, which goes on in the words above it.
    last = first + NARROW_WORDS - 1
    carry = wide[:, last] >> WORD_BITS
    wide[:, last] &= _WORD
    wide[:, last + 1] = carry
    for word in range(last + 1, WIDE_WORDS - 1):
        carry = wide[:, word] >> WORD_BITS
        wide[:, word] &= _WORD
        wide[:, word + 1] = carry
    return wide


def whole(sums: Array, exponent: int, unit: int) -> list[int]:
    """The totals as whole numbers of 2**unit, which all that was added is a multiple of."""
    shift = exponent - unit
    totals = []
    for words in sums.tolist():
        total = 0
        for word in reversed(words):
            total = (total << WORD_BITS) + word
        totals.append(total << shift if shift >= 0 else total >> -shift)
    return totals
