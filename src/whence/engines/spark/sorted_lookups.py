"""Rows of a segment that the driver does not decode, found in sorted copies of it.

A copy is made for a column when lookups that would have begun with it have read twice what the segment has. The first
column of the best copy is the one of which the keys have the fewest values: these lie closest together there.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from py4j.protocol import Py4JJavaError

from whence.engines.spark.decoded_segment import SCANNED_FIRST, hash_rows
from whence.engines.spark.sorted_copy import RowGroup, SortedCopy
from whence.errors import StateError

logger = logging.getLogger("whence")

# The column of a copy by the elements of a list, which has a row for each of them.
ELEMENT = "element"
# To read more than this here takes longer than a scan.
MOST_BYTES = 1 << 24


class CopyHome(Protocol):
    """The sorted copies of one segment."""

    @property
    def bytes(self) -> int:
        """Those of the segment."""

    def stored(self) -> list[SortedCopy]:
        """The copies that there are."""

    def write(self, order: Sequence[str]) -> SortedCopy:
        """Make another, in this order. That of elements has no lists."""

    def remove(self, copy: SortedCopy) -> None:
        """It is of no use."""


class SortedLookups:
    def __init__(self, home: CopyHome, schema: pa.Schema, rows: Sequence[str]) -> None:
        """`rows` are the columns that hold the row itself, with nothing that is known of it."""
        self._home = home
        self._schema = schema
        self._rows = rows
        self._sortable = [name for name in rows if is_sortable(schema.field(name).type)]
        self._copies: list[SortedCopy] | None = None
        # What lookups have read for want of a copy that begins with a column.
        self._spent: defaultdict[str, int] = defaultdict(int)
        self._may_write = True

    def with_keys(self, columns: Sequence[str], keys: Sequence[pa.Array]) -> pa.Table | None:
        """The rows that hold one of the keys, and perhaps a few others with the same hash; None if they are to be
        scanned for.
        """
        choices = [(len(array.unique()), name) for name, array in zip(columns, keys, strict=True)]
        sortable = [(values, name) for values, name in choices if name in self._sortable]
        if not sortable:
            return None
        found = self._find(min(sortable)[1], columns, keys)
        if found is None:
            return None
        found = pa.table({field.name: found.column(field.name).cast(field.type) for field in self._schema})
        hashes = hash_rows([found.column(name).combine_chunks() for name in columns])
        return found.filter(pa.array(np.isin(hashes, hash_rows(keys))))

    def with_elements(self, elements: pa.Array) -> pa.Table | None:
        """The rows, and nothing beside them, whose list has one of these elements; a row can come once for each."""
        found = self._find(ELEMENT, [ELEMENT], [elements]) if self._rows else None
        if found is None:
            return None
        found = found.filter(compute.is_in(found.column(ELEMENT), elements))
        return pa.table({name: found.column(name).cast(self._schema.field(name).type) for name in self._rows})

    def take_read_bytes(self) -> int:
        """What was read since this was last asked."""
        taken = 0
        for copy in self._copies or ():
            taken, copy.read_bytes = taken + copy.read_bytes, 0
        return taken

    def _find(self, first: str, columns: Sequence[str], keys: Sequence[pa.Array]) -> pa.Table | None:
        """What is in the row groups that may have the keys, by the copy in which they are smallest."""
        copies = self._known()
        choices = [(copy, copy.groups_with(columns, keys)) for copy in copies if copy.first in columns]
        if all(copy.first != first for copy in copies):
            least = min((_bytes(groups) for _, groups in choices), default=self._home.bytes)
            self._spent[first] += min(least, self._home.bytes)
            if self._spent[first] > SCANNED_FIRST * self._home.bytes:
                copy = self._write(first)
                choices += [] if copy is None else [(copy, copy.groups_with(columns, keys))]
        if not choices:
            return None
        copy, groups = min(choices, key=lambda choice: _bytes(choice[1]))
        if _bytes(groups) > MOST_BYTES:
            return None
        try:
            return copy.read(groups)
        except (OSError, pa.ArrowException) as error:
            # The segment has all rows.
            logger.warning("a sorted copy is damaged, and is made again when it is needed: %s", error)
            self._copies = [each for each in copies if each is not copy]
            self._home.remove(copy)
            return None

    def _known(self) -> list[SortedCopy]:
        if self._copies is None:
            try:
                self._copies = self._home.stored()
            except (OSError, pa.ArrowException) as error:
                logger.warning("sorted copies cannot be read, and are made again when they are needed: %s", error)
                self._copies = []
        return self._copies

    def _write(self, first: str) -> SortedCopy | None:
        if not self._may_write:
            return None
        names = self._sortable if first != ELEMENT else [ELEMENT, *self._sortable]
        try:
            copy = self._home.write([first, *(name for name in names if name != first)])
        except (OSError, StateError, Py4JJavaError, pa.ArrowException) as error:
            logger.warning("no sorted copy could be written, and rows are scanned for: %s", error)
            self._may_write = False
            return None
        self._copies = [*self._known(), copy]
        return copy


def is_sortable(kind: pa.DataType) -> bool:
    """Whether Spark, Parquet and Python agree on the order of such values: on that of floating-point numbers nobody
    does.
    """
    return not (pa.types.is_nested(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _bytes(groups: Sequence[RowGroup]) -> int:
    return sum(group.length for group in groups)
