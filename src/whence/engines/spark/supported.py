"""Rows of a recursive component, each with its support, and the way from a piece of input to the rows resting on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.paging import Base, Paging, Question, Segments, TooLargeError
from whence.engines.spark.state import Known
from whence.model.schema import Relation
from whence.model.types import Row

# Ids of input rows, and of absences, that together suffice for a row; sorted.
Support: TypeAlias = tuple[int, ...]

# Up to so many ids are looked for in supports as they stand; more are joined with.
LISTED = 100


class Supported(Known[Support]):
    """The state of a relation of a recursive component."""

    def __init__(self, relation: Relation, base: Base[Support], paging: Paging) -> None:
        super().__init__(relation, base)
        self._paging = paging
        self._resting: dict[int, dict[Row, None]] = {}
        # The rows of the base that rest on pieces of input, as far as they were asked for in this commit.
        self._answers: dict[frozenset[int], Mapping[Row, Support]] = {}
        self._asked: frozenset[int] | None = None
        self._in_whole: dict[int, list[Row]] | None = None

    def resting_on(self, ids: frozenset[int]) -> dict[Row, Support]:
        """The rows whose support has one of these ids, as far as they are in memory."""
        overlay = self.overlay
        found = {row: support for row, support in self._base_resting_on(ids).items() if row not in overlay}
        for identity in ids:
            for row in self._resting.get(identity, ()):
                support = overlay[row]
                assert support is not None, "what is gone rests on nothing"
                found[row] = support
        return found

    def change(self, rows: Mapping[Row, Support | None]) -> None:
        for row, support in rows.items():
            for identity in self.overlay.get(row) or ():
                self._resting[identity].pop(row)
            for identity in support or ():
                self._resting.setdefault(identity, {})[row] = None
        super().change(rows)

    def replace(self, segments: Segments[Support]) -> None:
        super().replace(segments)
        self._resting = {}
        self._in_whole = None
        self.forget()

    def take_asked(self) -> frozenset[int] | None:
        """What `resting_on` missed since the last time this was asked."""
        ids, self._asked = self._asked, None
        return ids

    def receive_resting(self, ids: frozenset[int], rows: Mapping[Row, Support]) -> None:
        """Here are the rows of the base that rest on these."""
        self._answers[ids] = rows

    def support_question(self, spark: SparkSession) -> Question | None:
        """The query for what `resting_on` missed."""
        ids = self.take_asked()
        segments = self.base.segments
        if ids is None or segments is None:
            return None

        def receive(answer: pa.Table) -> None:
            if len(answer) > self._paging.rows:
                raise TooLargeError
            self.receive_resting(ids, dict(segments.decode(answer)))

        return Question(_resting(spark, segments.frame, ids).limit(self._paging.rows + 1), receive)

    def forget(self) -> None:
        """The commit is over."""
        self._answers = {}
        self._asked = None

    def _base_resting_on(self, ids: frozenset[int]) -> Mapping[Row, Support]:
        whole = self.base.whole()
        if whole is not None:
            if self._in_whole is None:
                self._in_whole = {}
                for row, support in whole.items():
                    for identity in support:
                        self._in_whole.setdefault(identity, []).append(row)
            return {row: whole[row] for identity in ids for row in self._in_whole.get(identity, ())}
        if len(self.base) <= self._paging.whole:
            self.base.matching((), ())
            return {}
        if ids not in self._answers:
            self.base.misses += 1
            self._asked = ids
            return {}
        return self._answers[ids]


def _resting(spark: SparkSession, frame: DataFrame, ids: frozenset[int]) -> DataFrame:
    if len(ids) <= LISTED:
        wanted = F.array(*[F.lit(identity).cast("bigint") for identity in sorted(ids)])
        return frame.where(F.arrays_overlap("support", wanted))
    listed = spark.createDataFrame(pa.table({"id": pa.array(sorted(ids), pa.int64())}))
    # A row comes once for each of the ids it rests on, which does no harm.
    return frame.withColumn("id", F.explode("support")).join(F.broadcast(listed), "id", "left_semi").drop("id")
