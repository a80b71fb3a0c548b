"""Rows of a recursive component, each with its support, found by the input that they rest on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial, reduce
from itertools import chain
from operator import or_
from typing import TypeAlias

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.pages import Base, KnownPage, PageQuery, Paging, Segments, TooLargeError
from whence.engines.spark.state import AnnotatedRows
from whence.engines.spark.tuple_ids import TupleId
from whence.engines.spark.types import rows_from_arrow
from whence.incremental.store import Key
from whence.model.schema import Relation
from whence.model.types import Row

# Ids of input rows, and of absences, that together suffice for a row; sorted.
Support: TypeAlias = tuple[TupleId, ...]

# Up to so many ids are looked for in every support one by one, and up to so many in a loop; for more of them, supports
# are taken apart.
FEW = 4
LISTED = 50

# Up to so many rows that have lost their proof are followed in the driver. More are fewer jobs away on the cluster.
DEAD_HERE = 25_000


class Supported(AnnotatedRows[Support]):
    """The state of a relation of a recursive component."""

    def __init__(self, relation: Relation, base: Base[Support], paging: Paging) -> None:
        super().__init__(relation, base)
        self._paging = paging
        self._resting: dict[int, dict[Row, None]] = {}
        # The rows of the base that rest on pieces of input, as far as they were asked for in this commit.
        self._answers: dict[frozenset[int], Collection[Row]] = {}
        self._asked: dict[frozenset[int], None] = {}
        self._in_whole: dict[int, list[Row]] | None = None
        # Whether rows of the base are marked by certain ids, as far as that is known.
        self._marked: dict[frozenset[int], bool] = {}

    def is_marked(self, ids: frozenset[int]) -> bool:
        """Whether rows rest on one of these ids, which only whole bases do; False as long as it is not known."""
        if ids not in self._marked:
            misses = self.base.misses
            found = bool(self.resting_on(ids))
            if self.base.misses != misses:
                return False
            self._marked[ids] = found
        return self._marked[ids]

    def resting_on(self, ids: frozenset[int]) -> Collection[Row]:
        """The rows whose support has one of these ids, as far as they are in memory; raises if they are too many."""
        found = {row: None for row in self._base_resting_on(ids) if row not in self.overlay}
        for identity in ids:
            found.update(self._resting.get(identity, {}))
        if len(found) > DEAD_HERE:
            raise TooLargeError
        return found

    def row_of(self, positions: tuple[int, ...], group: Row) -> tuple[Row | None, Support]:
        """The row of a group and its support, as far as it is in memory; `positions` are those of the group terms."""
        key: Key = group[0] if len(group) == 1 else group
        return next(iter(self.find(positions, (key,))[0].items()), (None, ()))

    def change(self, rows: Mapping[Row, Support | None]) -> None:
        for row, support in rows.items():
            for identity in self.overlay.get(row) or ():
                self._resting[identity].pop(row)
            for identity in support or ():
                self._resting.setdefault(identity, {})[row] = None
        super().change(rows)

    def replace(self, segments: Segments[Support] | None) -> None:
        super().replace(segments)
        self._resting = {}
        self._in_whole = None
        self._marked = {}
        self.forget()

    def take_asked(self) -> list[frozenset[int]]:
        """What `resting_on` missed since the last time this was asked."""
        asked, self._asked = list(self._asked), {}
        return asked

    def receive_resting(self, ids: frozenset[int], rows: Collection[Row]) -> None:
        """Here are the rows of the base that rest on these."""
        self._answers[ids] = rows

    def support_questions(self, spark: SparkSession) -> Iterator[PageQuery | KnownPage]:
        """What asks for that which `resting_on` missed."""
        segments = self.base.segments
        if segments is None:
            return
        most = min(self._paging.rows, DEAD_HERE)

        def receive(ids: frozenset[int], answer: pa.Table) -> None:
            if len(answer) > most:
                raise TooLargeError
            self.receive_resting(ids, rows_from_arrow(answer, self.relation))

        for ids in self.take_asked():
            known = segments.read_resting(sorted(ids))
            if known is not None:
                yield KnownPage(known, partial(receive, ids))
            else:
                found = resting(spark, segments.frame, ids)
                yield PageQuery(_first_of_each_part(found, most + 1), partial(receive, ids))

    def forget(self) -> None:
        """The commit is over."""
        self._answers = {}
        self._asked = {}

    def _base_resting_on(self, ids: frozenset[int]) -> Iterable[Row]:
        whole = self.base.whole()
        if whole is not None:
            if self._in_whole is None:
                self._in_whole = {}
                for row, support in whole.items():
                    for identity in support:
                        self._in_whole.setdefault(identity, []).append(row)
            return chain.from_iterable(self._in_whole.get(identity, ()) for identity in ids)
        if len(self.base) <= self._paging.whole:
            self.base.matching((), ())
            return ()
        if ids not in self._answers:
            self.base.misses += 1
            self._asked[ids] = None
            return ()
        return self._answers[ids]


def resting(spark: SparkSession, frame: DataFrame, ids: Collection[int]) -> DataFrame:
    """The rows of a frame whose support has one of these ids. Of many ids, a row can come once for each."""
    listed = sorted(ids)
    if len(listed) <= FEW:
        numbers = F.array(*(F.lit(number).cast("bigint") for number in listed))
        # Which is always 1. A constant number would become part of the code that Spark compiles, again for each number.
        first = F.size("support") * 0 + 1
        return frame.where(
            reduce(
                or_,
                [F.array_contains("support", F.element_at(numbers, first + at)) for at in range(len(listed))],
                F.lit(False),
            )
        )
    lost = F.broadcast(spark.createDataFrame(pa.table({"lost": pa.array(listed, pa.int64())})))
    if len(listed) <= LISTED:
        return frame.join(lost, F.array_contains("support", F.col("lost")), "left_semi")
    return frame.withColumn("lost", F.explode("support")).join(lost, "lost", "left_semi").drop("lost")


def _first_of_each_part(frame: DataFrame, most: int) -> DataFrame:
    """At most so many rows of every partition, which takes no second stage as a limit would."""
    place = F.monotonically_increasing_id().bitwiseAND((1 << 33) - 1)
    return frame.withColumn("place", place).where(F.col("place") < most).drop("place")
