"""Rules that come with rows: new views are built over the rows after the change, and a failure changes nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random
from unittest import mock

import pytest
from pyspark.sql import SparkSession

import whence
from whence.database.database import Database
from whence.engines.spark.pages import DEFAULT_PAGING, Paging
from whence.spark.database import SparkDatabase
from whence.storage.files.store import Storage

NOTHING_IN_THE_DRIVER = Paging(whole=0, delta=0)
LITTLE_IN_THE_DRIVER = Paging(whole=0, delta=4)


@pytest.mark.parametrize(
    ("paging", "limit"), [(DEFAULT_PAGING, 100), (NOTHING_IN_THE_DRIVER, 4)], ids=["driver", "cluster"]
)
@pytest.mark.parametrize("limits", ["lim({}).", "lim(x) :- base(x). base({})."])
def test_facts_are_there_when_rules_are_first_evaluated(
    spark: SparkSession, tmp_path: Path, paging: Paging, limit: int, limits: str
) -> None:
    with SparkDatabase(spark, str(tmp_path), paging=paging) as db:
        db.rules(f"gen(1). gen(x + 1) :- gen(x), !lim(x). {limits.format(limit)}")
        assert db.rows("gen") == {(x,) for x in range(1, limit + 1)}
    with SparkDatabase(spark, str(tmp_path), paging=paging) as db:
        assert db.rows("gen") == {(x,) for x in range(1, limit + 1)}


TABLES = ".decl a(x: number, y: number)\n.decl b(x: number)\n"
# Of every kind of state that a view can have.
KEPT = (
    "plain(x) :- a(x, _). "
    "sums(x, count<*>, sum<y>, min<y>) :- a(x, y). "
    "way(x, y) :- a(x, y). way(x, y) :- way(x, z), a(z, y). "
)
NEW = (
    "n0(x, y) :- a(x, y), !b(y).",
    "n1(x, max<y>) :- way(x, y).",
    "n2(x, n) :- sums(x, n, _, _), b(x).",
    "n3(x, y) :- way(x, y), x < y. n3(x, y) :- n3(x, z), plain(z), a(z, y).",
    "n4(count<*>) :- plain(x), !b(x).",
)
FAILING = ("bad(1 / (y - y)) :- a(_, y).", "bad(y) :- way(x, y), 10 / (x - 9) > 0.")


@pytest.mark.parametrize("paging", [DEFAULT_PAGING, LITTLE_IN_THE_DRIVER])
def test_random_definitions_with_rows(spark: SparkSession, tmp_path: Path, paging: Paging) -> None:
    chance = Random(f"{paging}")
    with whence.connect() as twin:
        with SparkDatabase(spark, str(tmp_path), paging=paging) as db:
            for each in (db, twin):
                each.rules(TABLES + KEPT)
            waiting = chance.sample(NEW, len(NEW))
            while waiting:
                new = " ".join(waiting.pop() for _ in range(min(len(waiting), 3)))
                facts = {f"a({chance.randrange(8)}, {chance.randrange(8)})." for _ in range(chance.randrange(1, 9))}
                facts |= {f"b({chance.randrange(8)})." for _ in range(chance.randrange(3))}
                # One that fails in what comes last, one that cannot be written, and one that happens.
                text = f"{new} {' '.join(sorted(facts))}"
                with pytest.raises(whence.EvaluationError):
                    db.rules(f"{text} a(9, 9). {chance.choice(FAILING)}")
                assert_same(db, twin)
                with (
                    mock.patch.object(Storage, "commit", side_effect=OSError("no room")),
                    pytest.raises(OSError, match="room"),
                ):
                    db.rules(text)
                assert_same(db, twin)
                for each in (db, twin):
                    each.rules(text)
                assert_same(db, twin)
                gone = sorted(db.rows("a"))[:2]
                for each in (db, twin):
                    each.delete("a", gone)
        with SparkDatabase(spark, str(tmp_path), paging=paging) as again:
            assert_same(again, twin)
            for each in (again, twin):
                each.delete("a", each.rows("a"))
            assert_same(again, twin)


def assert_same(db: SparkDatabase, twin: Database) -> None:
    """The same rows, and the same changes since the beginning, of the same relations."""
    assert db.version == twin.version
    assert db.catalog() == twin.catalog()
    for name in twin.catalog().relations:
        assert db.table(name) == twin.table(name), name
        assert _changes(db, name) == _changes(twin, name), name


def _changes(db: Database, name: str) -> list[str]:
    return sorted(str(row) for row in db.changes(name).drop_columns("_commit_timestamp").to_pylist())
