"""Texts by their numbers: the bytes of all of them one after the other, and a hash table that has the number of each.

A text gets a number when it is first met, and keeps it. As an object of Python it would take a hundred bytes more, and
a step of the interpreter each time that it comes; here one call of a kernel looks up a column of Arrow, or makes one.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whence.columns.compiled import inlined, kernel

if TYPE_CHECKING:
    import pyarrow as pa

Array: TypeAlias = np.ndarray[Any, Any]

# What stands for NULL among the numbers.
NULL = -(2**63)
EMPTY = -1
# The first room, in texts; there are twice as many slots as texts at least.
LEAST_TEXTS, LEAST_BYTES = 64, 1_024
# Texts that came as objects of Python are likely to come again: the newest are looked up among objects.
RECENT_TEXTS = 1 << 16
# Of longer lists they are not kept, and so few numbers are read one by one: Arrow would take longer.
SHORT_LIST, FEW_TEXTS = 1_024, 16
# What the offsets of a column of Arrow can say.
MOST_BYTES = 2**31 - 1

_NO_BYTES: Array = np.empty(0, np.uint8)
_NO_NULLS: Array = np.empty(0, np.bool_)


@inlined
def hash_of(data: Array, start: int, end: int, seed: int) -> int:
    """31 bits; the seed is secret, so that nobody can choose texts that collide."""
    hash_ = np.uint64(seed)
    for at in range(start, end):
        hash_ = (hash_ ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
    hash_ = (hash_ ^ (hash_ >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(hash_ >> np.uint64(33))


@inlined
def is_text(data: Array, start: int, end: int, given: Array, first: int, last: int) -> bool:
    if end - start != last - first:
        return False
    for at in range(end - start):  # noqa: SIM110 - numba has no all()
        if data[start + at] != given[first + at]:
            return False
    return True


@kernel
def intern(
    data: Array,
    bounds: Array,
    slots: Array,
    size: Array,
    seed: int,
    given: Array,
    offsets: Array,
    nulls: Array,
    first: int,
    found: Array,
) -> int:
    """Find texts from a first one on, or add them as long as there is room. Answers how far it got.

    The text of a number lies in `data` between two `bounds`. A slot has the hash of a text above its number. `size` has
    how many there are: an interrupt comes before all of this or after it.
    """
    count, mask = size[0], len(slots) - 1
    for at in range(first, len(found)):
        if len(nulls) and nulls[at]:
            found[at] = NULL
            continue
        start, end = np.int64(offsets[at]), np.int64(offsets[at + 1])
        hash_ = hash_of(given, start, end, seed)
        place = hash_ & mask
        while True:
            slot = slots[place]
            if slot == EMPTY:
                free = bounds[count]
                if 2 * count >= len(slots) or count + 1 >= len(bounds) or free + end - start > len(data):
                    size[0] = count
                    return at
                for byte in range(end - start):
                    data[free + byte] = given[start + byte]
                slots[place] = hash_ << 32 | count
                found[at] = count
                count += 1
                bounds[count] = free + end - start
                break
            number = slot & 0xFFFFFFFF
            if slot >> 32 == hash_ and is_text(data, bounds[number], bounds[number + 1], given, start, end):
                found[at] = number
                break
            place = (place + 1) & mask
    size[0] = count
    return len(found)


@kernel
def rehash(slots: Array, wider: Array) -> None:
    """Put everything into a table with more slots."""
    mask = len(wider) - 1
    for slot in slots:
        if slot != EMPTY:
            place = (slot >> 32) & mask
            while wider[place] != EMPTY:
                place = (place + 1) & mask
            wider[place] = slot


@kernel
def lay_out(bounds: Array, numbers: Array, offsets: Array) -> None:
    """Where each text ends when they lie one after the other."""
    total = 0
    for at in range(len(numbers)):
        number = numbers[at]
        if number != NULL:
            total += bounds[number + 1] - bounds[number]
        offsets[at + 1] = total


@kernel
def copy_texts(data: Array, bounds: Array, numbers: Array, offsets: Array, texts: Array) -> None:
    for at in range(len(numbers)):
        if numbers[at] != NULL:
            start = bounds[numbers[at]]
            for byte in range(offsets[at + 1] - offsets[at]):
                texts[offsets[at] + byte] = data[start + byte]


class TextDictionary:
    """Numbers for texts, and texts for numbers."""

    def __init__(self) -> None:
        self._data: Array = np.empty(LEAST_BYTES, np.uint8)
        self._bounds: Array = np.zeros(LEAST_TEXTS + 1, np.int64)
        self._slots: Array = np.full(2 * LEAST_TEXTS, EMPTY, np.int64)
        self._size: Array = np.zeros(1, np.int64)
        self._seed = secrets.randbits(62)
        self._recent: dict[str | None, int] = {None: NULL}

    def __len__(self) -> int:
        return int(self._size[0])

    def saved(self) -> dict[str, Any]:
        """All of it, for `restore`."""
        bounds = self._bounds[: len(self) + 1]
        return {"data": self._data[: bounds[-1]], "bounds": bounds, "slots": self._slots, "seed": self._seed}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Have the texts that were saved, with the same numbers. There were none before."""
        count = len(saved["bounds"]) - 1
        if count:
            self._data, self._bounds, self._slots = saved["data"], saved["bounds"], saved["slots"]
            self._size[0], self._seed = count, saved["seed"]

    def number(self, text: str | None) -> int:
        known = self._recent.get(text)
        return self.numbers([text])[0] if known is None else known

    def numbers(self, texts: Sequence[str | None]) -> list[int]:
        try:
            return [*map(self._recent.__getitem__, texts)]
        except KeyError:
            pass
        import pyarrow as pa

        found: list[int] = self.from_arrow(pa.array(texts, pa.string())).tolist()
        if len(texts) <= SHORT_LIST:
            if len(self._recent) > RECENT_TEXTS:
                self._recent = {None: NULL}
            self._recent.update(zip(texts, found, strict=True))
        return found

    def from_arrow(self, column: pa.Array) -> Array:
        """The numbers of texts, with that of NULL where there is none."""
        found = np.empty(len(column), np.int64)
        if not len(column):
            return found
        _, places, texts = column.buffers()
        offsets = _steady(np.frombuffer(places, np.int32)[column.offset : column.offset + len(column) + 1])
        given = _steady(np.frombuffer(texts, np.uint8) if texts is not None and texts.size else _NO_BYTES)
        nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else _NO_NULLS
        done = 0
        while True:
            done = intern(
                self._data,
                self._bounds,
                self._slots,
                self._size,
                self._seed,
                given,
                offsets,
                nulls,
                done,
                found,
            )
            if done == len(found):
                return found
            self._make_room(int(offsets[done + 1] - offsets[done]))

    def to_arrow(self, numbers: Array) -> pa.Array:
        """A column of texts, in chunks where it is too long for one."""
        import pyarrow as pa

        numbers = np.ascontiguousarray(numbers)
        offsets = np.zeros(len(numbers) + 1, np.int64)
        lay_out(self._bounds, numbers, offsets)
        total = int(offsets[-1])
        if total > MOST_BYTES and len(numbers) > 1:
            half = len(numbers) // 2
            parts = [self.to_arrow(part) for part in (numbers[:half], numbers[half:])]
            return pa.chunked_array([chunk for part in parts for chunk in getattr(part, "chunks", [part])])
        texts = np.empty(total, np.uint8)
        copy_texts(self._data, self._bounds, numbers, offsets, texts)
        nulls = numbers == NULL
        valid = pa.array(~nulls).buffers()[1] if nulls.any() else None
        buffers = [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(texts)]
        return pa.Array.from_buffers(pa.string(), len(numbers), buffers)

    def texts(self, numbers: Array) -> list[Any]:
        """As Python has them."""
        if len(numbers) > FEW_TEXTS:
            found: list[Any] = self.to_arrow(numbers).to_pylist()
            return found
        data, bounds = self._data, self._bounds
        return [
            None if number == NULL else data[bounds[number] : bounds[number + 1]].tobytes().decode()
            for number in numbers.tolist()
        ]

    def _make_room(self, more: int) -> None:
        """For one more text of so many bytes, and for as many again as there are."""
        count = len(self)
        used = int(self._bounds[count])
        if used + more > len(self._data):
            self._data = _longer(self._data, used + max(used, more))
        if count + 1 >= len(self._bounds):
            self._bounds = _longer(self._bounds, 2 * count + 1)
        if 2 * count >= len(self._slots):
            slots = np.full(2 * len(self._slots), EMPTY, np.int64)
            rehash(self._slots, slots)
            self._slots = slots


def _steady(array: Array) -> Array:
    """One that kernels take without being compiled again: aligned, and not to be written to."""
    if not array.flags.aligned:
        array = array.copy()
    array.flags.writeable = False
    return array


def _longer(array: Array, room: int) -> Array:
    longer = np.empty(room, array.dtype)
    longer[: len(array)] = array
    return longer
