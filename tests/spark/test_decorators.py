"""Views as functions."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

import whence
from whence.errors import DuplicateNameError, ParseError, StateError, TypeMismatchError, UnsupportedError
from whence.spark.database import SparkDatabase

TABLE = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL)"


@whence.materialized_view
def ends() -> str:
    return "SELECT x FROM reach WHERE NOT EXISTS (SELECT * FROM link WHERE src = y)"


@whence.materialized_view(name="reach", comment="who gets where")
def closure() -> str:
    return """
        WITH RECURSIVE r(x, y) AS (
            SELECT src, dst FROM link UNION SELECT src, y FROM link JOIN r ON dst = x
        )
        SELECT x, y FROM r
    """


def test_in_any_order() -> None:
    with whence.connect() as db:
        db.execute(TABLE)
        db.insert("link", [(1, 2), (2, 3)])
        pipeline = whence.Pipeline(ends, closure)
        pipeline.define(db)
        assert db.rows("reach") == {(1, 2), (2, 3), (1, 3)} and db.rows("ends") == {(1,), (2,)}
        # Once more changes nothing.
        pipeline.define(db)
        assert db.rows("ends") == {(1,), (2,)} and closure.comment == "who gets where" and ends() == ends.query()


def test_on_spark(spark: SparkSession) -> None:
    """What `spark.sql` returns knows its text, as long as nothing is done to it."""

    @whence.materialized_view
    def out() -> DataFrame:
        return spark.sql("SELECT src, count(*) AS n FROM link GROUP BY src")

    @whence.materialized_view
    def busiest() -> DataFrame:
        return spark.sql("SELECT max(n) AS n FROM out")

    @whence.materialized_view
    def touched() -> DataFrame:
        return spark.table("link").where("src > 1")

    with SparkDatabase(spark, None) as db:
        db.execute(TABLE)
        db.insert("link", [(1, 2), (1, 3)])
        db.define(busiest, out)
        assert db.rows("out") == {(1, 2)} and db.rows("busiest") == {(2,)}
        with pytest.raises(UnsupportedError) as caught:
            db.define(touched)
        assert str(caught.value) == (
            "the DataFrame of view 'touched' does not come from spark.sql alone\nhint: return the SQL text"
        )


def test_what_cannot_be_defined() -> None:
    @whence.materialized_view
    def one() -> str:
        return "SELECT * FROM two"

    @whence.materialized_view
    def two() -> str:
        return "SELECT * FROM one"

    @whence.materialized_view
    def wrong() -> str:
        return "SELECT src FROM link WHERE"

    @whence.materialized_view
    def number() -> str:
        return 7  # type: ignore[return-value]

    with whence.connect() as db:
        db.execute(TABLE)
        with pytest.raises(StateError) as caught:
            whence.Pipeline(one, two).define(db)
        assert str(caught.value) == (
            "views read each other in a circle: 'one', 'two'\n"
            "hint: a view that reads itself is written with WITH RECURSIVE"
        )
        with pytest.raises(ParseError, match="--> wrong:1:"):
            whence.Pipeline(wrong).define(db)
        with pytest.raises(TypeMismatchError, match="view 'number' is defined by a text, not by a int"):
            whence.Pipeline(number).define(db)
        with pytest.raises(DuplicateNameError, match="two functions define the view 'ONE'"):
            whence.Pipeline(one, whence.materialized_view(name="ONE")(two.query))
        with pytest.raises(TypeMismatchError, match=r"a pipeline consists of views, not of a function"):
            whence.Pipeline(two.query)  # type: ignore[arg-type]
        with pytest.raises(TypeMismatchError, match="materialized_view is for functions, not for a str"):
            whence.materialized_view("SELECT 1")  # type: ignore[call-overload]
