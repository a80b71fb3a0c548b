"""Ad hoc SQL on Spark, whose dialect it is."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp

from whence.engines.spark.errors import evaluation_errors, first_line, unreadable_file
from whence.engines.spark.types import in_months
from whence.errors import EvaluationError, ParseError, UnsupportedError
from whence.lang.sql.parameters import Parameters
from whence.lang.sql.schemas import WRITTEN_SCHEMA
from whence.model.types import TIMESTAMP
from whence.session.definitions import Definitions
from whence.session.query import parsed_query, too_long
from whence.session.session import Session
from whence.sources.rows import zoneless
from whence.spark.publication import Publisher
from whence.spark.sessions import own_session
from whence.spark.udfs import lend_functions

# Between attempts to stop a query.
RETRY_SECONDS = 0.2
JAVA_CALLS = frozenset(("java_method", "reflect", "try_reflect"))


@dataclass(frozen=True, slots=True)
class SparkQuery:
    """A query over relations as they are when it is run: Spark reads them from where they are."""

    text: str
    params: Parameters | None
    reading: Callable[[], AbstractContextManager[Session]]
    publisher: Publisher

    def run(self, limit: int | None = None, timeout: float | None = None) -> pa.Table:
        with self.reading() as session:
            return self._answer(session.definitions, limit, timeout)

    def _answer(self, definitions: Definitions, limit: int | None, timeout: float | None) -> pa.Table:
        parsed = parsed_query(self.text, self.params)
        used = parsed.relations(definitions, calls_functions=True)
        for relation in used:
            if "." in relation.name:
                raise UnsupportedError(
                    f"Spark has a schema of its own for {relation.name!r}, and a query does not find it",
                    hint=f"db.df({relation.name!r}) is a DataFrame of it",
                )
        _refuse_schemas(parsed.tree)
        _refuse_java(parsed.tree)
        session = own_session(self.publisher.spark)
        for relation in used:
            self.publisher.publish_in(session, relation)
        lend_functions(self.publisher.spark, session, {call.name for call in parsed.tree.find_all(exp.Anonymous)})
        try:
            with _stopped_after(timeout, session), evaluation_errors():
                answer = session.sql(self.text, args=_arguments(self.params))
                return zoneless(in_months(answer if limit is None else answer.limit(limit)).toArrow())
        except _StoppedError:
            raise too_long(timeout) from None
        except AnalysisException as error:
            raise ParseError(f"Spark cannot answer the query: {first_line(error)}") from None
        except (PySparkException, Py4JJavaError) as error:
            if unreadable_file(error) is not None:
                raise
            raise EvaluationError(f"Spark cannot answer the query: {first_line(error)}") from None


def _arguments(params: Parameters | None) -> Any:
    """Parameters as Spark takes them."""
    if isinstance(params, Mapping):
        return {name: _argument(value) for name, value in params.items()}
    return None if params is None else [_argument(value) for value in params]


def _argument(value: object) -> object:
    """A moment without a zone is one in UTC, the zone of our sessions, and not in that of this process."""
    if isinstance(value, datetime.datetime):
        moment = TIMESTAMP.accept(value)
        assert isinstance(moment, datetime.datetime)
        return moment.replace(tzinfo=datetime.UTC)
    return value


def _refuse_schemas(tree: exp.Expr) -> None:
    """Spark is given the text as it is, and reads a table of its own catalog where a name has a schema."""
    for table in tree.find_all(exp.Table):
        if (schema := table.meta.get(WRITTEN_SCHEMA)) is not None:
            raise UnsupportedError(
                f"Spark has a schema {schema!r} of its own, in which a query does not find {table.name!r}",
                hint="name it without the schema",
            )


def _refuse_java(tree: exp.Expr) -> None:
    """A query only reads, and these functions call any method of any class that Spark knows."""
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() in JAVA_CALLS:
            raise UnsupportedError(f"a query cannot call {call.name!r}, which runs methods of Java")


@contextmanager
def _stopped_after(seconds: float | None, session: SparkSession) -> Iterator[None]:
    """Cancel the jobs of what happens here when the time is over, and those that come after them."""
    if seconds is None:
        yield
        return
    tag = f"whence-query-{uuid4()}"
    done, stopped = threading.Event(), threading.Event()
    context = session.sparkContext

    def stop() -> None:
        wait = seconds
        while not done.wait(wait):
            stopped.set()
            context.cancelJobsWithTag(tag)
            # A query that was still being planned has no job to cancel yet.
            wait = RETRY_SECONDS

    context.addJobTag(tag)
    threading.Thread(target=stop, daemon=True).start()
    try:
        yield
    except (PySparkException, Py4JJavaError):
        if stopped.is_set():
            raise _StoppedError from None
        raise
    finally:
        done.set()
        context.removeJobTag(tag)


class _StoppedError(Exception):
    """The time was over."""
