"""What has changed in a published relation since its base was written, as Parquet files that a view of Spark reads.

The view is SQL text, which Spark analyzes whenever a query names it. Analysis lists the files once, however often the
text mentions them: a query sees whole commits, without a Python worker, and without being told of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet
from pyspark.sql.types import LongType, StructField, StructType

from whence.engines.spark.types import column_names, frame_schema, public_sql, rows_to_arrow, with_columns
from whence.model.schema import Relation
from whence.model.updates import Delta
from whence.spark.decorators import quoted
from whence.spark.stored_rows import added_up
from whence.storage.files.files import Files

# Where the files are, below the root of a database.
PUBLISHED = "published"
_SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata"
# So many files are listed and opened by a query before they become one. Spark has to be told of that one, which takes
# longer than a small commit does.
MOST_FILES = 64
# So many changed rows are added up in one task and handed to all tasks of a scan.
FEW_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class Base:
    """A view of Spark's with the rows as they were: columns c0, c1, ... and `n`, which is always 1 if it is `single`.

    Where something is taken away from it, each row has to be in one place.
    """

    name: str
    single: bool


@dataclass(frozen=True, slots=True)
class PendingChanges:
    """A directory of changes of counts, which add up. It only ever gets more files."""

    files: Files
    relation: Relation
    path: str
    count: int = 0
    rows: int = 0
    takes_away: bool = False

    def with_change(self, change: pa.Table) -> PendingChanges:
        """One more commit. Spark sees all of it or nothing."""
        sink = pa.BufferOutputStream()
        # By these words Spark tells an interval from a number.
        own = StructType([*frame_schema(self.relation).fields, StructField("n", LongType())])
        parquet.write_table(change.replace_schema_metadata({_SPARK_SCHEMA: own.json()}), sink)
        self.files.create(f"{self.path}/{self.count:06}.parquet", sink.getvalue().to_pybytes())
        takes_away = self.takes_away or _takes_away(change)
        return replace(self, count=self.count + 1, rows=self.rows + change.num_rows, takes_away=takes_away)

    def merged_into(self, path: str, change: pa.Table) -> PendingChanges:
        """The same changes and one more in another directory, in one file."""
        self.files.make_directory(path)
        merged = added_up(pa.concat_tables([self.table(), change], promote_options="default"), self.relation)
        # Where rows have gone, more will go, and the text of the view is ready for them.
        takes_away = self.takes_away or _takes_away(change)
        return PendingChanges(self.files, self.relation, path, takes_away=takes_away).with_change(merged)

    def table(self) -> pa.Table:
        """All of them, not added up."""
        written = [self.files.read(f"{self.path}/{number:06}.parquet") for number in range(self.count)]
        tables = [parquet.read_table(pa.BufferReader(data)) for data in written]
        return pa.concat_tables(tables, promote_options="default")

    def sql(self, base: Base) -> str:
        """The rows that there are, copies included, under the names of the columns."""
        relation, names = self.relation, column_names(self.relation.arity)
        columns = ", ".join(names)
        hint = "/*+ COALESCE(1) */ " if self.rows <= FEW_ROWS else ""
        pending = (
            f"SELECT {columns}, sum(n) AS n FROM (SELECT {hint}* FROM parquet.{quoted(self.files.uri(self.path))}) "
            f"GROUP BY {columns} HAVING sum(n) <> 0"
        )
        added = f"SELECT {columns}, n FROM pending WHERE n > 0"
        named = ", ".join(
            f"{public_sql(f'c{at}', column.type)} AS {quoted(column.name)}"
            for at, column in enumerate(relation.columns)
        )
        if base.single:
            copies = "" if relation.distinct else " LATERAL VIEW explode(sequence(1, CAST(n AS INT))) AS copy"
            return (
                f"WITH pending AS ({pending}) SELECT {named} FROM {self._kept(base)} "
                f"UNION ALL SELECT {named} FROM ({added}){copies}"
            )
        counted = f"SELECT {columns}, n FROM {self._kept(base)} UNION ALL {added}"
        return (
            f"WITH pending AS ({pending}) SELECT {named} FROM (SELECT * FROM ({counted}) WHERE n > 0) "
            f"LATERAL VIEW explode(sequence(1, CAST(n AS INT))) AS copy"
        )

    def _kept(self, base: Base) -> str:
        """What is left of the base."""
        if not self.takes_away:
            return base.name
        relation, columns = self.relation, ", ".join(column_names(self.relation.arity))
        hint = "/*+ BROADCAST(gone) */ " if self.rows <= FEW_ROWS else ""
        gone = "(SELECT * FROM pending WHERE n < 0) AS gone"
        if base.single:
            # A row whose count went down is not there any more, and a key tells which one that was.
            places = [relation.column_names.index(name) for name in relation.key] or range(relation.arity)
            return f"(SELECT {hint}base.* FROM {base.name} AS base LEFT ANTI JOIN {gone} ON {_same(relation, places)})"
        left = f"base.n + coalesce(gone.n, 0) AS n FROM {base.name} AS base LEFT JOIN {gone}"
        selected = ", ".join(f"base.{name}" for name in columns.split(", "))
        return f"(SELECT {hint}{selected}, {left} ON {_same(relation, range(relation.arity))})"


def _takes_away(change: pa.Table) -> bool:
    least = compute.min(change.column("n")).as_py()
    return least is not None and least < 0


def change_table(relation: Relation, change: Delta) -> pa.Table:
    counts = {"n": pa.array(change.values(), pa.int64())}
    return with_columns(rows_to_arrow(list(change), relation), counts)


def _same(relation: Relation, places: Sequence[int]) -> str:
    equal = {True: "<=>", False: "="}
    return " AND ".join(f"base.c{at} {equal[relation.columns[at].nullable]} gone.c{at}" for at in places)
