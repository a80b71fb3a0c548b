"""From a hash to the numbers of the rows that have it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whence.engines.spark.lookup.hashes import Hashes
from whence.engines.spark.lookup.mapping import map_array

Numbers: TypeAlias = npt.NDArray[np.int64]

# Entries that are sorted at a time. More than that are several runs, each of which is searched.
RUN = 1 << 22


@dataclass(frozen=True, slots=True)
class _Run:
    """Hashes in ascending order, and with each the number of its row."""

    hashes: Hashes
    numbers: npt.NDArray[np.uint32] | Numbers

    def find(self, hashes: Hashes) -> Numbers:
        first = np.searchsorted(self.hashes, hashes, "left")
        counts = np.searchsorted(self.hashes, hashes, "right") - first
        # Where each hash's entries begin among all that are found.
        begins = np.cumsum(counts) - counts
        entries = np.repeat(first - begins, counts) + np.arange(int(counts.sum()))
        return self.numbers[entries].astype(np.int64)


class Index:
    def __init__(self, entries: Iterable[tuple[Hashes, Numbers]], directory: Path) -> None:
        """`entries` are hashes and the numbers of their rows, in pieces of any size."""
        self._runs: list[_Run] = []
        pending: list[tuple[Hashes, Numbers]] = []
        for piece in entries:
            pending.append(piece)
            if sum(len(hashes) for hashes, _ in pending) >= RUN:
                self._runs.append(_sorted(pending, directory))
                pending = []
        if pending:
            self._runs.append(_sorted(pending, directory))

    def find(self, hashes: Hashes) -> Numbers:
        """The rows with one of these hashes, in ascending order, each once."""
        # Neighbours in the index are neighbours on disk.
        hashes = np.unique(hashes)
        found = [run.find(hashes) for run in self._runs]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def _sorted(pieces: list[tuple[Hashes, Numbers]], directory: Path) -> _Run:
    hashes = np.concatenate([hashes for hashes, _ in pieces])
    numbers = np.concatenate([numbers for _, numbers in pieces])
    if len(numbers) and numbers[-1] < 1 << 32:
        numbers = numbers.astype(np.uint32)
    order = np.argsort(hashes, kind="stable")
    return _Run(map_array(directory, hashes[order]), map_array(directory, numbers[order]))
