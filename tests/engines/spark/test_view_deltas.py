"""Views without recursion that follow changes on the cluster: equal to the reference engine after every step.

`python -m tests.engines.spark.test_view_deltas FIRST LAST` searches among more programs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import whence
from tests.engines.local.counting_programs import Generator
from tests.engines.local.recursive_driver import added, analysis_of, difference
from tests.engines.spark.test_in_driver import random_changes
from tests.engines.spark.views_driver import counts_of, frame_of
from whence.analysis.analyze import Analysis
from whence.engines.reference.evaluate import evaluate
from whence.engines.spark import rule_deltas
from whence.engines.spark.decoded_segment import Points
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta
from whence.engines.spark.pages import Paging
from whence.engines.spark.payloads import Codec
from whence.engines.spark.recursion.checkpoints import checkpoint
from whence.engines.spark.types import arrow_frame
from whence.errors import WhenceError
from whence.model.types import Row
from whence.model.updates import Delta, Update
from whence.spark import bulk_load
from whence.spark.database import SparkDatabase

Counts = Mapping[str, Mapping[Row, int]]


class SessionHome:
    """Keeps frames in the session. What the least count is, it sometimes knows."""

    scratch = None

    def __init__(self, spark: SparkSession, rng: Random) -> None:
        self._spark = spark
        self._rng = rng
        self._kept: dict[int, tuple[DataFrame, int, int | None]] = {}

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        kept = checkpoint(frame)
        least = None
        if "n" in frame.columns and self._rng.random() < 0.5:
            least = kept.frame.agg({"n": "min"}).collect()[0][0]
        self._kept[id(kept.frame)] = kept.frame, kept.rows, least
        return kept.frame

    def keep_table(self, name: str, table: pa.Table) -> DataFrame:
        return self.keep(name, arrow_frame(self._spark, table))

    def rows(self, frame: DataFrame) -> int:
        return self._kept[id(frame)][1]

    def least_count(self, frame: DataFrame) -> int | None:
        return self._kept[id(frame)][2]

    def counts(self, frame: DataFrame) -> None:
        return None

    def repeats(self, frame: DataFrame) -> bool:
        return False

    def projected(self, *_: object, **__: object) -> DataFrame:
        raise AssertionError("definitions stay as they are")

    def points(self, _frame: object, codec: Codec[Any], _paging: Paging, _known: pa.Table | None) -> Points:
        return Points(None, codec.schema)


class Follower:
    """An engine that gets all changes as frames."""

    def __init__(self, spark: SparkSession, analysis: Analysis, rng: Random, paging: Paging) -> None:
        self._spark = spark
        self._analysis = analysis
        self._home: Any = SessionHome(spark, rng)
        self.engine = SparkEngine(spark, self._home, paging=paging)
        self.engine.define(analysis, {}, Update())
        self._base: dict[str, Mapping[Row, int]] = {}
        self._before = evaluate(analysis, {}, {})
        self.by_rules = 0

    def apply(self, update: Mapping[str, Delta]) -> None:
        base = {**self._base, **{name: added(self._base.get(name, {}), delta) for name, delta in update.items()}}
        changes = {name: self._frame(name, delta) for name, delta in update.items() if delta}
        try:
            after = evaluate(self._analysis, base, {})
        except WhenceError:
            with pytest.raises(WhenceError):
                self.engine.apply(Update(changes))
            return
        deltas = self.engine.apply(Update(changes))
        for name, rows in after.items():
            assert dict(deltas.get(name, {})) == difference(rows, self._before[name]), name
        self._base, self._before = base, after
        works = (self.engine.work(component) for component in self._analysis.components)
        self.by_rules += sum(work is not None and work.by_rules for work in works)

    def check(self) -> None:
        """What the states have come to. The changes are checked with each step."""
        for name, rows in self._before.items():
            assert counts_of(self._analysis.relations[name], self.engine.frame(name)) == dict(rows), name

    def _frame(self, name: str, delta: Delta) -> FrameDelta:
        relation = self._analysis.relations[name]
        kept = self._home.keep(name, frame_of(self._spark, relation, dict(delta)))
        return FrameDelta(relation, kept, len(delta), kept)


def play(spark: SparkSession, seed: int, steps: int) -> int:
    """Returns how often a component has followed by delta rules."""
    rng = Random(seed)
    analysis = Generator(rng).program()
    paging = Paging(
        whole=0, delta=rng.choice((0, 1, 1000)), rows=rng.choice((0, 0, 2, 1000)), columns=rng.choice((1, 1000))
    )
    follower = Follower(spark, analysis, rng, paging)
    base: dict[str, Mapping[Row, int]] = {}
    try:
        for _ in range(steps):
            update = random_changes(rng, analysis, base)
            base.update((name, added(base.get(name, {}), delta)) for name, delta in update.items())
            follower.apply(update)
        follower.check()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {paging}:\n{analysis.program}") from error
    return follower.by_rules


# To compile plans and to plan them again takes longer than to run them over a few rows.
_SETTINGS = ("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled")


@pytest.fixture(autouse=True)
def _always_worth_it(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(rule_deltas, "WORTH_FOLLOWING", float("inf"))
    for setting in _SETTINGS:
        spark.conf.set(setting, "false")
    yield
    for setting in _SETTINGS:
        spark.conf.unset(setting)


@pytest.mark.parametrize("seed", [1, 3])
def test_random_programs(spark: SparkSession, seed: int) -> None:
    assert play(spark, seed, 3)


PROGRAM = """
    .decl a(x: number nullable, y: number) bag
    .decl b(x: number nullable)
    .decl c(x: BIGINT, z: DOUBLE nullable) key(x)
    joined(x, y, z) :- a(x, y), c(y, z).
    pairs(x, y) :- a(x, z), a(z, y).
    missing(x) :- a(x, _), !b(x).
    unmatched(y) :- c(y, _), !a(_, y).
    nothing(1) :- !b(_).
    sums(x, count<*>, sum<y>, avg<z>, sum<z>, count<z>) :- a(x, y), c(y, z).
    bests(x, min<y>, max<z>, count<distinct y>, sum<distinct z>) :- a(x, y), c(y, z).
    either(x) :- b(x).
    either(y) :- a(_, y).
    total(sum<n>, max<s>) :- sums(_, n, s, _, _, _).
