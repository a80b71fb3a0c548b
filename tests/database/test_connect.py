"""Opening and closing, and what is not there yet."""

from __future__ import annotations

import pytest

import whence


@pytest.mark.parametrize("engine", [None, "reference"])
def test_a_database_in_memory(engine: str | None) -> None:
    with whence.connect(engine=engine) as db:
        assert (db.version, db.notices) == (0, ())


@pytest.mark.parametrize("maintenance", ["auto", "recompute"])
def test_maintenance_that_exists(maintenance: str) -> None:
    whence.connect(maintenance=maintenance).close()


def test_maintenance_that_is_not_there() -> None:
    with pytest.raises(whence.UnsupportedError, match="there is no maintenance 'magic'") as caught:
        whence.connect(maintenance="magic")
    assert '"absorption"' in str(caught.value.hint)


def test_the_reference_engine_has_no_strategies() -> None:
    with pytest.raises(whence.UnsupportedError, match="the reference engine always recomputes"):
        whence.connect(engine="reference", maintenance="dred")


def test_a_session_of_spark_connect_is_refused() -> None:
    class SparkSession:
        __module__ = "pyspark.sql.connect.session"

    with pytest.raises(whence.UnsupportedError, match="a SparkSession of Spark Connect cannot be used"):
        whence.connect(SparkSession())
    with pytest.raises(whence.UnsupportedError, match="a database on a Spark session has no local engine"):
        whence.connect(SparkSession(), engine="local")
    with pytest.raises(whence.UnsupportedError, match="there is no maintenance 'counting' on Spark"):
        whence.connect(SparkSession(), maintenance="counting")


def test_anything_else_is_refused() -> None:
    with pytest.raises(whence.UnsupportedError, match="a database cannot be made on a int"):
        whence.connect(5)


def test_a_closed_database_says_so() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(x INT)")
    batch = db.batch()
    db.close()
    db.close()
    for call in (
        lambda: db.execute("CREATE TABLE u(x INT)"),
        lambda: db.rules("a(1)."),
        lambda: db.insert("t", [(1,)]),
        lambda: db.delete("t", [(1,)]),
        db.batch,
        lambda: batch.insert("t", [(1,)]),
        lambda: db.advance("2026-01-01"),
        lambda: db.function("f", int, returns="INT"),
        lambda: db.rows("t"),
        lambda: db.table("t"),
        lambda: db.query("SELECT 1"),
        lambda: db.changes("t"),
        lambda: db.subscribe("t", print),
    ):
        with pytest.raises(whence.StateError, match="this database is closed"):
            call()


def test_the_number_of_rounds_is_a_choice() -> None:
    counting = "n(0). n(x + 1) :- n(x), x < 50."
    assert len(whence_rows(60, counting)) == 51
    with pytest.raises(whence.ConvergenceError, match="after 40 rounds"):
        whence_rows(40, counting)


@pytest.mark.parametrize("max_rounds", [0, -1, "many", None])
def test_rounds_are_a_number(max_rounds: int) -> None:
    with pytest.raises(whence.TypeMismatchError, match="max_rounds is a number of rounds"):
        whence.connect(max_rounds=max_rounds)


def whence_rows(max_rounds: int, text: str) -> set[object]:
    with whence.connect(max_rounds=max_rounds) as db:
        db.rules(text)
        return set(db.rows("n"))
