"""Questions about changes to a database on Spark."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import whence
from tests.explain.hypothetical.programs import RULES, by_table, database, program
from whence.model.types import Row

ROWS = frozenset([("edge", ("a", "b")), ("edge", ("b", "c")), ("mark", ("a",)), ("mark", ("c",)), ("edge", ("c", "c"))])
OTHERS: list[frozenset[tuple[str, Row]]] = [
    frozenset([("edge", ("a", "b")), ("mark", ("b",)), ("edge", ("c", "a"))]),
    frozenset([("edge", ("b", "b"))]),
    ROWS | {("edge", ("c", "a"))},
]


@pytest.fixture(scope="module")
def db(spark: SparkSession) -> whence.Database:
    db = whence.connect(spark)
    db.rules(program())
    for name, rows in by_table(ROWS).items():
        db.insert(name, rows)
    return db


def test_questions_are_answered_as_elsewhere(db: whence.Database) -> None:
    local = database(ROWS)
    version, metrics = db.version, db._session.engine.metrics()  # noqa: SLF001 - nobody else can see them
    for after in OTHERS:
        question = {"insert": by_table(after - ROWS), "delete": by_table(ROWS - after)}
        assert db.what_if(**question).changes == local.what_if(**question).changes
    assert db.impact("edge", ("a", "b")).json() == local.impact("edge", ("a", "b")).json()
    assert db.why_not("path", ("b", "a")).json()["missing"] == local.why_not("path", ("b", "a")).json()["missing"]
    assert str(db.why_not("marked", ("c", "b"))) == str(local.why_not("marked", ("c", "b")))
    assert (db.version, db._session.engine.metrics()) == (version, metrics)  # noqa: SLF001
    for view in RULES:
        assert db.rows(view) == local.rows(view)


def test_a_commit_after_questions(db: whence.Database) -> None:
    db.what_if(insert={"edge": [("c", "a")]})
    db.insert("edge", [("c", "a")])
    assert ("c", "b") in db.rows("path")
    assert db.why("path", ("c", "b"), version=db.version).causes == {("edge", ("c", "a")): 1}
    db.delete("edge", [("c", "a")])
    assert db.what_removed("path", ("c", "b")).causes == {("edge", ("c", "a")): -1}
    with pytest.raises(whence.DataError, match="cannot be deleted"):
        db.what_if(delete={"edge": [("c", "a")]})


def test_history_in_the_words_that_it_has_elsewhere(spark: SparkSession) -> None:
    told = []
    for db in (whence.connect(), whence.connect(spark)):
        db.rules(program())
        db.insert("edge", [("a", "b"), ("c", "c")])
        with db.batch() as batch:
            batch.insert("edge", [("b", "c")])
            batch.insert("mark", [("a",)])
        db.delete("edge", [("a", "b")])
        db.insert("edge", [("c", "a")])
        # A row that came and went, one with an aggregate and one with an absence; of each there was one proof.
        histories = [
            db.why("path", ("a", "c"), version=3),
            db.what_removed("path", ("a", "c")),
            db.what_removed("path", ("a", "b")),
            db.why("reach", ("b", 1), version=3),
            db.what_removed("marked", ("b", "a")),
            db.what_removed("edge", ("a", "b")),
        ]
        assert all(each.proof is not None for each in histories)
        told.append([str(each).partition(", at ")[0] + str(each).partition(" UTC")[2] for each in histories])
    assert told[0] == told[1]
