"""A live Spark in which a test is set up, and a database of whence with the same tables."""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions

import whence
from scripts.golden.text import intervals_as_texts

_VIEW = "golden_query"
_INTS = "unique1 unique2 two four ten twenty hundred thousand twothousand fivethous tenthous odd even"
_TENK = f"{' INT, '.join(_INTS.split())} INT, stringu1 STRING, stringu2 STRING, string4 STRING"


def golden_session(spark: SparkSession) -> SparkSession:
    """A session of its own in which TIMESTAMP is what it is in whence: without a time zone."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    return session


class Mirror:
    """What a test has set up so far, in Spark and, as far as queries ask for it, in whence."""

    def __init__(self, session: SparkSession, data: Path, engine: str) -> None:
        self._session = session
        self._engine = engine
        self._fresh = False
        self._refused: dict[str, whence.WhenceError] = {}
        self._copied: set[str] = set()
        self._names: set[str] = set()
        self._database = whence.connect(engine=engine)
        self._own_tables(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()
        self.set_up("USE default")
        for name, what in self._listed():
            self.set_up(f"DROP {what} IF EXISTS `{name}`")

    def set_up(self, statement: str) -> None:
        self._fresh = False
        try:
            self._session.sql(statement).collect()
        except (PySparkException, Py4JError):
            return  # as the golden file says, or what this Spark does not have

    def answer(self, query: str, columns: int | None) -> pa.Table:
        """The rows of the query as a view of whence. Raises what whence raises."""
        self._copy_tables(query)
        # Columns of one name are legal in a query, and not in a view.
        listed = "" if columns is None else f"({', '.join(f'c{place}' for place in range(columns))})"
        database = self._database
        database.execute(f"CREATE MATERIALIZED VIEW {_VIEW}{listed} AS {query}")
        try:
            described = database.query(f"DESCRIBE {_VIEW}").to_pylist()
            return intervals_as_texts(database.table(_VIEW), [each["data_type"] for each in described])
        finally:
            database.execute(f"DROP VIEW {_VIEW}")

    def live(self, query: str) -> pa.Table:
        """The rows in Spark."""
        frame = self._session.sql(query)
        return intervals_as_texts(_table(frame), [field.dataType.simpleString() for field in frame.schema])

    def _listed(self) -> list[tuple[str, str]]:
        """The tables and views that can be read without the name of a schema."""
        try:
            tables = self._session.catalog.listTables()
        except PySparkException:
            return []  # the test has dropped the schema that it uses
        return [(each.name, "VIEW" if each.isTemporary or each.tableType == "VIEW" else "TABLE") for each in tables]

    def _copy_tables(self, query: str) -> None:
        if not self._fresh:
            self._database.close()
            self._database = whence.connect(engine=self._engine)
            self._names = {name.lower() for name, _ in self._listed()}
            self._refused, self._copied, self._fresh = {}, set(), True
        for name in sorted(self._names & set(re.findall(r"\w+", query.lower()))):
            if name in self._refused:
                raise self._refused[name]
            if name not in self._copied:
                try:
                    self._copy(name)
                except whence.WhenceError as error:
                    self._refused[name] = error
                    raise
                except (PySparkException, Py4JError) as error:
                    raise whence.WhenceError(f"this Spark cannot read {name}: {str(error)[:80]}") from None
                self._copied.add(name)

    def _copy(self, name: str) -> None:
        frame = self._session.table(name)
        for field in frame.schema:
            declared = field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")
            if declared.startswith("char"):
                raise whence.WhenceError(f"the type {declared.upper()} is not supported")
        columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema)
        self._database.execute(f"CREATE TABLE `{name}`({columns})")
        table = _table(frame)
        self._database.insert(name, table.rename_columns([field.name for field in frame.schema]))

    def _own_tables(self, data: Path) -> None:
        """The tables that Spark's suite has before any test."""
        own = {"aggtest": "a INT, b FLOAT", "onek": _TENK, "tenk1": _TENK}
        for name, file in {"aggtest": "agg.data", "onek": "onek.data", "tenk1": "tenk.data"}.items():
            if (data / file).exists():
                frame = self._session.read.csv(str(data / file), schema=own[name], sep="\t")
                frame.createOrReplaceTempView(name)
        self.set_up(
            "CREATE TEMP VIEW testdata AS SELECT CAST(id AS INT) AS key, CAST(id AS STRING) AS value FROM range(1, 101)"
        )
        self.set_up(
            "CREATE TEMP VIEW arraydata AS SELECT * FROM VALUES (array(1, 2, 3), array(array(1, 2, 3))), "
            "(array(2, 3, 4), array(array(2, 3, 4))) AS t(arraycol, nestedarraycol)"
        )


def _table(frame: DataFrame) -> pa.Table:
    numbered = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    # Arrow has no months; whence reads these texts.
    texts = [
        functions.col(field.name).cast("string")
        if field.dataType.simpleString().startswith("interval")
        else functions.col(field.name)
        for field in numbered.schema
    ]
    return numbered.select(*(each.alias(name) for each, name in zip(texts, numbered.columns, strict=True))).toArrow()
