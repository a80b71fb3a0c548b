"""What a database held is free when it goes: no commit leaves a cycle to Python's collector."""

from __future__ import annotations

import gc

import whence
from whence.engines.local.engine import LocalEngine


def use_a_database() -> None:
    with whence.connect() as db:
        db.execute("CREATE TABLE link(src INT, dst INT, PRIMARY KEY (src, dst)); CREATE TABLE plain(x INT)")
        db.execute("CREATE VIEW degree AS SELECT src, count(*) AS n FROM link GROUP BY src")
        db.rules("reachable(x, y) :- link(x, y). reachable(x, y) :- link(x, z), reachable(z, y).")
        db.insert("link", [(1, 2), (2, 3)])
        db.insert("plain", [(1,)])
        db.delete("link", [(1, 2)])
        assert db.rows("reachable") == {(2, 3)}


def engines() -> int:
    return sum(isinstance(each, LocalEngine) for each in gc.get_objects())


def test_nothing_waits_for_the_collector() -> None:
    use_a_database()
    gc.collect()
    gc.disable()
    try:
        before = engines()
        use_a_database()
        assert engines() == before
    finally:
        gc.enable()
