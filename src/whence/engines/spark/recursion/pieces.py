"""A relation that grows round by round: every round brings a piece, and small pieces are put together to larger ones.

Rows have a number, `id`, by which all pieces are partitioned in the same way. So what is new is compared with what is
there without moving it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import DataFrame

from whence.engines.spark.recursion.checkpoints import Checkpoint, checkpoint

MOST_PIECES = 8


class Pieces:
    """All rows so far, the oldest piece first. `reduced` makes of several pieces what is worth keeping of them."""

    def __init__(self, reduced: Callable[[DataFrame], DataFrame] | None = None) -> None:
        self._pieces: list[Checkpoint] = []
        self._reduced = reduced

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self._pieces)

    @property
    def frame(self) -> DataFrame | None:
        """All rows; None before there is a piece."""
        return union([piece.frame for piece in self._pieces]) if self._pieces else None

    def add(self, piece: Checkpoint) -> None:
        """A piece is put together with others only when the next one comes, since until then it is read by itself."""
        if len(self._pieces) >= MOST_PIECES:
            self._merge()
        self._pieces.append(piece)

    def release(self) -> None:
        """Free the memory. Nobody may read the rows any more."""
        for piece in self._pieces:
            piece.release()
        self._pieces = []

    def _merge(self) -> None:
        """Put the newest pieces together, as far back as they are not dwarfed by an older one.

        So a row is copied only as often as its piece has grown by half, and few pieces are left.
        """
        start, newer = len(self._pieces) - 1, self._pieces[-1].rows
        while start and self._pieces[start - 1].rows <= 2 * newer:
            start -= 1
            newer += self._pieces[start].rows
        merged = self._pieces[start:]
        if len(merged) > 1:
            whole = union([piece.frame for piece in merged])
            self._pieces[start:] = [checkpoint(whole if self._reduced is None else self._reduced(whole))]
            for piece in merged:
                piece.release()


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of frames with the same columns."""
    return reduce(DataFrame.unionAll, frames)
