"""What becomes of a relation of a recursive component, in the two forms that a state can take it in."""

from __future__ import annotations

from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from whence.engines.spark.frames import summed
from whence.engines.spark.recursion.pieces import union
from whence.model.schema import Relation


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rows that stay as they are; the columns of those that were there, and are dead or outdone; and those that came,
    or came back. The first and the last have `support`. `changed` is how many the others are at most.
    """

    relation: Relation
    staying: DataFrame
    leaving: DataFrame
    coming: DataFrame
    changed: int

    def changes(self) -> DataFrame:
        """What comes, and what leaves, which has no support. A row may do both."""
        nothing = F.lit(None).cast("array<bigint>")
        return union([self.leaving.withColumn("support", nothing), self.coming])

    def after(self) -> DataFrame:
        """All rows."""
        return union([self.staying, self.coming])

    def difference(self) -> DataFrame:
        """What readers see of it: rows and by how much their count changes."""
        one = F.lit(1).cast("bigint")
        return summed(
            self.relation,
            [self.coming.drop("support").withColumn("n", one), self.leaving.withColumn("n", -one)],
        )
