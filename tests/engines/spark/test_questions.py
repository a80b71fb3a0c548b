"""Questions to a database whose rows are all on the cluster: the number of jobs follows how deep a question goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from unittest import mock

import pytest

import whence
from whence.engines.spark.pages import Paging
from whence.explain.hypothetical import missing
from whence.spark import journal
from whence.spark.database import SparkDatabase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = """
.decl link(src: symbol, dst: symbol)
.decl closed(place: symbol)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
open(x, y) :- reachable(x, y), !closed(y).
two(x, y) :- link(x, z), link(z, y).
"""


def links(width: int) -> list[tuple[str, str]]:
    """A start, so many ways on from it, and from each of them one step more."""
    beginning = [("start", "middle"), ("far", "away")]
    return [*beginning, *(("middle", f"a{at}") for at in range(width)), *((f"a{at}", f"b{at}") for at in range(width))]


def on_cluster(spark: SparkSession, width: int) -> SparkDatabase:
    """Nothing stays in the driver, and no segment is decoded so that rows could be looked up in it."""
    db = SparkDatabase(spark, None, paging=Paging(whole=0, mapped=0))
    db.rules(RULES)
    with db.batch() as batch:
        batch.insert("link", links(width))
        batch.insert("closed", [("b1",)])
    return db


def test_moments_are_looked_up_whatever_the_time_of_the_driver(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    rules = ".decl seen(at: timestamp, what: symbol) .decl at(at: timestamp) found(x) :- at(t), seen(t, x)."
    try:
        with (
            mock.patch.object(journal, "SMALL_OVERLAY", 0),
            SparkDatabase(spark, None, paging=Paging(whole=0, mapped=0)) as db,
        ):
            db.rules(rules)
            db.insert("seen", [(f"2026-01-01 1{hour}:00:00", what) for hour, what in enumerate("abc")])
            db.insert("at", [("2026-01-01 10:00:00",)])
            assert db.rows("found") == {("a",)}
            db.insert("at", [("2026-01-01 11:00:00",), ("2026-01-01 12:00:00",)])
            assert db.rows("found") == {("a",), ("b",), ("c",)}
            assert [row[1] for row in db.page("seen", {"at": "2026-01-01 11:00:00"})] == ["b"]
    finally:
        monkeypatch.undo()
        time.tzset()


def lacking(db: whence.Database, view: str, row: tuple[str, str]) -> object:
    """What a row lacks. Of sets that are as good, which one is told depends on the order of rows."""
    answer = db.why_not(view, row)
    size = None if answer.missing is None else len(answer.missing)
    if answer.missing is not None:
        come = {name: [row] for name, row in answer.missing}
        assert db.what_if(insert=come).changes[view][row] == 1
    return size, answer.complete, [[lack.kind for lack in attempt.lacks] for attempt in answer.attempts]


QUESTIONS: dict[str, Callable[[whence.Database], object]] = {
    "why not": lambda db: lacking(db, "reachable", ("start", "far")),
    "why not from the middle": lambda db: lacking(db, "reachable", ("middle", "far")),
    "why not above": lambda db: lacking(db, "open", ("start", "away")),
    "why not blocked": lambda db: lacking(db, "open", ("start", "b1")),
    "why not joined": lambda db: lacking(db, "two", ("start", "far")),
    "why, of some rows": lambda db: (proof := db.why("open", ("middle", None))).complete and len(proof.roots),
    "impact": lambda db: str(db.impact("link", ("start", "middle"))),
}


def test_jobs_follow_the_depth_and_not_the_rows(spark: SparkSession) -> None:
    jobs: dict[str, list[int]] = {}
    for width in (4, 60):
        local = whence.connect()
        local.rules(RULES)
        local.insert("link", links(width))
        local.insert("closed", [("b1",)])
        with (
            mock.patch.object(journal, "SMALL_OVERLAY", 0),
            # How many others are looked for would depend on how fast this machine is.
            mock.patch.object(missing, "_SECONDS_FOR_OTHERS", 0.0),
            on_cluster(spark, width) as db,
        ):
            for name, ask in QUESTIONS.items():
                before = jobs_so_far(spark)
                told = ask(db)
                jobs.setdefault(name, []).append(jobs_so_far(spark) - before)
                assert told == ask(local), name
    for name, (few, many) in jobs.items():
        assert many <= few + 2, f"{name}: {few} jobs, and {many} with more rows"


def test_values_of_a_table_that_is_too_large_are_not_guessed(spark: SparkSession) -> None:
    with mock.patch.object(journal, "SMALL_OVERLAY", 0), on_cluster(spark, 3) as db:
        told = db.why_not("two", ("start", "far"))
        assert told.missing == frozenset([("link", ("middle", "far"))])
        # It would take two rows, and a place in between that the driver cannot choose.
        told = db.why_not("two", ("nowhere", "far"))
        assert (told.missing, told.searched, told.complete) == (None, 0, False)


def jobs_so_far(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())  # noqa: SLF001 - PySpark does not tell
