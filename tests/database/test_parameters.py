"""Parameters of SQL: values for ? and :name, which never become text that is read again."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

import whence

DAY, MOMENT = datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12, 30, 0, 250_000)
AWARE = datetime.datetime(2026, 1, 31, 14, 30, 0, 250_000, datetime.timezone(datetime.timedelta(hours=2)))
COLUMNS = "i INT, n BIGINT, x DOUBLE, d DECIMAL(20,3), s STRING, b BOOLEAN, day DATE, at TIMESTAMP"
VALUES = [-7, 10_000_000_000, -0.1, Decimal("-12.500"), "'; DROP TABLE t; -- ? :i \\ é", True, DAY, MOMENT]
NAMES = ["i", "n", "x", "d", "s", "b", "day", "at"]


@pytest.fixture
def db() -> whence.Database:
    db = whence.connect()
    db.execute(f"CREATE TABLE t({COLUMNS})")
    return db


def test_every_type_in_execute(db: whence.Database) -> None:
    db.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", VALUES)
    named = dict(zip(NAMES, VALUES, strict=True))
    db.execute(f"INSERT INTO t SELECT {', '.join(':' + name for name in NAMES)}", named)
    assert db.table("t").to_pylist() == [dict(zip(NAMES, VALUES, strict=True))] * 2
    for name, value in zip(NAMES, VALUES, strict=True):
        commit = db.execute(f"UPDATE t SET i = i + ? WHERE {name} = ?", [1, value])
        assert commit is not None
        assert commit.inserted == {"t": 2}
        db.execute("UPDATE t SET i = :i WHERE i = :i + 1", {"i": -7})
    db.execute("DELETE FROM t WHERE s = ?", [VALUES[4]])
    assert db.rows("t") == set()


@pytest.mark.parametrize(("name", "value"), list(zip(NAMES, VALUES, strict=True)), ids=str)
def test_every_type_in_query(db: whence.Database, name: str, value: object) -> None:
    db.insert("t", [tuple(VALUES)])
    db.insert("t", [(None,) * 8])
    assert db.query(f"SELECT i FROM t WHERE {name} = ?", [value]).to_pylist() == [{"i": -7}]
    answer = db.query(f"SELECT :v AS v FROM t WHERE {name} = :v", {"v": value}).to_pylist()
    assert [type(row["v"]) for row in answer] == [type(value)]
    assert answer == [{"v": value}]


def test_null_and_zones(db: whence.Database) -> None:
    db.execute("INSERT INTO t(i, at) VALUES (?, ?), (?, NULL)", [None, AWARE, 2])
    assert db.query("SELECT at FROM t WHERE at = ?", [AWARE]).to_pylist() == [{"at": MOMENT}]
    assert db.query("SELECT i FROM t WHERE at <=> ?", [None]).to_pylist() == [{"i": 2}]


def test_the_order_of_the_text_counts(db: whence.Database) -> None:
    """Also where the parser puts a later part first, and over several statements."""
    db.execute("INSERT INTO t(i, s) VALUES (?, ?), (?, ?); INSERT INTO t(i, s) VALUES (?, ?)", [1, "a", 2, "b", 3, "c"])
    answer = db.query(
        "WITH q AS (SELECT i + ? AS i FROM t WHERE s > ?) SELECT i - ? AS i FROM q WHERE i > ?", [10, "a", 1, 12]
    )
    assert answer.to_pylist() == [{"i": 12}]
    db.execute("UPDATE t SET i = ?, s = ? WHERE s IN (?, ?) AND i BETWEEN ? AND ?", [9, "z", "a", "c", 2, 3])
    assert db.rows("t") == {
        (*row, *[None] * 2, s, *[None] * 3) for *row, s in [(1, None, "a"), (2, None, "b"), (9, None, "z")]
    }


def test_a_negative_number_after_a_minus(db: whence.Database) -> None:
    assert db.query("SELECT 1 - ? AS a, -? AS b, 2 * ? AS c", [-1, -2, -3]).to_pylist() == [{"a": 2, "b": 2, "c": -6}]


WRONG: list[tuple[str, Any, str]] = [
    ("i = ?", None, "the parameter ? has no value"),
    ("i = ?", [], "this is parameter number 1, and there are 0 values"),
    ("i = ?", [1, 2], "there are 2 values, and the text has 1 ?"),
    ("i = 1", [1], "there is 1 value, and the text has no ?"),
    ("i = :a", [1], "the parameter :a has no value"),
    ("i = ?", {"a": 1}, "the parameter ? has no value"),
    ("i = :limt", {"limit": 1}, "the parameter :limt has no value"),
    ("i = :A", {"a": 1}, "the parameter :A has no value"),
    ("i = :a", {"a": 1, "b": 2}, "the text has no parameter :b"),
    ("i = ?", "1", "parameters are a list or a dict, not '1'"),
    ("i = ?", 1, "parameters are a list or a dict, not 1"),
    ("i = ?", [object()], "the parameter ? is a object, which is no value of SQL here"),
    ("i IN (?)", [[1, 2]], "the parameter ? is a list, which is no value of SQL here"),
    ("x = ?", [float("nan")], "the parameter ? is nan, and a DOUBLE is a finite number"),
    ("n = :n", {"n": 2**63}, "the parameter :n is 9223372036854775808, which is too large for a BIGINT"),
    ("d = ?", [Decimal("1e39")], "the parameter ? has more than the 38 digits of a DECIMAL"),
    ("s = ?", ["\ud800"], "the parameter ? is '\\ud800', which does not fit"),
]


@pytest.mark.parametrize(("condition", "params", "message"), WRONG)
def test_refusals(db: whence.Database, condition: str, params: Any, message: str) -> None:
    version = db.version
    for call in (
        lambda: db.execute(f"DELETE FROM t WHERE {condition}", params),
        lambda: db.query(f"SELECT 1 FROM t WHERE {condition}", params),
    ):
        with pytest.raises(whence.WhenceError) as caught:
            call()
        assert message in caught.value.message
    assert db.version == version


def test_no_parameters_in_definitions(db: whence.Database) -> None:
    with pytest.raises(whence.UnsupportedError, match="a definition takes no parameters"):
        db.execute("CREATE VIEW v AS SELECT i FROM t WHERE i > ?", [1])


def test_types_are_those_of_the_values(db: whence.Database) -> None:
    with pytest.raises(whence.TypeMismatchError, match="column 'i' is INT, and this value is DOUBLE"):
        db.execute("UPDATE t SET i = ?", [1.0])
    with pytest.raises(whence.TypeMismatchError):
        db.execute("DELETE FROM t WHERE i = ?", [datetime.date(2026, 1, 1)])
    # A text is taken for a number where it is compared with one, as the same text would be in the statement.
    db.execute("DELETE FROM t WHERE i = ?", ["-1"])
