"""Exact totals of many groups at once: whole numbers in two words, DOUBLEs in as many as their range needs.

What was added can be taken away again and leaves nothing behind, in whatever order it comes. All that is kept of a
group lies together, in a row of words, so that a change reads it once; `at` is where an aggregate has its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from whence.columns.compiled import kernel
from whence.columns.encoding import INTEGER, NULL, Array

WORD_BITS = 32
_WORD = (1 << WORD_BITS) - 1
# A total of which the high word is less has 58 bits at most.
_FAR = 2**26
# Words of a sum of DOUBLEs, and the exponent of its last bit. Most numbers fit into the narrow range, from 2**-160 to
# 2**127; the wide one holds every DOUBLE. The two differ by whole words.
NARROW_WORDS, NARROW_EXPONENT = 10, -160
WIDE_WORDS, WIDE_EXPONENT = 70, -1088
_MANTISSA_BITS = 53


@kernel
def add_counts(state: Array, at: int, groups: Array, weights: Array, is_null: Array) -> None:
    """Count values of groups; NULL counts for nothing."""
    for number in range(len(groups)):
        if not is_null[number]:
            state[groups[number], at] += weights[number]


@kernel
def add_integers(state: Array, at: int, groups: Array, weights: Array, values: Array) -> None:
    """Add values to a count and a total of their groups, each as often as its weight says."""
    for number in range(len(groups)):
        value = values[number]
        if value != NULL:
            group, weight = groups[number], weights[number]
            state[group, at] += weight
            low = state[group, at + 1] + (value & _WORD) * weight
            state[group, at + 1] = low & _WORD
            state[group, at + 2] += (value >> WORD_BITS) * weight + (low >> WORD_BITS)


@kernel
def add_extremes(
    state: Array, best: Array, at: int, groups: Array, values: Array, weights: Array, is_min: bool, lost: Array
) -> int:
    """Let different values come to groups or leave them, which have a count of them and the best one. Lists groups that
    have lost that and have others left, and answers how many they are. `best` is the state in the type of the values.
    """
    total = 0
    for number in range(len(groups)):
        if weights[number] < 0:
            group = groups[number]
            state[group, at] -= 1
            if values[number] == best[group, at + 1]:
                lost[total] = group
                total += 1
    for number in range(len(groups)):
        if weights[number] > 0:
            group, value = groups[number], values[number]
            known = best[group, at + 1]
            if state[group, at] == 0 or (value < known if is_min else value > known):
                best[group, at + 1] = value
            state[group, at] += 1
    left = 0
    for number in range(total):
        if state[lost[number], at] > 0:
            lost[left] = lost[number]
            left += 1
    return left


@kernel
def totals(kept: Array, at: int, limit: int, found: Array) -> bool:
    """The totals of whole numbers, NULL where nothing was added. Answers whether all of them are below a limit."""
    for number in range(len(kept)):
        low, high = kept[number, at + 1], kept[number, at + 2]
        if high < -_FAR or high >= _FAR:
            return False
        total = (high << WORD_BITS) + low
        if total <= -limit or total >= limit:
            return False
        found[number] = NULL if kept[number, at] == 0 else total
    return True


@kernel
def averages(kept: Array, at: int, factor: int, found: Array) -> None:
    """In place of totals: each times a factor, divided by the count and rounded half away from zero."""
    for number in range(len(kept)):
        count, total = kept[number, at], found[number]
        if total != NULL:
            quotient, rest = divmod(abs(total) * factor, count)
            rounded = quotient + (1 if 2 * rest >= count else 0)
            found[number] = -rounded if total < 0 else rounded


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
def add_doubles(
    state: Array, at: int, sums: Array, exponent: int, groups: Array, weights: Array, values: Array
) -> None:
    """Add DOUBLEs to a count of their groups and to the words of their totals. All of them fit the range."""
    words = sums.shape[1]
    for number in range(len(groups)):
        value = values[number]
        if value != value:
            continue
        group, weight = groups[number], weights[number]
        state[group, at] += weight
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


def words_of(totals: Sequence[int], unit: int, exponent: int, words: int) -> Array | None:
    """The other way: whole numbers of 2**unit as sums of so many words; None if they do not fit."""
    shift = exponent - unit
    shifted = [total >> shift if shift >= 0 else total << -shift for total in totals]
    if shift > 0 and any(total != short << shift for total, short in zip(totals, shifted, strict=True)):
        return None
    room = WORD_BITS * (words - 1)
    if any(total.bit_length() > room for total in shifted):
        return None
    size = WORD_BITS // 8 * words
    packed = b"".join([total.to_bytes(size, "little", signed=True) for total in shifted])
    found = np.frombuffer(packed, np.uint32).reshape(len(totals), words).astype(INTEGER)
    # The last word has the sign.
    found[:, -1] = np.frombuffer(packed, np.int32).reshape(len(totals), words)[:, -1]
    return found