"""


def test_all_kinds_of_views(spark: SparkSession) -> None:
    """Bags, sets, joins of a relation with itself, negations, and aggregates, where all literals change at once."""
    follower = Follower(spark, analysis_of(PROGRAM), Random(1), Paging(whole=0, delta=0, rows=0, columns=1))
    follower.apply({"a": {(1, 2): 2, (2, 1): 1, (None, 3): 1}, "b": {(1,): 1}, "c": {(1, 0.5): 1, (2, None): 1}})
    follower.apply({"a": {(1, 2): -1, (2, 2): 1, (None, 3): -1}, "b": {(1,): -1, (None,): 1}, "c": {(3, 2.5): 1}})
    follower.apply({"a": {(1, 2): -1, (3, 3): 3, (None, 1): 1}, "b": {(None,): -1}, "c": {(1, 0.5): -1, (1, 1.5): 1}})
    follower.apply({"a": {(2, 1): -1, (2, 2): -1, (3, 3): -3, (None, 1): -1}, "c": {(2, None): -1}})
    follower.check()
    assert follower.by_rules == 4 * 9 - 1


SQL = """
    CREATE TABLE t(id INT NOT NULL, g STRING, x INT, words ARRAY<STRING>, PRIMARY KEY (id));
    CREATE VIEW ranked AS SELECT id, g, rank() OVER (PARTITION BY g ORDER BY x DESC) AS place FROM t;
    CREATE VIEW numbered AS SELECT id, row_number() OVER (ORDER BY id) AS place FROM t;
    CREATE VIEW worded AS SELECT id, word FROM t LATERAL VIEW explode(words) AS word;
    CREATE VIEW kept AS SELECT t.id, u.x FROM t LEFT JOIN t AS u ON t.x = u.id;
    CREATE VIEW others AS SELECT g FROM t WHERE x > 1 EXCEPT SELECT g FROM t WHERE x < 2
"""


def test_windows_elements_and_outer_joins(spark: SparkSession) -> None:
    """What they touch is computed; over one partition for everything they are derived again."""
    rng = Random(5)
    with SparkDatabase(spark, None, paging=Paging(whole=0, delta=0, rows=0)) as db, whence.connect() as twin:
        for each in (db, twin):
            each.execute(SQL)
        with mock.patch.object(bulk_load, "TAKEN_AS_ROWS", 0):
            rows = [(at, rng.choice("ab"), rng.choice((1, 2, None)), ["x"] * (at % 3)) for at in range(9)]
            frame = spark.createDataFrame(rows, "id INT, g STRING, x INT, words ARRAY<STRING>")
            db.insert("t", frame)
            commit = db.delete("t", frame.where("id IN (3, 5)"))
            twin.insert("t", [row for row in rows if row[0] not in (3, 5)])
        for view in ("ranked", "numbered", "worded", "kept", "others"):
            assert db.table(view) == twin.table(view), view
        assert commit.metrics["derived_anew"] == 1, "numbered"


def search(first: int, last: int) -> None:
    spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
    for setting in _SETTINGS:
        spark.conf.set(setting, "false")
    with mock.patch.object(rule_deltas, "WORTH_FOLLOWING", float("inf")):
        for seed in range(first, last):
            sys.stdout.write(f"{seed}: {play(spark, seed, 6)}\n")
    spark.stop()


if __name__ == "__main__":
    search(*map(int, sys.argv[1:]))
