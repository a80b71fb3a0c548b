"""What statements with a condition or a query look at: a row by its key, rows by an index, or all of them once."""

# ruff: noqa: SLF001 - how rows are found shows nowhere else
from __future__ import annotations

from typing import Any

import pytest

import whence
from whence.incremental.keyed import KeyedRows
from whence.model.types import Row

ROWS = [(number, number % 10, number) for number in range(100)]


@pytest.fixture
def db() -> whence.Database:
    db = whence.connect()
    db.execute("""
        CREATE TABLE t(k INT, g INT, v INT, PRIMARY KEY (k));
        CREATE TABLE chosen(g INT, PRIMARY KEY (g));
        CREATE VIEW picked AS SELECT t.k FROM t JOIN chosen ON t.g = chosen.g
    """)
    db.insert("t", ROWS)
    db.insert("chosen", [(3,)])
    return db


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows there were in each pass over a table with a key."""
    seen: list[int] = []

    class Watched(dict[Any, Row]):
        def values(self) -> Any:
            seen.append(len(self))
            return super().values()

    def watched(rows: KeyedRows, positions: tuple[int, ...]) -> None:
        original(rows, positions)
        rows.by_key = Watched()

    original = KeyedRows.__init__
    monkeypatch.setattr(KeyedRows, "__init__", watched)
    return seen


def indexes(db: whence.Database) -> dict[str, list[tuple[int, ...]]]:
    engine: Any = db._session.engine
    return {name: sorted(store.indexes) for name, store in engine._stores.items()}


@pytest.mark.parametrize(
    ("condition", "gone", "looks"),
    [
        ("k = 7", [7], []),
        ("k = 7 AND v > 7", [], []),
        ("7 = k AND g = 7", [7], []),
        ("g = 3 AND v < 30", [3, 13, 23], []),
        ("v = 50", [50], [100]),
        ("k = 1 OR k = 2", [1, 2], [100]),
        ("k IN (SELECT g FROM chosen)", [3], [1]),
    ],
)
def test_rows_are_found(
    passes: list[int], db: whence.Database, condition: str, gone: list[int], looks: list[int]
) -> None:
    before = indexes(db)
    passes.clear()
    db.execute(f"DELETE FROM t WHERE {condition}")
    found = [*passes]
    assert indexes(db) == before
    assert sorted(set(ROWS) - db.rows("t")) == [ROWS[number] for number in gone]
    assert found == looks


@pytest.mark.parametrize(
    ("condition", "changed", "looks"),
    [("k = 7", [7], []), ("g = 3 AND v < 30", [3, 13, 23], []), ("v = 50", [50], [100])],
)
def test_rows_to_update_are_found(
    passes: list[int], db: whence.Database, condition: str, changed: list[int], looks: list[int]
) -> None:
    before = indexes(db)
    passes.clear()
    db.execute(f"UPDATE t SET k = k + 1000, v = v - 1 WHERE {condition}")
    found = [*passes]
    assert indexes(db) == before
    assert db.rows("t") - set(ROWS) == {(k + 1000, k % 10, k - 1) for k in changed}
    assert found == looks


def test_a_statement_that_fails_leaves_no_trace(db: whence.Database) -> None:
    before = indexes(db), db.rows("t"), db.version
    for text in (
        "DELETE FROM t WHERE v + 2147483600 > 5",
        "INSERT INTO t SELECT k, g + 1, v FROM t WHERE v = 5",
        "UPDATE t SET v = v + 2147483600",
        "UPDATE t SET k = 5 WHERE g = 5",
    ):
        with pytest.raises(whence.WhenceError):
            db.execute(text)
        assert (indexes(db), db.rows("t"), db.version) == before
