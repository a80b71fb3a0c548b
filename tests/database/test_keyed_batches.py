"""Many rows of a table with a key, at once and one by one: the same happens, or the same is refused."""

from __future__ import annotations

from random import Random

import pytest

import whence

Change = tuple[str, list[tuple[int, int]]]


def applied(changes: list[Change], *, one_by_one: bool) -> tuple[whence.Database, str | None]:
    """A table after a first batch of rows and then these changes, and what was wrong with them."""
    db = whence.connect()
    db.execute("CREATE TABLE t(k INT NOT NULL, v INT, PRIMARY KEY (k)); CREATE VIEW s AS SELECT sum(v) AS v FROM t")
    db.insert("t", [(k, k) for k in range(5)])
    try:
        with db.batch() as batch:
            for action, rows in changes:
                for some in [[row] for row in rows] if one_by_one else [rows]:
                    (batch.insert if action == "insert" else batch.delete)("t", some)
    except whence.DataError as error:
        # Which of its rows a message means depends on how they were handed over.
        return db, error.message.partition("]")[2]
    return db, None


@pytest.mark.parametrize("seed", range(200))
def test_at_once_or_one_by_one(seed: int) -> None:
    chance = Random(seed)
    changes = [random_change(chance) for _ in range(chance.randint(1, 4))]
    (at_once, error), (one_by_one, same_error) = (applied(changes, one_by_one=each) for each in (False, True))
    assert error == same_error
    assert at_once.rows("t") == one_by_one.rows("t")
    assert at_once.rows("s") == one_by_one.rows("s")
    assert changed(at_once) == changed(one_by_one)


def random_change(chance: Random) -> Change:
    """Mostly one that can be made as long as it is the first."""
    action = chance.choice(("insert", "delete"))
    keys = chance.sample(range(5, 20) if action == "insert" else range(5), chance.randint(1, 4))
    if chance.random() < 0.2:
        keys.append(chance.randrange(20))
    return action, [(key, key if chance.random() < 0.95 else -key) for key in keys]


def changed(db: whence.Database) -> list[tuple[object, ...]]:
    found = db.changes("t", since=3).to_pylist()
    return [(row["k"], row["v"], row["_change_type"]) for row in found]


def test_a_row_that_comes_back_has_not_changed() -> None:
    db, error = applied([("delete", [(1, 1), (2, 2)]), ("insert", [(2, 2), (1, 7)])], one_by_one=False)
    assert error is None
    assert changed(db) == [(1, 1, "update_preimage"), (1, 7, "update_postimage")]
