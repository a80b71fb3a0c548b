"""Queries as views here and as queries in Spark, over the same rows: the same bag of rows, of the same types."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession, functions

import whence
from tests.lang.sql.shapes import DRAWN, TABLES
from whence.engines.spark.types import spark_type
from whence.model.types import Row

ROWS: Mapping[str, list[Row]] = {
    name: [drawn(random.Random(number), number) for number in range(40 if name == "t" else 12)]
    for name, drawn in DRAWN.items()
}


def in_spark(spark: SparkSession, tables: Mapping[str, str] = TABLES, rows: Mapping[str, list[Row]] = ROWS) -> None:
    for name, columns in tables.items():
        # A dict of Python's would lose the order of a map on its way.
        entries = re.sub(r"MAP<(\w+), (\w+)>", r"ARRAY<STRUCT<key: \1, value: \2>>", columns)
        frame = spark.createDataFrame(rows[name], entries)
        if entries != columns:
            frame = frame.withColumn("m", functions.map_from_entries("m"))
        frame.coalesce(1).cache().createOrReplaceTempView(name)


# To compile a query takes longer than to run it over a few rows.
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@contextmanager
def without_compiler(spark: SparkSession) -> Iterator[None]:
    """The session is that of all tests, and is left as it was."""
    before = {key: spark.conf.get(key) for key in _INTERPRETED}
    for key, value in _INTERPRETED.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.set(key, str(old))


def differences(
    spark: SparkSession,
    queries: Iterable[str],
    tables: Mapping[str, str] = TABLES,
    rows: Mapping[str, list[Row]] = ROWS,
) -> list[str]:
    """What is not the same; the tables are Spark's already."""
    found = []
    with without_compiler(spark), whence.connect() as db:
        for name, columns in tables.items():
            db.execute(f"CREATE TABLE {name}({columns})")
            db.insert(name, rows[name])
        for query in queries:
            db.execute(f"CREATE OR REPLACE VIEW v AS {query}")
            try:
                theirs = spark.sql(query)
            except AnalysisException as error:
                found.append(f"{query}\n  Spark refuses it: {str(error).splitlines()[0]}")
                continue
            types = [spark_type(column.type).simpleString() for column in db.relation("v").columns]
            kinds = [field.dataType.simpleString() for field in theirs.schema.fields]
            if types != kinds:
                found.append(f"{query}\n  types {types}, and Spark's {kinds}")
            has_map = any("map<" in kind for kind in kinds)
            answer = theirs.toArrow().to_pylist() if has_map else [row.asDict() for row in theirs.collect()]
            ours, others = bag(db.table("v").to_pylist()), bag(answer)
            if ours != others:
                found.append(f"{query}\n  only here {ours - others}\n  only Spark {others - ours}")
    return found


def bag(rows: Iterable[Mapping[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(_plain, row.values())) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return tuple(map(_plain, value.values()))
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value
