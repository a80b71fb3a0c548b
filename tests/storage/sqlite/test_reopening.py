"""A database that is opened again is the one that was closed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from tests.database.test_sequences import RELATIONS, SCHEMA, Advance, Change, commit, keeps_keys, steps

LINKS = """
    CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT, PRIMARY KEY (src, dst));
    CREATE VIEW cost AS SELECT src, sum(cost) AS total FROM link GROUP BY src;
"""
REACHABLE = "reachable(x, y) :- link(x, y, _). reachable(x, y) :- link(x, z, _), reachable(z, y)."


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "state"


def check_same(ours: whence.Database, theirs: whence.Database, relations: Iterable[str]) -> None:
    assert ours.version == theirs.version
    assert ours.notices == theirs.notices
    assert ours.catalog() == theirs.catalog()
    for name in relations:
        assert ours.table(name) == theirs.table(name), name
        without = ["_commit_timestamp"]
        assert ours.changes(name).drop(without) == theirs.changes(name).drop(without), name


def check_against_reference(db: whence.Database, tables: Iterable[str]) -> None:
    """The views follow from the tables that are there."""
    with whence.connect(engine="reference") as reference:
        reference.execute(SCHEMA)
        with reference.batch() as batch:
            for name in tables:
                batch.insert(name, db.table(name))
        for name in set(RELATIONS) - set(tables):
            assert reference.table(name) == db.table(name), name


@settings(max_examples=25)
@given(steps, st.lists(st.booleans(), min_size=1, max_size=7))
def test_after_any_sequence_of_commits(steps: list[Change | Advance], reopened: list[bool]) -> None:
    with tempfile.TemporaryDirectory() as directory, whence.connect() as twin:
        db = whence.connect(directory)
        minute = 0
        for each in (twin, db):
            each.execute(SCHEMA)
            each.advance("2026-01-01")
        for number, step in enumerate(keeps_keys(steps)):
            minute += step.minutes if isinstance(step, Advance) else 0
            for each in (twin, db):
                if isinstance(step, Advance):
                    each.advance(f"2026-01-01 00:{minute:02d}:00")
                else:
                    commit(each, [step])
            if reopened[number % len(reopened)]:
                db.close()
                db = whence.connect(Path(directory))
        check_same(db, twin, RELATIONS)
        check_against_reference(db, ("link", "sighting", "beat", "owner", "last"))
        db.close()


def test_keys_and_lifetimes_go_on(state: Path) -> None:
    with whence.connect(state) as db:
        db.execute(LINKS + "CREATE TABLE beat(node INT) TBLPROPERTIES ('ttl' = '2 minutes')")
        db.insert("link", [("a", "b", 1)])
        db.advance("2026-01-01 00:00:00")
        db.insert("beat", [(1,), (1,)])
        db.advance("2026-01-01 00:01:00")
        db.insert("beat", [(1,)])
    with whence.connect(state) as db:
        with pytest.raises(whence.DataError, match="the key of another row"):
            db.insert("link", [("a", "b", 2)])
        with pytest.raises(whence.StateError, match="time does not go backwards"):
            db.advance("2025-01-01")
        assert db.advance("2026-01-01 00:02:00").deleted == {"beat": 2}
        assert db.advance("2026-01-01 00:03:00").deleted == {"beat": 1}


def test_definitions_that_changed(state: Path) -> None:
    with whence.connect(state) as db, whence.connect() as twin:
        for each in (db, twin):
            each.execute(LINKS)
            each.rules(REACHABLE)
            each.insert("link", [("a", "b", 1), ("b", "c", 2)])
            each.execute("CREATE VIEW gone AS SELECT src FROM link")
            each.execute(
                "CREATE OR REPLACE VIEW cost AS SELECT src, sum(cost) AS total FROM link WHERE cost > 1 GROUP BY src"
            )
            each.execute("DROP VIEW gone; CREATE TABLE other(x INT); INSERT INTO other VALUES (1), (1)")
            each.execute("DROP TABLE other; CREATE TABLE other(y STRING); INSERT INTO other VALUES ('one')")
        db.close()
        with whence.connect(state) as again:
            check_same(again, twin, ("link", "cost", "reachable", "other"))
            for each in (again, twin):
                each.execute("CREATE VIEW gone AS SELECT y FROM reachable")
                each.delete("link", [("a", "b", 1)])
            check_same(again, twin, ("link", "cost", "reachable", "other", "gone"))


def test_what_a_view_keeps_beside_its_relation(state: Path) -> None:
    """Subqueries, bags, differential rules and names that need quotes."""
    with whence.connect(state) as db, whence.connect() as twin:
        for each in (db, twin):
            each.execute("""
                CREATE TABLE `two words`(`a b` INT, `select` ARRAY<DECIMAL(9, 2)>);
                INSERT INTO `two words` VALUES (1, array(1.50, NULL)), (1, array(1.50, NULL)), (NULL, NULL);
                CREATE VIEW v AS SELECT `a b` AS x FROM `two words`
                    WHERE `a b` IN (SELECT max(`a b`) FROM `two words`) OR `a b` IS NULL;
            """)
            each.rules("left(x) :- v(x). -left(x) :- v(x), x = 1.")
        db.close()
        with whence.connect(state) as again:
            check_same(again, twin, ("two words", "v", "left"))


def test_errors_still_point_at_the_text_of_the_user(state: Path) -> None:
    with whence.connect(state) as db:
        db.execute(LINKS)
        db.rules(REACHABLE, name="network.dl")
    with whence.connect(state) as db, pytest.raises(whence.DuplicateNameError) as caught:
        db.rules("reachable(x, x) :- link(x, _, _).")
    assert f"--> network.dl:1:1\n  |\n1 | {REACHABLE}" in str(caught.value)


def test_proofs_still_speak_the_language_of_the_user(state: Path) -> None:
    with whence.connect(state) as db:
        db.rules("a(x) :- b(x), x > 1 .  .decl b(x: number)  b(2).", name="own.dl")
        before = str(db.why("a", (2,)))
    with whence.connect(state) as db:
        assert str(db.why("a", (2,))) == before
        assert "a(x) :- b(x), x > 1" in before


def test_notices_are_kept(state: Path) -> None:
    noticed = "CREATE VIEW v AS SELECT src FROM link ORDER BY src"
    with whence.connect(state) as db:
        db.execute(LINKS + noticed)
        notices = db.notices
    assert notices
    with whence.connect(state) as db:
        assert db.notices == notices
        db.execute(noticed.replace("VIEW v", "VIEW w"))
    with whence.connect(state) as db:
        assert set(notices) <= set(db.notices) and len(set(db.notices)) == len(db.notices)


def test_changes_are_kept_for_some_versions(state: Path) -> None:
    with whence.connect(state, keep_versions=3) as db:
        db.execute("CREATE TABLE t(x INT); CREATE VIEW v AS SELECT x + 1 AS y FROM t")
        for x in range(5):
            db.insert("t", [(x,)])
        assert db.version == 7
    with whence.connect(state, keep_versions=3) as db:
        assert db.changes("v", since=4).column("y").to_pylist() == [3, 4, 5]
        with pytest.raises(whence.StateError, match="'v' are there from version 5 on") as caught:
            db.changes("v", since=3)
        assert "keep_versions" in str(caught.value.hint)
        db.execute("CREATE VIEW new AS SELECT x FROM t")
        assert len(db.changes("new")) == 5
    with whence.connect(state) as db:
        db.insert("t", [(9,)])
        assert db.changes("v", since=5).column("y").to_pylist() == [4, 5, 10]


def test_relations_without_columns(state: Path) -> None:
    with whence.connect(state) as db:
        db.rules(".decl on()\n.decl t(x: INT)\nseen(x) :- t(x), on().")
        db.insert("t", [(1,)])
        db.insert("on", [()])
    with whence.connect(state) as db:
        assert db.rows("seen") == {(1,)}
        assert db.changes("on").column("_change_type").to_pylist() == ["insert"]
        db.delete("on", [()])
    with whence.connect(state) as db:
        assert db.rows("on") == db.rows("seen") == set()


def test_subscribers_hear_of_commits(state: Path) -> None:
    heard: list[int] = []
    with whence.connect(state) as db:
        db.execute("CREATE TABLE t(x INT)")
        db.subscribe("t", lambda changes: heard.extend(changes.column("x").to_pylist()))
        db.insert("t", [(1,), (2,)])
    assert heard == [1, 2]


def test_the_reference_engine_keeps_its_state_too(state: Path) -> None:
    with whence.connect(state, engine="reference") as db:
        db.execute(LINKS)
        db.insert("link", [("a", "b", 1)])
    with whence.connect(state) as db:
        assert db.rows("cost") == {("a", 1)}


def test_a_relative_path_is_what_it_was(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state.mkdir(parents=True)
    monkeypatch.chdir(state)
    with whence.connect("here") as db:
        db.execute(LINKS)
        monkeypatch.chdir("/")
        db.insert("link", [("a", "b", 1)])
    with whence.connect(state / "here") as db:
        assert db.rows("link") == {("a", "b", 1)}


def test_a_row_that_comes_again_to_a_window(tmp_path: Path) -> None:
    """Nothing changes but its place."""
    with whence.connect(tmp_path) as db:
        db.execute("CREATE TABLE last(x INT PRIMARY KEY, s STRING) TBLPROPERTIES ('window_rows' = '2')")
        db.insert("last", [(1, "a"), (2, "b")])
        assert db.insert("last", [(1, "a")]).inserted == {}
    with whence.connect(tmp_path) as db:
        db.insert("last", [(3, "c")])
        assert db.rows("last") == {(1, "a"), (3, "c")}
