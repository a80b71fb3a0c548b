"""A copy of a segment in the order of some columns, of which only that is read which may hold what is looked for.

It is Parquet in small row groups. The footers, which are read once, tell the least and the greatest values of each, so
that keys which are neighbours in the order are one range of bytes, wherever the files are.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain, groupby, takewhile
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as parquet

# Rows of a row group, and bytes of one, about: whichever comes first.
GROUP_ROWS = 2_000
GROUP_BYTES = 1 << 18
# Ranges with no more bytes than this between them are read as one, which takes less time than to ask again.
GAP = 1 << 15
# The footer of most files is in so many of their last bytes.
_TAIL = 1 << 16

# The first of some bytes of a file, and how many they are.
ByteRange: TypeAlias = tuple[int, int]
# A value as it is ordered: NULL is less than all others.
_Ordered: TypeAlias = tuple[bool] | tuple[bool, Any]


class CopyFile(NamedTuple):
    path: str
    size: int


class ByteSource(Protocol):
    """Where files are."""

    def read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[bytes]:
        """These bytes of a file, all of them. What goes wrong is an OSError."""


class RowGroup(NamedTuple):
    """The place of a row group: the number of its file, its own there, and its bytes."""

    file: int
    number: int
    start: int
    length: int


class SortedCopy:
    def __init__(self, order: Sequence[str], files: Sequence[CopyFile], source: ByteSource) -> None:
        """The files have their rows by the columns of the order, one file after the other."""
        self.order = order
        self.first = order[0]
        self.read_bytes = 0
        self._files = files
        self._source = source
        self._footers = [self._footer(file) for file in files]
        self._groups = [
            RowGroup(at, number, *_byte_range(footer.row_group(number)))
            for at, footer in enumerate(self._footers)
            for number in range(footer.num_row_groups)
        ]
        # The least and the greatest values of row groups, for columns of the order as far as they are known.
        found = ((name, self._bounds(name)) for name in order)
        self._ordered = {name: bounds for name, bounds in takewhile(lambda each: each[1] is not None, found) if bounds}

    def groups_with(self, columns: Sequence[str], keys: Sequence[pa.Array]) -> list[RowGroup]:
        """All row groups that may have rows with one of the keys in these columns, in their order."""
        leading = list(takewhile(columns.__contains__, self._ordered))
        if not leading:
            return self._groups
        values = [map(_ordered, keys[columns.index(name)].to_pylist()) for name in leading]
        bounds = [self._ordered[name] for name in leading]
        numbers = {number for key in set(zip(*values, strict=True)) for number in self._numbers(bounds, key)}
        return [self._groups[number] for number in sorted(numbers)]

    def read(self, groups: Sequence[RowGroup]) -> pa.Table:
        """The rows of these, which are in their order. A damaged file is an OSError or an ArrowException."""
        tables = [self._read(file, list(of_file)) for file, of_file in groupby(groups, attrgetter("file"))]
        return pa.concat_tables(tables) if tables else self._footers[0].schema.to_arrow_schema().empty_table()

    def _read(self, at: int, groups: Sequence[RowGroup]) -> pa.Table:
        file = self._files[at]
        ranges = coalesced((group.start, group.length) for group in groups)
        # Of the rest of the file nothing is ever touched, so that it takes up no memory.
        memory = mmap.mmap(-1, file.size)
        for (start, length), data in zip(ranges, self._fetch(file, ranges), strict=True):
            memory[start : start + length] = data
        source = pa.BufferReader(pa.py_buffer(memory))
        with parquet.ParquetFile(source, metadata=self._footers[at], page_checksum_verification=True) as opened:
            return opened.read_row_groups([group.number for group in groups], use_threads=False)

    def _footer(self, file: CopyFile) -> parquet.FileMetaData:
        length = min(file.size, _TAIL)
        (tail,) = self._fetch(file, [(file.size - length, length)])
        needed = int.from_bytes(tail[-8:-4], "little") + 8
        if length < needed <= file.size:
            (tail,) = self._fetch(file, [(file.size - needed, needed)])
        memory = mmap.mmap(-1, file.size)
        memory[file.size - len(tail) :] = tail
        return parquet.read_metadata(pa.BufferReader(pa.py_buffer(memory)))

    def _fetch(self, file: CopyFile, ranges: Sequence[ByteRange]) -> list[bytes]:
        self.read_bytes += sum(length for _, length in ranges)
        return self._source.read_ranges(file.path, ranges)

    def _bounds(self, name: str) -> tuple[list[_Ordered], list[_Ordered]] | None:
        least: list[_Ordered] = []
        most: list[_Ordered] = []
        for footer in self._footers:
            column = footer.schema.names.index(name)
            for number in range(footer.num_row_groups):
                group = footer.row_group(number)
                known = group.column(column).statistics
                if known is None or not known.has_null_count:
                    return None
                is_null = known.null_count == group.num_rows
                if not is_null and not known.has_min_max:
                    return None
                least.append(_ordered(None if known.null_count else known.min))
                most.append(_ordered(None if is_null else known.max))
        return least, most

    def _numbers(
        self, bounds: Sequence[tuple[list[_Ordered], list[_Ordered]]], key: Sequence[_Ordered]
    ) -> Iterable[int]:
        """Where a key may be. All row groups between the first and the last one that hold a value hold no other, and so
        are in the order of the next column.
        """
        first, end = 0, len(self._groups)
        edges: list[int] = []
        for (least, most), value in zip(bounds, key, strict=True):
            begin, end = bisect_left(most, value, first, end), bisect_right(least, value, first, end)
            if end - begin <= 2:
                return chain(edges, range(begin, end))
            edges += (begin, end - 1)
            first, end = begin + 1, end - 1
        return chain(edges, range(first, end))


def coalesced(ranges: Iterable[ByteRange]) -> list[ByteRange]:
    """Ascending ranges, those that are close to each other as one."""
    found: list[ByteRange] = []
    for start, length in ranges:
        if found and start - sum(found[-1]) <= GAP:
            found[-1] = found[-1][0], start + length - found[-1][0]
        else:
            found.append((start, length))
    return found


def _ordered(value: Any) -> _Ordered:
    return (False,) if value is None else (True, value)


def _byte_range(group: parquet.RowGroupMetaData) -> ByteRange:
    """The columns of a row group lie one after the other."""
    starts, ends = [], []
    for number in range(group.num_columns):
        column = group.column(number)
        start = column.data_page_offset
        if column.dictionary_page_offset is not None:
            start = min(start, column.dictionary_page_offset)
        starts.append(start)
        ends.append(start + column.total_compressed_size)
    return min(starts), max(ends) - min(starts)
