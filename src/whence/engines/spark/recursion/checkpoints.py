"""Frames that are computed once and kept on the executors, so that plans do not grow with the rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Observation, SparkSession

from whence.engines.spark.errors import evaluation_errors
from whence.model.span import Span

# Rounds are planned by hand, and replanning each of them would cost more than it could gain. Rows are partitioned by
# their number alone, which is enough for every join on it and more.
_SETTINGS: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}


@dataclass(frozen=True, slots=True)
class CountedFrame:
    """A frame, and how many rows it has."""

    frame: DataFrame
    rows: int


class Checkpoint(CountedFrame):
    """A frame that is there."""

    def release(self) -> None:
        """Free the memory at once. No one may read the frame any more."""
        # A frame of a checkpoint is nothing but an RDD; PySpark has no other way to it.
        self.frame._jdf.queryExecution().logical().rdd().unpersist(False)  # noqa: SLF001


def checkpoint(frame: DataFrame, span: Span | None = None) -> Checkpoint:
    """Compute the frame, in one job that counts it too; what cannot be computed is an error at this place."""
    observed = Observation()
    with evaluation_errors(span):
        kept = frame.observe(observed, F.count(F.lit(1)).alias("rows")).localCheckpoint()
    return Checkpoint(kept, observed.get["rows"])


@contextmanager
def planned_by_hand(spark: SparkSession) -> Iterator[None]:
    """The settings under which rounds are run."""
    before = {key: spark.conf.get(key) for key in _SETTINGS}
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, was in before.items():
            if was is not None:
                spark.conf.set(key, was)


MOST_PIECES = 8


class RowPieces:
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
        """Free the memory. No one may read the rows any more."""
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
