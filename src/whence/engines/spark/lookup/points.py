"""Looking into a kept frame: by a scan at first, without one as soon as that pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from whence.engines.spark.lookup.heap import Heap

# After so many scans of a frame, another few cost as much as what makes all that follow unnecessary.
SCANNED_FIRST = 2


@dataclass(frozen=True, slots=True)
class Reachable:
    """A frame on a disk of this machine: its files of Parquet, and a directory for what is made of them."""

    files: Sequence[Path]
    directory: Path


class Points:
    """What finds single rows of a frame with these columns. A frame that is not `reachable` is always scanned."""

    def __init__(self, reachable: Reachable | None, schema: pa.Schema) -> None:
        self._reachable = reachable
        self._schema = schema
        self._scans = 0
        self._heap: Heap | None = None

    def heap(self) -> Heap | None:
        """Where to look; None if the frame is to be scanned this time."""
        if self._heap is None and self._reachable is not None:
            if self._scans < SCANNED_FIRST:
                self._scans += 1
                return None
            try:
                self._heap = Heap(self._reachable.files, self._schema, self._reachable.directory)
            except (OSError, pa.ArrowException):
                # A disk without room, or a damaged file: a scan needs no room, and knows how to tell of damage.
                self._reachable = None
        return self._heap


def heaps_of(parts: Sequence[Points]) -> list[Heap] | None:
    """Where to look for rows that are in any of several frames."""
    heaps = [part.heap() for part in parts]
    found = [heap for heap in heaps if heap is not None]
    return found if parts and len(found) == len(heaps) else None
