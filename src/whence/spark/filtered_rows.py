"""The rows of a state as one scan of its base, which leaves out by itself the few rows that have changed since.

Nothing is joined and nothing added up, so that a query of such rows has the jobs that it would have over a table of
Parquet, and a condition on them goes down to both parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as compute
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.row_conditions import condition
from whence.engines.spark.types import arrow_frame, column_names
from whence.model.schema import Relation
from whence.storage.files.segments import COUNT

# Rows that went so many different numbers of times are told apart.
MOST_COUNTS = 8


def replaced(
    spark: SparkSession, relation: Relation, base: DataFrame, changed: pa.Table, added: pa.Table
) -> DataFrame | None:
    """Rows and counts, of which those that have changed are as `added` says. None if these are too many."""
    held = condition(changed, relation, range(relation.arity))
    return None if held is None else _beside(spark, _unless(base, held), added)


def set_after(spark: SparkSession, relation: Relation, base: DataFrame, changes: pa.Table) -> DataFrame | None:
    """A set after changes of which each adds a row that was not there or takes one away."""
    held = condition(_gone(changes), relation, _identity(relation))
    return None if held is None else _beside(spark, _unless(base, held), _added(changes))


def derived_set_after(spark: SparkSession, relation: Relation, base: DataFrame, changes: pa.Table) -> DataFrame | None:
    """A set that counts derivations, each row once, after changes of these; what comes of it counts them no more."""
    added = _added(changes)
    held = condition(added, relation, range(relation.arity))
    lower = _lower(_gone(changes), relation)
    if held is None or lower is None:
        return None
    kept = _unless(base, held)
    if lower:
        kept = kept.where(f"{COUNT} > {lower}")
    return _beside(spark, kept, added)


def bag_after(
    spark: SparkSession, relation: Relation, base: DataFrame, changes: pa.Table, *, single: bool
) -> DataFrame | None:
    """A bag, each row once and with `single` one copy of it, after changes of its counts. A row that came may be
    there beside the one of the base.
    """
    gone, added = _gone(changes), _added(changes)
    if single:
        held = condition(gone, relation, range(relation.arity))
        return None if held is None else _beside(spark, _unless(base, held), added)
    lower = _lower(gone, relation)
    if lower is None:
        return None
    if lower:
        names = column_names(relation.arity)
        base = base.selectExpr(*names, f"{COUNT} - {lower} AS {COUNT}").where(f"{COUNT} > 0")
    return _beside(spark, base, added)


def _lower(gone: pa.Table, relation: Relation) -> str | None:
    """By how much a row's count went down, as SQL; nothing if no row's did."""
    counts = compute.unique(gone.column(COUNT)).to_pylist()
    if len(counts) > MOST_COUNTS:
        return None
    cases = []
    for count in counts:
        some = gone.filter(compute.equal(gone.column(COUNT), count))
        held = condition(some, relation, range(relation.arity))
        if held is None:
            return None
        cases.append(f"WHEN {held} THEN {-count}L")
    return f"CASE {' '.join(cases)} ELSE 0L END" if cases else ""


def _identity(relation: Relation) -> Sequence[int]:
    """The places of the columns that tell which row of a set it is."""
    return [relation.column_names.index(name) for name in relation.key] or range(relation.arity)


def _unless(frame: DataFrame, held: str) -> DataFrame:
    return frame if held == "false" else frame.where(f"NOT ({held})")


def _beside(spark: SparkSession, frame: DataFrame, added: pa.Table) -> DataFrame:
    if not added.num_rows:
        return frame
    more = arrow_frame(spark, added.select([field for field in frame.columns if field in added.column_names]))
    return frame.select(more.columns).union(more)


def _gone(changes: pa.Table) -> pa.Table:
    return changes.filter(compute.less(changes.column(COUNT), 0))


def _added(changes: pa.Table) -> pa.Table:
    return changes.filter(compute.greater(changes.column(COUNT), 0))
