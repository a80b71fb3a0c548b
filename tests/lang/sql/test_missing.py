"""Functions that Spark has and whence does not."""

from __future__ import annotations

import pytest

import whence
from whence.functions.builtin import BUILTINS
from whence.lang.sql.functions import AGGREGATE_SYNONYMS, INSTEAD, SYNONYMS, missing

TABLE = "CREATE TABLE r(x INT, y INT, z INT, s STRING, t STRING, d DATE, at TIMESTAMP)"


def refusal(select: str) -> whence.WhenceError:
    db = whence.connect()
    db.execute(TABLE)
    with pytest.raises(whence.WhenceError) as caught:
        db.execute(f"CREATE VIEW v AS SELECT {select} AS c FROM r")
    error = caught.value
    assert error.span is not None
    assert (error.span.line, error.span.column) == (1, len("CREATE VIEW v AS SELECT ") + 1)
    return error


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (
            "row_number()",
            "row_number is a window function, and needs an OVER",
            "write row_number(...) OVER (PARTITION BY ... ORDER BY ...)",
        ),
        (
            "LAG(x)",
            "LAG is a window function, and needs an OVER",
            "write LAG(...) OVER (PARTITION BY ... ORDER BY ...)",
        ),
        (
            "first(x)",
            "the aggregate first(...) is not supported",
            "rows have no order; take any_value(x), min(x) or max(x)",
        ),
        (
            "now()",
            "now() gives another value each time, so a view of it cannot be kept up to date",
            "put the value into a table",
        ),
        ("iff(x > 0, y, z)", "iff(...) is not supported", "write if(x > 0, y, z)"),
    ],
)
def test_what_is_not_there_and_what_to_do(call: str, message: str, hint: str) -> None:
    error = refusal(call)
    assert isinstance(error, whence.UnsupportedError)
    assert (error.message, error.hint) == (message, hint)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("uper(s)", "did you mean 'upper'?"),
        ("lenght(s)", "did you mean 'length'?"),
        ("cuont(x)", "did you mean 'count'?"),
        ("sum_all(x)", "register a Python function with db.function(...)"),
        ("vat(x)", "register a Python function with db.function(...)"),
    ],
)
def test_only_a_name_that_is_near_is_suggested(call: str, hint: str) -> None:
    error = refusal(call)
    assert isinstance(error, whence.UnknownNameError)
    assert error.hint == hint


@pytest.mark.parametrize("instead", INSTEAD.values(), ids=INSTEAD.keys())
def test_what_is_advised_works(instead: str) -> None:
    db = whence.connect()
    db.execute(f"{TABLE}; CREATE VIEW v AS SELECT {instead} AS c FROM r")
    db.insert("r", [(2, 3, 4, "a", "b", "2026-01-01", None)])
    assert len(db.rows("v")) == 1


def test_nothing_that_is_there_is_called_missing() -> None:
    for name in (*BUILTINS, *SYNONYMS, *AGGREGATE_SYNONYMS):
        assert missing(name, None) is None, name


def test_a_python_function_takes_the_place() -> None:
    db = whence.connect()
    db.execute(TABLE)
    db.function("arrays_zip", lambda s: s.title(), returns="STRING")
    db.execute("CREATE VIEW v AS SELECT arrays_zip(s) AS c FROM r; INSERT INTO r (s) VALUES ('one two')")
    assert db.rows("v") == {("One Two",)}
