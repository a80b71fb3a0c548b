"""Checksums, so that bytes that a disk got wrong are never taken for data."""

from __future__ import annotations

import zlib

# Sums of checksums are cut to 62 bits: the sum of two of them fits SQLite's integers.
SUM_MASK = (1 << 62) - 1


def checksum(*parts: object) -> int:
    """Of values as SQLite gives them back: numbers, text, NULL."""
    return zlib.crc32(repr(parts).encode())
