"""A site on Spark: what many sites leave in a folder is merged on the cluster, and views over it go back to them.

Files come in through Structured Streaming. Beside each shared table is an augmented one, `NAME_lengths`, with the
causal length of every row; the table itself is a view of the rows whose length is odd. Merging a micro-batch is one
commit: of each row the greatest length, with its last update, if it is greater than what is known. So a batch that is
replayed, and a file that comes twice, changes nothing.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from whence.engines.spark.types import spark_type
from whence.errors import StateError, UnsupportedError
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Commit
from whence.replica.site import Site, site
from whence.replica.uploads import BASE_ROWS, LENGTH, NEEDS, ROW, SITE, SUPPORTS, UPDATE, check_columns
from whence.spark.database import SparkDatabase

if TYPE_CHECKING:
    import pyarrow as pa

FILES_AT_ONCE = 100  # in a micro-batch: some 100,000 updates
_STATE = (LENGTH, UPDATE, SITE)


class CloudSite:
    """`folder` is where sites leave files, and `db` a database on Spark. Sites meet `site` to hear what is published.

    `path` is a directory for what `site` has told, and `checkpoint` one that tells which files were taken. Without a
    checkpoint all files are taken again at every start, which is right for a database that goes away.
    """

    def __init__(
        self,
        name: str,
        db: SparkDatabase,
        folder: str | os.PathLike[str],
        *,
        path: str | os.PathLike[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.db = db
        self.site: Site = site(name, path)
        self._folder = Path(folder)
        self._checkpoint = Path(mkdtemp(prefix="whence-cloud-")) if checkpoint is None else Path(checkpoint)
        self._schemas: dict[str, StructType] = {}
        self._queries: list[StreamingQuery] = []
        self._merging = threading.Lock()
        self._published: set[str] = set()

    def share(self, table: str, columns: str) -> None:
        """Have a table that sites share, with the columns that it has there, as `who STRING NOT NULL, place STRING`."""
        self._make_augmented(f"{table}_lengths", columns)
        relation = self._relation(f"{table}_lengths", len(_STATE) + 1)
        check_columns(self._folder / table, relation.columns, self.site.name)
        names = ", ".join(relation.column_names)
        self.db.execute(
            f"CREATE VIEW {table} AS SELECT DISTINCT {names} FROM {table}_lengths WHERE {LENGTH} % 2 = 1"  # noqa: S608
        )
        self._schemas[table] = _fields(relation, [ROW, SITE], [LENGTH, UPDATE])

    def follow(self, view: str, columns: str) -> None:
        """Have a view that sites tell by its supports, which all of them count for."""
        if BASE_ROWS not in self._schemas:
            self._make_augmented(f"{BASE_ROWS}_lengths", "")
            self._schemas[BASE_ROWS] = _fields(None, [ROW, SITE], [LENGTH, UPDATE])
        supports, needs, lacking = f"{view}{SUPPORTS}", f"{view}_needs", f"{view}_lacking"
        self.db.execute(f"""
            CREATE TABLE {supports}({columns}, {ROW} STRING NOT NULL, PRIMARY KEY ({ROW}));
            CREATE TABLE {needs}(support STRING NOT NULL, need STRING NOT NULL, PRIMARY KEY (support, need));
            CREATE VIEW {lacking} AS SELECT DISTINCT support FROM {needs} WHERE NOT EXISTS (
                SELECT 1 FROM {BASE_ROWS}_lengths AS known WHERE known.{ROW} = need AND known.{LENGTH} % 2 = 1);
        """)  # noqa: S608 - names of relations, which the database checks
        relation = self._relation(supports, 1)
        check_columns(self._folder / supports, relation.columns, self.site.name)
        names = ", ".join(relation.column_names)
        self.db.execute(
            f"CREATE VIEW {view} AS SELECT DISTINCT {names} FROM {supports} "  # noqa: S608
            f"WHERE NOT EXISTS (SELECT 1 FROM {lacking} WHERE {lacking}.support = {supports}.{ROW})"
        )
        schema = _fields(relation, [], [])
        self._schemas[supports] = schema.add(StructField(NEEDS, ArrayType(StringType())))

    def publish(self, view: str) -> None:
        """Let sites follow a relation of the database: what changes in it goes to them as deltas."""
        relation = self.db.relation(view)
        if not relation.distinct:
            raise UnsupportedError(
                f"{view!r} can have several copies of a row, and a replica has each row once",
                hint="define it with SELECT DISTINCT",
            )
        with self._merging:
            self.site.make_table(Relation(relation.name, relation.columns, distinct=True))
            now, told = self.db.rows(view), self.site.rows(view)
            with self.site.batch() as batch:
                batch.delete(view, told - now)
                batch.insert(view, now - told)
            if view not in self._published:
                self._published.add(view)
                self.db.subscribe(view, lambda changes: self._tell(view, changes))

    def start(self) -> None:
        """Take in what sites leave, from now on, as it comes."""
        self._check_at_rest()
        self._queries = [self._start(name, None) for name in self._schemas]

    def take_available(self) -> None:
        """Take in what sites have left until now."""
        self._check_at_rest()
        for name in self._schemas:
            self._start(name, {"availableNow": True}).awaitTermination()

    def stop(self) -> None:
        for query in self._queries:
            query.stop()
        self._queries = []

    def close(self) -> None:
        self.stop()
        self.site.close()

    def merge(self, name: str, batch: DataFrame) -> Commit:
        """What a file or many of them tell of a table or of supports is known here, too."""
        with self._merging:
            return self._unite(name, batch) if name.endswith(SUPPORTS) else self._raise(f"{name}_lengths", batch)

    def _take(self, name: str, batch: DataFrame) -> None:
        self.merge(name, batch)

    def _raise(self, table: str, batch: DataFrame) -> Commit:
        others = [F.first(column).alias(column) for column in batch.columns if column not in (*_STATE, ROW)]
        greatest = F.max(F.struct(*_STATE)).alias("state")
        # Columns of a row are the same wherever it comes from: it is told apart by what is in it.
        told = batch.groupBy(ROW).agg(greatest, *others)
        known = self.db.df(table).select(ROW, F.struct(*_STATE).alias("known"))
        newer = told.join(known, ROW, "left").where(F.col("known").isNull() | (F.col("state") > F.col("known")))
        return self.db.upsert(
            table, newer.select(*(column for column in batch.columns if column not in _STATE), "state.*")
        )

    def _unite(self, table: str, batch: DataFrame) -> Commit:
        names = [column for column in batch.columns if column != NEEDS]
        # A support is what it supports, and what it needs.
        mark = F.sha2(F.to_json(F.struct(*names, NEEDS), {"ignoreNullFields": "false"}), 256)
        told = batch.withColumn(ROW, mark).dropDuplicates([ROW])
        new = told.join(self.db.df(table).select(ROW), ROW, "left_anti").persist()
        try:
            needs = new.select(F.col(ROW).alias("support"), F.explode(NEEDS).alias("need"))
            # A support whose needs are not known yet would count: they come first.
            self.db.upsert(f"{table.removesuffix(SUPPORTS)}_needs", needs.dropDuplicates())
            return self.db.upsert(table, new.select(*names, ROW))
        finally:
            new.unpersist()

    def _start(self, name: str, trigger: dict[str, bool] | None) -> StreamingQuery:
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        spark = self.db.df(name if name.endswith(SUPPORTS) else f"{name}_lengths").sparkSession
        reader = spark.readStream.schema(self._schemas[name])
        reader = reader.option("maxFilesPerTrigger", FILES_AT_ONCE).option("pathGlobFilter", "*.parquet")
        writer = reader.parquet(str(folder)).writeStream.option("checkpointLocation", str(self._checkpoint / name))
        if trigger is not None:
            writer = writer.trigger(**trigger)
        return writer.foreachBatch(lambda batch, _: self._take(name, batch)).start()

    def _tell(self, view: str, changes: pa.Table) -> None:
        """A commit changed a published relation."""
        came: list[Row] = []
        gone: list[Row] = []
        names = self.db.relation(view).column_names
        rows = zip(*(changes[name].to_pylist() for name in names), strict=True)
        for row, change in zip(rows, changes["_change_type"].to_pylist(), strict=True):
            (came if change in ("insert", "update_postimage") else gone).append(row)
        with self.site.batch() as batch:
            batch.delete(view, gone)
            batch.insert(view, came)

    def _make_augmented(self, table: str, columns: str) -> None:
        of_rows = f"{columns}, " if columns else ""
        self.db.execute(
            f"CREATE TABLE {table}({of_rows}{ROW} STRING NOT NULL, {LENGTH} BIGINT NOT NULL, "
            f"{UPDATE} BIGINT NOT NULL, {SITE} STRING NOT NULL, PRIMARY KEY ({ROW}))"
        )

    def _relation(self, table: str, beside: int) -> Relation:
        """A table, without the columns that are beside those of its rows."""
        found = self.db.relation(table)
        return Relation(found.name, found.columns[:-beside], distinct=True)

    def _check_at_rest(self) -> None:
        if any(query.isActive for query in self._queries):
            raise StateError("the streams of the cloud site are running", hint="stop() them first")


def _fields(relation: Relation | None, texts: list[str], numbers: list[str]) -> StructType:
    columns = () if relation is None else relation.columns
    fields = [StructField(column.name, spark_type(column.type)) for column in columns]
    fields += [StructField(name, StringType()) for name in texts]
    return StructType(fields + [StructField(name, LongType()) for name in numbers])
