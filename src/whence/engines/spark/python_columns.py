"""Columns that Python computes, in batches that come and go as Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import Column
from pyspark.sql.types import StringType, StructField, StructType

from whence.engines.spark.errors import failure
from whence.engines.spark.types import spark_type, values_from_arrow, values_to_arrow
from whence.errors import EvaluationError
from whence.model.types import Type, Value


def python_column(
    make: Callable[[], Callable[..., Value]], arguments: Sequence[tuple[Column, Type]], result: Type
) -> Column:
    """The values that the function made by `make` has for the arguments' values. It is made where it is used.

    Spark lets Python compute what a condition may yet rule out. So a value that cannot be computed comes back with its
    error, which is raised where the value is asked for.
    """
    answer = StructType([StructField("value", spark_type(result)), StructField("error", StringType())])
    compute = F.arrow_udf(_batches(make, [kind for _, kind in arguments], result), answer)  # type: ignore[attr-defined]
    # Without any column there would be no telling how many values are wanted.
    computed = compute(*(column for column, _ in arguments)) if arguments else compute(F.lit(True))
    error = computed.getField("error")
    return F.when(error.isNotNull(), F.raise_error(error)).otherwise(computed.getField("value"))


def _batches(make: Callable[[], Callable[..., Value]], kinds: Sequence[Type], result: Type) -> Callable[..., pa.Array]:
    def compute(*arrays: pa.Array) -> pa.Array:
        function = make()
        columns = [values_from_arrow(array, kind) for array, kind in zip(arrays, kinds, strict=False)]
        rows = zip(*columns, strict=True) if columns else [()] * len(arrays[0])
        values: list[Value] = []
        errors: list[str | None] = []
        for row in rows:
            try:
                values.append(function(*row))
                errors.append(None)
            except EvaluationError as error:
                values.append(None)
                errors.append(failure(error))
        return pa.StructArray.from_arrays(
            [values_to_arrow(values, result), pa.array(errors, pa.string())], names=["value", "error"]
        )

    return compute
