"""Bringing wanted rows from the cluster to the driver: small queries, those of one try all at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark import inheritable_thread_target
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.decoded_segment import Points, heaps_of
from whence.engines.spark.native.columns import literal
from whence.engines.spark.pages import Base, KnownPage, PageQuery, Segments, Wanted
from whence.engines.spark.types import arrow_frame, column_names, rows_to_arrow
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Row

# Up to so many keys are written into a query; more are joined with.
LISTED = 200
# PySpark takes other values by its own calendar, and by the clock of this machine.
_LISTABLE = (STRING, INT, BIGINT, DOUBLE, BOOLEAN)


class Fetcher:
    """Asks questions."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def ask(self, asked: Sequence[PageQuery | KnownPage]) -> None:
        """Run the queries together: each of them alone leaves most of the cluster idle."""
        questions = [each for each in asked if isinstance(each, PageQuery)]
        for each in asked:
            if isinstance(each, KnownPage):
                each.receive(each.table)
        if not questions:
            return
        if len(questions) == 1:
            answers = [questions[0].frame.toArrow()]
        else:
            named = inheritable_thread_target(self._spark)
            with ThreadPoolExecutor(max_workers=8) as threads:
                running = [threads.submit(named(q.frame.toArrow)) for q in questions]
                answers = [each.result() for each in running]
        for question, answer in zip(questions, answers, strict=True):
            question.receive(answer)


def page_question(
    spark: SparkSession, base: Base[Any], wanted: Wanted, relation: Relation, most: int
) -> PageQuery | KnownPage:
    """Asks for what a base wants. `relation` has the columns of its rows; more than `most` are too many to answer."""
    segments = base.segments
    assert segments is not None, "nothing is wanted where nothing is"
    receive = partial(_receive, base, segments, wanted)
    known = segments.read(wanted)
    if known is not None:
        return KnownPage(known, receive)
    if not wanted.positions:
        return PageQuery(segments.frame, receive)
    columns = [relation.columns[position] for position in wanted.positions]
    return PageQuery(_with_keys(spark, segments.frame, wanted, columns).limit(most + 1), receive)


def read_rows(points: Sequence[Points], relation: Relation, wanted: Wanted) -> pa.Table | None:
    """The rows that are wanted, and perhaps a few others; None if they have to be asked for."""
    if not wanted.positions:
        heaps = heaps_of(points)
        return None if heaps is None else pa.concat_tables([heap.table() for heap in heaps])
    columns = tuple(relation.columns[position] for position in wanted.positions)
    keys = [column.combine_chunks() for column in rows_to_arrow(_as_rows(wanted), Relation("keys", columns)).columns]
    names = [f"c{position}" for position in wanted.positions]
    return _together([part.with_keys(names, keys) for part in points])


def read_resting(points: Sequence[Points], relation: Relation, ids: Sequence[int]) -> pa.Table | None:
    """The rows whose support has one of the ids; None if they have to be asked for."""
    found = [part.with_elements("support", pa.array(ids, pa.int64())) for part in points]
    names = column_names(relation.arity)
    # Without any columns, several tables together would have no rows.
    return _together([table if table is None or not names else table.select(names) for table in found])


def _together(found: Sequence[pa.Table | None]) -> pa.Table | None:
    """What is in any of several frames, if none of them is to be scanned."""
    tables = [table for table in found if table is not None]
    return pa.concat_tables(tables) if tables and len(tables) == len(found) else None


def _receive(base: Base[Any], segments: Segments[Any], wanted: Wanted, answer: pa.Table) -> None:
    base.receive(wanted, segments.decode(answer))


def _with_keys(spark: SparkSession, frame: DataFrame, wanted: Wanted, columns: Sequence[Column]) -> DataFrame:
    """The rows of a frame that hold one of the keys."""
    if len(wanted.keys) == 1:
        return frame.where(_is_row(_as_rows(wanted)[0], wanted.positions, columns))
    if len(columns) == 1 and columns[0].type in _LISTABLE and len(wanted.keys) <= LISTED and None not in wanted.keys:
        return frame.where(F.col(f"c{wanted.positions[0]}").isin(list(wanted.keys)))
    keys = key_frame(spark, _as_rows(wanted), columns)
    matches = [
        _equal(frame[f"c{position}"], keys[f"k{number}"], nullable=column.nullable)
        for number, (position, column) in enumerate(zip(wanted.positions, columns, strict=True))
    ]
    return frame.join(F.broadcast(keys), matches, "left_semi")


def _is_row(row: Row, positions: Sequence[int], columns: Sequence[Column]) -> SparkColumn:
    """Whether these values are at these positions. Joining with one key would be a job more."""
    parts = zip(row, positions, columns, strict=True)
    return reduce(and_, [F.col(f"c{at}").eqNullSafe(literal(value, column.type)) for value, at, column in parts])


def key_frame(spark: SparkSession, keys: Sequence[Row], columns: Sequence[Column]) -> DataFrame:
    """Keys as a frame with columns `k0`, `k1`, ..."""
    table = rows_to_arrow(keys, Relation("keys", tuple(columns)))
    return arrow_frame(spark, table.rename_columns([f"k{number}" for number in range(len(columns))]))


def _as_rows(wanted: Wanted) -> list[Row]:
    if len(wanted.positions) == 1:
        return [(key,) for key in wanted.keys]
    return list(wanted.keys)  # type: ignore[arg-type] # several positions, so tuples


def _equal(left: SparkColumn, right: SparkColumn, *, nullable: bool) -> SparkColumn:
    return left.eqNullSafe(right) if nullable else left == right
