"""Many varints at once: kernels."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from whence.engines.local.forest.kernels import kernel
from whence.network.diagrams.layout import NONE, Long

Bytes: TypeAlias = NDArray[np.uint8]

# Seven bits in each: what fits an integer of 64 bits, the sign aside.
MOST_BYTES = 9


@kernel
def pack(numbers: Long, data: Bytes) -> int:
    """The numbers as bytes, of which there are so many then."""
    end = 0
    for at in range(len(numbers)):
        number = numbers[at]
        while number > 0x7F:
            data[end] = number & 0x7F | 0x80
            end += 1
            number >>= 7
        data[end] = number
        end += 1
    return end


@kernel
def unpack(data: Bytes, numbers: Long) -> int:
    """All numbers of the bytes, and how many they are; NONE if the last one has no end, or one does not fit."""
    end = 0
    number, shift = np.int64(0), 0
    for at in range(len(data)):
        if shift == 7 * MOST_BYTES:
            return NONE
        byte = np.int64(data[at])
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers[end] = number
            end += 1
            number, shift = np.int64(0), 0
    return end if shift == 0 else NONE


def unpacked(data: bytes) -> Long | None:
    """What was packed; None where the bytes are no numbers."""
    numbers = np.empty(len(data), np.int64)
    count = unpack(np.frombuffer(data, np.uint8), numbers)
    return None if count == NONE else numbers[:count]


def packed(numbers: Long) -> bytes:
    data = np.empty(MOST_BYTES * len(numbers), np.uint8)
    return data[: pack(numbers, data)].tobytes()
