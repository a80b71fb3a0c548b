"""A relation of a recursive component while it is built: what candidates bring that is not there yet.

A candidate is a row that a rule derived in this round, with its number `id`, the columns, and its support. In a plain
relation a row is new if it is not there, and the first derivation gives it its support. With min or max the number is
that of the group, and a candidate is new if it is better in one of its values than the best row of the group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from operator import and_

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, SparkSession

from whence.engines.spark.recursion.pieces import Pieces, union
from whence.engines.spark.tuple_ids import tuple_id
from whence.engines.spark.types import column_names, spark_type
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate

# A partition with more rows than this is compared by sorting it, since a hash table must fit into memory.
HASHED = 2_000_000


class Growing(ABC):
    """`names` are the relation's columns, `keys` those that tell its rows apart."""

    def __init__(self, relation: Relation, keys: Sequence[str]) -> None:
        self.relation = relation
        self.names = column_names(relation.arity)
        self.keys = keys
        self.pieces = self.no_pieces()

    @abstractmethod
    def no_pieces(self) -> Pieces:
        """Where the rows will be."""

    @abstractmethod
    def is_covered(self) -> Column:
        """Whether a row that is there, with columns `r_...`, leaves nothing new to a candidate with the same keys."""

    @abstractmethod
    def chosen(self, fresh: DataFrame) -> DataFrame:
        """Of candidates that nothing covers, what becomes a piece: each key once."""

    @abstractmethod
    def readable(self, piece: DataFrame) -> DataFrame:
        """Rows of pieces as rules read them: the columns and `support`."""

    def result(self) -> DataFrame | None:
        """All rows, as rules read them; None if there are none."""
        rows = self.pieces.frame
        return None if rows is None else self.readable(rows)

    def news(self, candidates: DataFrame) -> DataFrame:
        """What the candidates bring, partitioned as the pieces are."""
        fresh = candidates.repartition("id")
        there = self.pieces.frame
        if there is not None:
            fresh = fresh.join(self._in_order(there), self._matches() & self.is_covered(), "left_anti")
        return self.chosen(fresh)

    def numbered(self, rows: DataFrame) -> DataFrame:
        """Rows with their numbers."""
        return rows.select(tuple_id(self.relation.name, [F.col(name) for name in self.keys]).alias("id"), "*")

    def _matches(self) -> Column:
        """Numbers are enough to find equal keys, and not enough to tell that they are equal."""
        return reduce(and_, [_same(name) for name in self.keys], F.col("id") == F.col("r_id"))

    def _in_order(self, there: DataFrame) -> DataFrame:
        """What is there, to be compared with candidates."""
        renamed = there.select(*(F.col(name).alias(f"r_{name}") for name in ("id", *self.names)))
        partitions = int(there.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
        return renamed.hint("shuffle_hash" if self.pieces.rows <= HASHED * partitions else "merge")


class Rows(Growing):
    """A plain relation."""

    def __init__(self, relation: Relation) -> None:
        super().__init__(relation, column_names(relation.arity))

    def no_pieces(self) -> Pieces:
        return Pieces()

    def is_covered(self) -> Column:
        return F.lit(True)

    def chosen(self, fresh: DataFrame) -> DataFrame:
        once = fresh.groupBy("id", *self.names).agg(F.first("support").alias("support"))
        return once.withColumn("support", _as_set("support"))

    def readable(self, piece: DataFrame) -> DataFrame:
        return piece.select(*self.names, "support")


class Bests(Growing):
    """A relation with min or max. Pieces have a support for each of the values: `s2` is that of the value in `c2`.

    A piece may hold rows that later ones have outdone. Whatever follows from them is outdone as well.
    """

    def __init__(self, relation: Relation, rule: Rule) -> None:
        self._functions = {
            f"c{position}": term.function
            for position, term in enumerate(rule.head.terms)
            if isinstance(term, Aggregate)
        }
        super().__init__(relation, [name for name in column_names(relation.arity) if name not in self._functions])

    def no_pieces(self) -> Pieces:
        return Pieces(self._best)

    def is_covered(self) -> Column:
        return reduce(and_, [_is_as_good(function, name) for name, function in self._functions.items()])

    def chosen(self, fresh: DataFrame) -> DataFrame:
        supported = fresh.select(
            "id", *self.names, *(F.col("support").alias(_support_of(name)) for name in self._functions)
        )
        there = self.pieces.frame
        if there is not None and len(self._functions) > 1:
            # One value may be better than before, and another one worse.
            improved = supported.select(*(F.col(name).alias(f"r_{name}") for name in ("id", *self.keys)))
            supported = union([supported, there.join(improved.hint("shuffle_hash"), self._matches(), "left_semi")])
        best = self._best(supported)
        return best.withColumns({_support_of(name): _as_set(_support_of(name)) for name in self._functions})

    def readable(self, piece: DataFrame) -> DataFrame:
        supports = [_support_of(name) for name in self._functions]
        return piece.select(
            *self.names, (_as_set(*supports) if len(supports) > 1 else F.col(*supports)).alias("support")
        )

    def result(self) -> DataFrame | None:
        rows = self.pieces.frame
        return None if rows is None else self.readable(self._best(rows))

    def empty_group(self, spark: SparkSession) -> DataFrame:
        """The row of no values, which is there when there are no groups to tell apart."""
        nulls = [
            F.lit(None).cast(spark_type(column.type)).alias(name)
            for name, column in zip(self.names, self.relation.columns, strict=True)
        ]
        return spark.range(1).select(*nulls, F.array().cast("array<bigint>").alias("support"))

    def _best(self, rows: DataFrame) -> DataFrame:
        chosen: list[Column] = []
        for name, function in self._functions.items():
            support = _support_of(name)
            best, best_by = (F.min, F.min_by) if function == "min" else (F.max, F.max_by)
            # A group without any value rests on the first row that it has.
            chosen += (
                best(name).alias(name),
                F.coalesce(best_by(support, name), F.first(support)).alias(support),
            )
        grouped = rows.groupBy("id", *self.keys).agg(*chosen)
        return grouped.select("id", *self.names, *(_support_of(name) for name in self._functions))


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
