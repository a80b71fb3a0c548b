"""Python functions in SQL and rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import whence
from whence.model.types import BIGINT


@pytest.fixture
def db() -> Iterator[whence.Database]:
    with whence.connect() as opened:
        opened.execute("CREATE TABLE t(x INT)")
        opened.insert("t", [(1,), (None,)])
        yield opened


def double(x: int | None) -> int:
    return -1 if x is None else 2 * x


def test_in_sql_and_rules_whatever_the_case(db: whence.Database) -> None:
    db.function("Double_It", double, returns="bigint")
    db.execute("CREATE VIEW v AS SELECT DOUBLE_IT(x) AS y FROM t")
    db.rules("w(@double_it(x)) :- t(x).")
    assert db.rows("v") == db.rows("w") == {(2,), (-1,)}
    assert str(db.table("v").schema.field("y").type) == "int64"


def test_types_are_those_of_spark(db: whence.Database) -> None:
    for returns in ("STRING", "array<int>", "DECIMAL(10, 2)", "timestamp", BIGINT):
        db.function("f", double, returns=returns)


@pytest.mark.parametrize("returns", ["FROB", "ARRAY<", "", "STRING STRING", 5])
def test_what_is_no_type(db: whence.Database, returns: str) -> None:
    with pytest.raises((whence.TypeMismatchError, whence.UnsupportedError)):
        db.function("f", double, returns=returns)


@pytest.mark.parametrize("name", ["upper", "UPPER", "sum"])
def test_builtin_names_are_taken(db: whence.Database, name: str) -> None:
    with pytest.raises(whence.DuplicateNameError, match=f"'{name}' is a built-in function"):
        db.function(name, double, returns="INT")


@pytest.mark.parametrize("name", ["", "two words", 5])
def test_a_name_is_a_word(db: whence.Database, name: str) -> None:
    with pytest.raises(whence.TypeMismatchError, match="the name of a function is a word"):
        db.function(name, double, returns="INT")


def test_what_cannot_be_called(db: whence.Database) -> None:
    with pytest.raises(whence.TypeMismatchError, match="'f' needs something that can be called, not a int"):
        db.function("f", 5, returns="INT")  # type: ignore[arg-type]


def test_another_function_under_the_same_name(db: whence.Database) -> None:
    db.function("f", double, returns="INT")
    db.function("f", lambda x: "text", returns="STRING")
    db.execute("CREATE VIEW v AS SELECT f(x) AS y FROM t")
    with pytest.raises(whence.StateError, match="function 'f' is in use by 'v'"):
        db.function("f", double, returns="INT")
    db.execute("DROP VIEW v")
    db.function("F", double, returns="INT")


def test_a_function_that_raises_refuses_the_commit(db: whence.Database) -> None:
    def fails(x: int | None) -> int:
        return 1 // (x or 0)

    db.execute("DELETE FROM t WHERE x IS NULL")
    db.function("fails", fails, returns="INT")
    db.execute("CREATE VIEW v AS SELECT fails(x) AS y FROM t")
    with pytest.raises(whence.EvaluationError, match="ZeroDivisionError"):
        db.insert("t", [(0,)])
    assert db.rows("t") == {(1,)}


def test_a_function_must_not_change_the_database(db: whence.Database) -> None:
    def inserts(x: int | None) -> int:
        return db.insert("t", [(5,)]).version

    db.function("inserts", inserts, returns="INT")
    with pytest.raises(whence.EvaluationError, match="the database is in the middle of a change"):
        db.execute("CREATE VIEW v AS SELECT inserts(x) AS y FROM t")
    assert db.rows("t") == {(1,), (None,)}


def test_a_query_says_that_it_cannot(db: whence.Database) -> None:
    db.function("f", double, returns="INT")
    with pytest.raises(whence.UnsupportedError, match="query cannot call the registered function 'f'") as caught:
        db.query("SELECT f(x) FROM t")
    assert "hint: call it in a view, and query the view" in str(caught.value)
