"""A relation of a recursive component while it grows: what candidates bring that is not there yet.

A candidate is a row that a rule derived in this round, with its number `id`, the columns, and its support, if rows are
proved. In a plain relation a row is new if it is not there, and the first derivation gives it its support. With min or
max the number is that of the group, and a candidate is new if it is better in one of its values than the best row of
the group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, SparkSession

from whence.engines.spark.recursion.checkpoints import CountedFrame, RowPieces, union
from whence.engines.spark.tuple_ids import tuple_id
from whence.engines.spark.types import column_names, spark_type
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate

# A partition with more rows than this is compared by sorting it, since a hash table must fit into memory.
HASHED = 2_000_000

# Up to so many rows go to where those are that they are joined with; with more of them, both sides move.
SENT = 500_000


@dataclass(frozen=True, slots=True)
class Survivors:
    """What a relation has before it grows: rows as rules read them, and how many they are.

    Either they are there as a piece, too; or only what is `dead` can come, of which there are numbered rows. Both are
    partitioned as pieces are.
    """

    rows: DataFrame
    count: int
    piece: DataFrame | None = None
    dead: DataFrame | None = None


class Growing(ABC):
    """`names` are the relation's columns, `keys` those that tell its rows apart."""

    def __init__(self, relation: Relation, keys: Sequence[str], *, proved: bool) -> None:
        self.relation = relation
        self.names = column_names(relation.arity)
        self.keys = keys
        self.proved = proved
        self.survivors: Survivors | None = None
        self.pieces = self.no_pieces()

    @abstractmethod
    def no_pieces(self) -> RowPieces:
        """Where the rows will be."""

    @abstractmethod
    def is_covered(self) -> Column:
        """Whether a row that is there, with columns `r_...`, leaves nothing new to a candidate with the same keys."""

    @abstractmethod
    def chosen(self, fresh: DataFrame) -> DataFrame:
        """Of candidates that nothing covers, what becomes a piece: each key once."""

    @abstractmethod
    def readable(self, piece: DataFrame) -> DataFrame:
        """Rows of pieces as rules read them: the columns, and `support` if they are proved."""

    def read(self, rows: DataFrame) -> DataFrame:
        """Rows of a state as rules read them."""
        return rows.select(*self.names, *(["support"] if self.proved else []))

    @abstractmethod
    def as_piece(self, rows: DataFrame) -> DataFrame:
        """Rows as rules read them, as a piece has them, though not partitioned as it is."""

    def result(self) -> DataFrame | None:
        """All rows that have come, as rules read them; None if there are none."""
        rows = self.pieces.frame
        return None if rows is None else self.readable(rows)

    @property
    def count(self) -> int:
        """How many rows there are. Groups that got better several times count as often."""
        return self.pieces.rows + (0 if self.survivors is None else self.survivors.count)

    def everything(self) -> DataFrame | None:
        """All rows that are there, as rules read them; None if there are none."""
        come = self.pieces.frame
        parts = [] if self.survivors is None else [self.survivors.rows]
        parts += [] if come is None else [self.readable(come)]
        return union(parts) if parts else None

    def news(self, candidates: DataFrame) -> DataFrame:
        """What the candidates bring, partitioned as the pieces are."""
        fresh = candidates.repartition("id")
        dead = None if self.survivors is None else self.survivors.dead
        if dead is not None:
            fresh = fresh.join(self.compared(dead), self.matches(), "left_semi")
        there = self.there()
        if there is not None:
            fresh = fresh.join(self.compared(there), self.matches() & self.is_covered(), "left_anti")
        return self.chosen(fresh)

    def there(self) -> DataFrame | None:
        """The pieces that candidates are compared with."""
        kept = None if self.survivors is None else self.survivors.piece
        parts = [frame for frame in (kept, self.pieces.frame) if frame is not None]
        return union(parts) if parts else None

    def numbered(self, rows: DataFrame) -> DataFrame:
        """Rows with their numbers."""
        return rows.select(tuple_id(self.relation.name, [F.col(name) for name in self.keys]).alias("id"), "*")

    def matches(self) -> Column:
        """Numbers are enough to find equal keys, and not enough to tell that they are equal."""
        return reduce(and_, [_same(name) for name in self.keys], F.col("id") == F.col("r_id"))

    def compared(self, there: DataFrame) -> DataFrame:
        """Numbered rows that others are compared with."""
        partitions = int(there.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
        return self._renamed(there).hint("shuffle_hash" if self.count <= HASHED * partitions else "merge")

    def without(self, rows: DataFrame, dead: CountedFrame) -> DataFrame:
        """Rows as rules read them, but for those with the keys of numbered ones."""
        others = self._renamed(dead.frame)
        if dead.rows <= SENT:
            others = F.broadcast(others)
        return self.numbered(rows).join(others, self.matches(), "left_anti").drop("id")

    def _renamed(self, there: DataFrame) -> DataFrame:
        return there.select(*(F.col(name).alias(f"r_{name}") for name in ("id", *self.names)))


class PlainRows(Growing):
    """A plain relation."""

    def __init__(self, relation: Relation, *, proved: bool) -> None:
        super().__init__(relation, column_names(relation.arity), proved=proved)

    def no_pieces(self) -> RowPieces:
        return RowPieces()

    def is_covered(self) -> Column:
        return F.lit(True)

    def chosen(self, fresh: DataFrame) -> DataFrame:
        if not self.proved:
            return fresh.dropDuplicates()
        once = fresh.groupBy("id", *self.names).agg(F.first("support").alias("support"))
        return once.withColumn("support", _as_set("support"))

    def readable(self, piece: DataFrame) -> DataFrame:
        return self.read(piece)

    def as_piece(self, rows: DataFrame) -> DataFrame:
        return self.numbered(rows)


class BestRows(Growing):
    """A relation with min or max. Pieces have a support for each of the values: `s2` is that of the value in `c2`.

    A piece may hold rows that later ones have outdone. Whatever follows from them is outdone as well.
    """

    def __init__(self, relation: Relation, rule: Rule, *, proved: bool) -> None:
        self.functions = {
            f"c{position}": term.function
            for position, term in enumerate(rule.head.terms)
            if isinstance(term, Aggregate)
        }
        keys = [name for name in column_names(relation.arity) if name not in self.functions]
        super().__init__(relation, keys, proved=proved)

    def no_pieces(self) -> RowPieces:
        return RowPieces(self._best)

    def is_covered(self) -> Column:
        return reduce(and_, [_is_as_good(function, name) for name, function in self.functions.items()])

    def chosen(self, fresh: DataFrame) -> DataFrame:
        supported = self._with_supports(fresh)
        there = self.there()
        if there is not None and len(self.functions) > 1:
            # One value may be better than before, and another one worse.
            improved = supported.select(*(F.col(name).alias(f"r_{name}") for name in ("id", *self.keys)))
            supported = union([supported, there.join(improved.hint("shuffle_hash"), self.matches(), "left_semi")])
        return self._best(supported).withColumns({name: _as_set(name) for name in self._supports})

    def readable(self, piece: DataFrame) -> DataFrame:
        if not self.proved:
            return piece.select(*self.names)
        supports = self._supports
        return piece.select(
            *self.names, (_as_set(*supports) if len(supports) > 1 else F.col(*supports)).alias("support")
        )

    def as_piece(self, rows: DataFrame) -> DataFrame:
        return self._with_supports(self.numbered(rows))

    def result(self) -> DataFrame | None:
        rows = self.pieces.frame
        return None if rows is None else self.readable(self._best(rows))

    def empty_group(self, spark: SparkSession) -> DataFrame:
        """The row of no values, which is there when there are no groups to tell apart."""
        nulls = [
            F.lit(None).cast(spark_type(column.type)).alias(name)
            for name, column in zip(self.names, self.relation.columns, strict=True)
        ]
        support = F.array().cast("array<bigint>").alias("support")
        return spark.range(1).select(*nulls, *([support] if self.proved else []))

    @property
    def _supports(self) -> list[str]:
        return [_support_of(name) for name in self.functions] if self.proved else []

    def _with_supports(self, rows: DataFrame) -> DataFrame:
        """Numbered rows, with what each of their values rests on."""
        return rows.select("id", *self.names, *(F.col("support").alias(name) for name in self._supports))

    def _best(self, rows: DataFrame) -> DataFrame:
        chosen: list[Column] = []
        for name, function in self.functions.items():
            best, best_by = (F.min, F.min_by) if function == "min" else (F.max, F.max_by)
            chosen.append(best(name).alias(name))
            if self.proved:
                # A group without any value rests on the first row that it has.
                support = _support_of(name)
                chosen.append(F.coalesce(best_by(support, name), F.first(support)).alias(support))
        grouped = rows.groupBy("id", *self.keys).agg(*chosen)
        return grouped.select("id", *self.names, *self._supports)


def _support_of(name: str) -> str:
    return f"s{name[1:]}"


def _as_set(*supports: str) -> Column:
    return F.sort_array(F.array_distinct(F.concat(*supports)))


def _same(name: str) -> Column:
    """NULL is the same as NULL. Written so that Spark does not join by it: it joins by the number, which is faster."""
    candidate, there = F.col(name), F.col(f"r_{name}")
    return F.coalesce(candidate == there, candidate.isNull() & there.isNull())


def _is_as_good(function: str, name: str) -> Column:
    """Every value is better than NULL."""
    candidate, there = F.col(name), F.col(f"r_{name}")
    return F.coalesce(there <= candidate if function == "min" else there >= candidate, candidate.isNull())
