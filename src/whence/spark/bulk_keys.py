"""Rows of a table with a key that a DataFrame names: they are replaced or deleted on the cluster."""

from __future__ import annotations

import pyspark.sql.functions as functions
from pyspark.sql import DataFrame

from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import difference, present
from whence.errors import DataError
from whence.model.schema import Relation
from whence.session.lifetimes import Clock
from whence.sources.keys import key_relation, key_values
from whence.sources.rows import listed, row_text
from whence.spark.bulk_load import BulkChecks, BulkDraft, check_rows_tell_all


def upserted(frame: DataFrame, relation: Relation, clock: Clock, engine: SparkEngine, checks: BulkChecks) -> BulkDraft:
    """The rows of a frame come, and those with their keys go. Two rows with one key are refused: none is the last."""
    check_rows_tell_all(relation)
    rows, late = present(checks.taken(frame, relation)), 0
    if relation.ttl is not None:
        rows, late = checks.in_time(rows, relation, clock)
    key = [f"c{relation.column_names.index(name)}" for name in relation.key]
    twice = rows.groupBy(*key).agg(functions.count(functions.lit(1)).alias("n")).where("n > 1").drop("n")
    for row in checks.first(rows.join(twice, key, "left_semi"), relation):
        raise DataError(
            f"several rows of the DataFrame have the same key of {relation.name!r}, {listed(relation.key)}: "
            f"{row_text(key_values(row, relation))}",
            hint="leave one of them: the rows of a DataFrame have no order, so that none is the last",
        )
    going = engine.frame(relation.name).join(rows.select(*key), key, "left_semi")
    return BulkDraft(
        relation, checks.delta(difference(relation, going.select(*rows.columns), rows), relation), clock, late
    )


def deleted_by_key(
    frame: DataFrame, relation: Relation, clock: Clock, engine: SparkEngine, checks: BulkChecks, *, ignore_missing: bool
) -> BulkDraft:
    """The rows go whose keys a frame has. Raises for the first key that has none."""
    check_rows_tell_all(relation)
    alone = key_relation(relation)
    names = {f"c{at}": f"c{relation.column_names.index(name)}" for at, name in enumerate(relation.key)}
    given = checks.taken(frame, alone).withColumnsRenamed({name: f"k_{name}" for name in names})
    keys = given.select([functions.col(f"k_{name}").alias(place) for name, place in names.items()])
    table, places = engine.frame(relation.name), list(names.values())
    if not ignore_missing:
        missing = keys.join(table.select(*places), places, "left_anti")
        in_order = missing.select([functions.col(place).alias(name) for name, place in names.items()])
        for row in checks.first(in_order, alone):
            raise DataError(
                f"a row of the DataFrame is the key of no row of {relation.name!r}, so none can be deleted: "
                f"{row_text(row)}",
                hint='missing="ignore" passes over rows that are not there',
            )
    found = table.join(keys, places, "left_semi").select(*table.columns)
    return BulkDraft(relation, checks.delta(found.withColumn("n", -functions.col("n")), relation), clock)
