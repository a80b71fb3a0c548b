"""Ad hoc SQL on Spark, whose dialect it is."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException

from whence.cluster.publishing import Publisher
from whence.engines.spark.errors import evaluation_errors
from whence.errors import EvaluationError, ParseError
from whence.session.definitions import Definitions
from whence.session.query import checked_query


def query_on_spark(text: str, definitions: Definitions, publisher: Publisher) -> pa.Table:
    """The answer to a query over relations that there are, as they are now."""
    _, used = checked_query(text, definitions)
    session = publisher.spark.newSession()
    for relation in used:
        publisher.publish_in(session, relation)
    try:
        with evaluation_errors():
            return session.sql(text).toArrow()
    except AnalysisException as error:
        raise ParseError(f"Spark cannot answer the query: {_first_line(error)}") from None
    except PySparkException as error:
        raise EvaluationError(f"Spark cannot answer the query: {_first_line(error)}") from None


def _first_line(error: PySparkException) -> str:
    return (error.getMessage() or str(error)).strip().splitlines()[0]
