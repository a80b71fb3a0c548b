"""A few rows as a condition of Spark's: a scan then leaves them out by itself, without a join and its jobs."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

from whence.engines.spark.types import columns_from_arrow
from whence.model.schema import Relation
from whence.model.types import DATE, DOUBLE, TIMESTAMP, DecimalType, Type, Value
from whence.model.types.numbers import IntegerType

# More rows are handed to the tasks of a scan by a join.
MOST_ROWS = 2_000
_NULL = "NULL"


def condition(rows: pa.Table, relation: Relation, places: Sequence[int]) -> str | None:
    """SQL that tells, and never with NULL, whether a row has the values of one of these in some columns.

    None if the rows are too many, or have values for which Spark has no text that means them and nothing else.
    """
    if rows.num_rows > MOST_ROWS or not places:
        return None
    if not rows.num_rows:
        return "false"
    columns = columns_from_arrow(rows, relation)
    texts = [_texts(columns[at], relation.columns[at].type) for at in places]
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        return None
    each = [
        _one_of(f"c{at}", values, nullable=relation.columns[at].nullable)
        for at, values in zip(places, known, strict=True)
    ]
    if len(places) > 1:
        # The values of single columns are tested first, since that is quick and most rows have others.
        names = ", ".join(f"'c{at}', c{at}" for at in places)
        typed = [
            [f"CAST(NULL AS {_name(relation.columns[at].type)})" if text == _NULL else text for text in values]
            for at, values in zip(places, known, strict=True)
        ]
        fields = [[f"'c{at}', {text}" for text in values] for at, values in zip(places, typed, strict=True)]
        whole = sorted({f"named_struct({', '.join(row)})" for row in zip(*fields, strict=True)})
        each.append(f"named_struct({names}) IN ({', '.join(whole)})")
    return " AND ".join(each)


def _one_of(column: str, texts: Sequence[str], *, nullable: bool) -> str:
    listed = ", ".join(sorted({text for text in texts if text != _NULL}))
    tests = [f"coalesce({column} IN ({listed}), false)" if nullable else f"{column} IN ({listed})"] if listed else []
    if _NULL in texts:
        tests.append(f"{column} IS NULL")
    return f"({' OR '.join(tests)})"


def _texts(values: Sequence[Value], kind: Type) -> list[str] | None:
    texts = [_NULL if value is None else _text(value, kind) for value in values]
    found = [text for text in texts if text is not None]
    return found if len(found) == len(texts) else None


def _name(kind: Type) -> str:
    return "TIMESTAMP_NTZ" if kind == TIMESTAMP else kind.name


def _text(value: Value, kind: Type) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case int() if isinstance(kind, IntegerType):
            return f"{value}{kind.suffix}"
        case str() if kind.spark_name == "StringType":
            # What a backslash means is a setting of the session.
            return f"CAST(X'{value.encode().hex()}' AS STRING)"
        case bytes():
            return f"X'{value.hex()}'"
        case datetime.datetime():
            return f"TIMESTAMP_NTZ'{value.isoformat(' ')}'"
        case datetime.date() if kind == DATE:
            return f"DATE'{value.isoformat()}'"
        case Decimal() if isinstance(kind, DecimalType):
            return f"CAST('{value}' AS {kind.name})"
        case float() if kind == DOUBLE and value and math.isfinite(value):
            return f"{value!r}D"
    return None
