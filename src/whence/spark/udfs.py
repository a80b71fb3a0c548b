"""Functions on both sides: those of `db.function` in `spark.sql`, and those of the user's session in `db.query`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pickle import PicklingError
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from whence.engines.spark.types import spark_type
from whence.model.program import Function

logger = logging.getLogger("whence")


def publish_function(spark: SparkSession, function: Function) -> None:
    """Let the SQL of a session call a function by its name, unless it holds what cannot go to another process."""
    signature = function.signature
    try:
        spark.udf.register(signature.name, _checked(function), spark_type(signature.returns))
    except PicklingError:
        logger.info("%s() cannot be sent to executors: views can call it, and spark.sql cannot", signature.name)


def _checked(function: Function) -> Callable[..., object]:
    """What it returns is of its type, as in a view: Spark would take NULL for what is not."""
    python, returns = function.python, function.signature.returns

    def call(*arguments: object) -> object:
        value = python(*arguments)
        return None if value is None else returns.accept(value)

    return call


def lend_functions(spark: SparkSession, own: SparkSession, names: Iterable[str]) -> None:
    """Let another session call the functions of these names that were registered in the user's."""
    theirs, ours = (_registry(each) for each in (spark, own))
    for key in (key for name in names for key in _keys(spark, name.lower())):
        # Each version of Spark takes one of the keys, and refuses the other or finds nothing.
        with suppress(Py4JJavaError):
            builder, info = theirs.lookupFunctionBuilder(key), theirs.lookupFunction(key)
            if builder.isDefined() and info.isDefined() and not ours.functionExists(key):
                ours.registerFunction(key, info.get(), builder.get())


def _keys(spark: SparkSession, name: str) -> Iterator[Any]:
    """What a function goes by: since Spark 4.3 it has a catalog and a schema."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark has no other way to pass a function on
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    yield identifier(name, jvm.scala.Some("session"), jvm.scala.Some("system"))
    yield identifier(name)


def _registry(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().functionRegistry()  # noqa: SLF001 - likewise
