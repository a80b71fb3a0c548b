"""Aggregates of all values of a group: against the oracle under changes, and against Python's own statistics."""

from __future__ import annotations

import statistics
from random import Random

import pytest

import whence

VIEWS = {
    "spread": "SELECT k, stddev(x), stddev_pop(x), variance(y), var_pop(y), skewness(y), kurtosis(y) FROM t GROUP BY k",
    "lists": "SELECT k, collect_list(x), collect_set(y), listagg(s, '-'), string_agg(DISTINCT s) FROM t GROUP BY k",
    "middle": "SELECT k, median(x), percentile(y, 0.25), mode(s), mode(x), any_value(s) FROM t GROUP BY k",
    "pairs": "SELECT corr(x, y), covar_pop(x, y), covar_samp(x, y), regr_slope(y, x), regr_count(y, x) FROM t",
    "bits": "SELECT k, bit_and(x), bit_or(x), bit_xor(x), count_if(x > 2), every(x > 1), some(x > 3) FROM t GROUP BY k",
    "chosen": "SELECT k, stddev(x) FILTER (WHERE y > 1), count(DISTINCT x), count(DISTINCT y) FROM t GROUP BY k "
    "HAVING median(x) > 1",
}


def test_statistics_follow_changes() -> None:
    chance = Random(4)
    with whence.connect() as database, whence.connect(engine="reference") as oracle:
        for each in (database, oracle):
            each.execute("CREATE TABLE t(k INT, x INT, y DOUBLE, s STRING)")
            for name, query in VIEWS.items():
                each.execute(f"CREATE VIEW {name} AS {query}")
        there: list[tuple[object, ...]] = []
        for _ in range(60):
            gone = [row for row in there if chance.random() < 0.1]
            new = [
                (chance.choice((1, 2, None)), chance.choice((None, 1, 2, 3, 5)), *_more(chance))
                for _ in range(chance.randrange(4))
            ]
            for row in gone:
                there.remove(row)
            there += new
            for each in (database, oracle):
                each.delete("t", gone)
                each.insert("t", new)
            for name in VIEWS:
                assert database.table(name).sort_by("k" if name != "pairs" else "corr") == oracle.table(name).sort_by(
                    "k" if name != "pairs" else "corr"
                )


def _more(chance: Random) -> tuple[object, object]:
    return chance.choice((None, 0.5, 1.5, 1e6)), chance.choice((None, "a", "b", "ö"))


def test_deletes_leave_no_trace() -> None:
    with whence.connect() as database:
        database.execute("CREATE TABLE t(x DOUBLE); CREATE VIEW v AS SELECT var_pop(x) AS v, stddev(x) AS s FROM t")
        database.insert("t", [(1e15,), (-1e15,), (3e100,), (0.1,), (0.2,), (0.3,)])
        database.delete("t", [(1e15,), (-1e15,), (3e100,)])
        ((variance, deviation),) = database.rows("v")
        assert variance == pytest.approx(statistics.pvariance([0.1, 0.2, 0.3]), rel=1e-15)
        assert deviation == pytest.approx(statistics.stdev([0.1, 0.2, 0.3]), rel=1e-15)


def test_of_nothing() -> None:
    with whence.connect() as database:
        database.execute(
            "CREATE TABLE t(x INT); "
            "CREATE VIEW v AS SELECT collect_list(x), stddev(x), median(x), listagg(x), mode(x) FROM t"
        )
        assert database.rows("v") == {((), None, None, None, None)}


def test_the_column_goes_by_what_was_written() -> None:
    with whence.connect() as database:
        database.execute("CREATE TABLE t(x INT); CREATE VIEW v AS SELECT stddev(x), STDDEV(x + 1), every(x > 1) FROM t")
        assert database.table("v").column_names == ["stddev", "stddev_2", "every"]
