"""Of a table with a row window only the newest rows live, and views follow."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence

SENSORS = """
    CREATE TABLE reading(sensor STRING, value INT) TBLPROPERTIES ('window_rows' = '2', 'window_partition' = 'sensor');
    CREATE VIEW average AS SELECT sensor, avg(value) AS mean FROM reading GROUP BY sensor;
"""


@pytest.fixture
def db() -> whence.Database:
    db = whence.connect()
    db.execute(SENSORS)
    return db


class TestByArrival:
    def test_the_oldest_of_a_partition_makes_room(self, db: whence.Database) -> None:
        db.insert("reading", [("a", 1), ("b", 1), ("a", 2)])
        commit = db.insert("reading", [("a", 3)])
        assert db.rows("reading") == {("a", 2), ("a", 3), ("b", 1)}
        assert db.rows("average") == {("a", 2.5), ("b", 1.0)}
        assert (commit.inserted, commit.deleted) == ({"reading": 1, "average": 1}, {"reading": 1, "average": 1})
        assert commit.metrics["evicted"] == 1

    def test_what_comes_and_goes_in_one_commit_is_never_seen(self, db: whence.Database) -> None:
        commit = db.insert("reading", [("a", value) for value in range(5)])
        assert (commit.inserted, commit.deleted) == ({"reading": 2, "average": 1}, {})
        assert commit.metrics["evicted"] == 3
        assert db.rows("reading") == {("a", 3), ("a", 4)}

    def test_a_delete_frees_a_place_and_brings_nothing_back(self, db: whence.Database) -> None:
        db.insert("reading", [("a", 1), ("a", 2), ("a", 3)])
        db.delete("reading", [("a", 3)])
        assert db.rows("reading") == {("a", 2)}
        assert db.insert("reading", [("a", 4)]).metrics["evicted"] == 0
        assert db.insert("reading", [("a", 5)]).metrics["evicted"] == 1
        assert db.rows("reading") == {("a", 4), ("a", 5)}

    def test_what_was_evicted_cannot_be_deleted(self, db: whence.Database) -> None:
        def both() -> None:
            with db.batch() as batch:
                batch.insert("reading", [("a", 1), ("a", 2), ("a", 3)])
                batch.delete("reading", [("a", 1)])

        with pytest.raises(whence.DataError, match="is not in 'reading'"):
            both()
        assert db.rows("reading") == set()

    def test_a_commit_that_fails_leaves_the_window_as_it_was(self, db: whence.Database) -> None:
        db.insert("reading", [("a", 1), ("a", 2)])

        def fails() -> None:
            with db.batch() as batch:
                batch.insert("reading", [("a", 3)])
                batch.delete("reading", [("a", 9)])

        with pytest.raises(whence.DataError):
            fails()
        db.insert("reading", [("a", 4)])
        assert db.rows("reading") == {("a", 2), ("a", 4)}

    def test_copies_count(self, db: whence.Database) -> None:
        db.insert("reading", [("a", 1)] * 3)
        assert db.table("reading").num_rows == 2
        db.insert("reading", [("a", 2)])
        assert db.table("reading").to_pylist() == [{"sensor": "a", "value": 1}, {"sensor": "a", "value": 2}]
        db.delete("reading", [("a", 1)])
        db.insert("reading", [("a", 3)])
        assert db.rows("reading") == {("a", 2), ("a", 3)}

    def test_null_is_a_partition_like_any_other(self, db: whence.Database) -> None:
        db.insert("reading", [(None, 1), (None, 2), (None, 3), ("a", 4)])
        assert db.rows("reading") == {(None, 2), (None, 3), ("a", 4)}

    def test_statements_keep_the_window_too(self, db: whence.Database) -> None:
        db.execute("INSERT INTO reading VALUES ('a', 1), ('a', 2), ('a', 3); DELETE FROM reading WHERE value = 2")
        db.execute("INSERT INTO reading VALUES ('a', 4)")
        assert db.rows("reading") == {("a", 3), ("a", 4)}

    def test_a_table_that_is_made_anew_has_a_window_of_its_own(self, db: whence.Database) -> None:
        db.insert("reading", [("a", 1), ("a", 2)])
        db.execute(f"DROP VIEW average; DROP TABLE reading; {SENSORS}")
        db.insert("reading", [("a", 3), ("a", 4)])
        assert db.rows("reading") == {("a", 3), ("a", 4)}

    def test_the_first_rows_can_be_too_many(self) -> None:
        db = whence.connect()
        db.rules(".decl last(x: number) window(2)\nlast(1). last(2). last(3). one(x) :- last(x).")
        assert db.rows("one") == {(2,), (3,)}


class TestSets:
    def test_a_row_that_comes_again_is_new(self) -> None:
        db = whence.connect()
        db.rules(".decl t(x: number) window(2)\n.decl v(x: number)\nv(x) :- t(x).")
        db.insert("t", [(1,), (2,)])
        commit = db.insert("t", [(1,)])
        assert (commit.inserted, commit.metrics["evicted"]) == ({}, 0)
        db.insert("t", [(3,)])
        assert db.rows("v") == {(1,), (3,)}

    def test_a_key_is_free_when_its_row_has_gone(self) -> None:
        db = whence.connect()
        db.execute("CREATE TABLE t(k INT PRIMARY KEY, x INT) TBLPROPERTIES ('window_rows' = '1')")
        db.insert("t", [(1, 1), (2, 2)])
        db.insert("t", [(1, 3)])
        assert db.rows("t") == {(1, 3)}


class TestByTime:
    @pytest.fixture
    def db(self) -> whence.Database:
        db = whence.connect()
        db.rules(
            """
            .decl seen(who: symbol, at: TIMESTAMP nullable) bag ttl("1 hour", at) window(2, who)
            .decl count_(n: number)
            count_(count<*>) :- seen(_, _).
            """
        )
        return db

    def test_the_latest_live(self, db: whence.Database) -> None:
        db.insert("seen", [("a", "2026-01-01 12:02:00"), ("a", "2026-01-01 12:03:00")])
        commit = db.insert("seen", [("a", "2026-01-01 12:01:00")])
        assert (commit.inserted, commit.metrics["evicted"]) == ({}, 1)
        db.insert("seen", [("a", "2026-01-01 12:02:30")])
        assert {at.minute for _, at in times(db)} == {2, 3}
        assert db.rows("count_") == {(2,)}

    def test_without_a_time_a_row_is_the_oldest(self, db: whence.Database) -> None:
        db.insert("seen", [("a", None), ("a", "2026-01-01 12:02:00"), ("a", "2026-01-01 12:01:00")])
        assert {at.minute for _, at in times(db)} == {1, 2}

    def test_expiry_frees_a_place(self, db: whence.Database) -> None:
        db.insert("seen", [("a", "2026-01-01 12:00:00"), ("a", "2026-01-01 12:30:00")])
        db.advance("2026-01-01 13:00:00")
        commit = db.insert("seen", [("a", "2026-01-01 12:50:00")])
        assert commit.metrics["evicted"] == 0
        commit = db.advance("2026-01-01 13:30:00")
        assert (commit.deleted, commit.metrics["expired"]) == ({"seen": 1, "count_": 1}, 1)
        assert db.rows("count_") == {(1,)}

    def test_an_evicted_row_does_not_expire(self, db: whence.Database) -> None:
        db.insert("seen", [("a", f"2026-01-01 12:0{minute}:00") for minute in range(4)])
        assert db.advance("2026-01-02").metrics["expired"] == 2

    def test_days_are_times(self) -> None:
        db = whence.connect()
        db.execute(
            "CREATE TABLE t(x INT, day DATE) TBLPROPERTIES ('ttl' = '1 day', 'ttl_column' = 'day', 'window_rows' = '1')"
        )
        db.insert("t", [(1, "2026-01-02"), (2, "2026-01-01")])
        assert db.rows("t") == {(1, datetime.date(2026, 1, 2))}


def times(db: whence.Database) -> list[tuple[str, datetime.datetime]]:
    return [tuple(row.values()) for row in db.table("seen").to_pylist()]


# Random changes, against a list that knows nothing of commits, drafts or engines.

SCHEMA = """
    CREATE TABLE reading(sensor INT, value INT) TBLPROPERTIES ('window_rows' = '3', 'window_partition' = 'sensor');
    CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, PRIMARY KEY (src, dst)) TBLPROPERTIES ('window_rows' = '4');
    CREATE TABLE seen(who INT, minute TIMESTAMP)
        TBLPROPERTIES ('ttl' = '4 minutes', 'ttl_column' = 'minute', 'window_rows' = '2', 'window_partition' = 'who');
    CREATE VIEW sums AS SELECT sensor, sum(value) AS total, max(value) AS most FROM reading GROUP BY sensor;
    CREATE MATERIALIZED VIEW reach AS
        WITH RECURSIVE r(src, dst) AS (
            SELECT src, dst FROM link UNION SELECT r.src, link.dst FROM r JOIN link ON r.dst = link.src
        ) SELECT * FROM r;
    CREATE VIEW quiet AS SELECT sensor FROM reading WHERE NOT EXISTS (SELECT 1 FROM seen WHERE who = sensor);
"""
RELATIONS = ("reading", "link", "seen", "sums", "reach", "quiet")
START = datetime.datetime(2026, 1, 1)


@dataclass(frozen=True)
class Change:
    relation: str
    row: tuple[int, int]
    insert: bool


@dataclass(frozen=True)
class Advance:
    minutes: int


class Model:
    """The copies of each table, in the order in which they came."""

    def __init__(self) -> None:
        self.tables: dict[str, list[tuple[int, int]]] = {"reading": [], "link": [], "seen": []}
        self.minute = 0

    def play(self, step: Change | Advance) -> None:
        seen = self.tables["seen"]
        if isinstance(step, Advance):
            self.minute += step.minutes
            seen[:] = [row for row in seen if row[1] + 4 > self.minute]
            return
        rows, row = self.tables[step.relation], step.row
        if not step.insert:
            if row in rows:
                rows.remove(row)
            return
        if step.relation == "seen" and row[1] + 4 <= self.minute:
            return
        if step.relation == "link" and row in rows:
            rows.remove(row)
        rows.append(row)
        same = rows if step.relation == "link" else [other for other in rows if other[0] == row[0]]
        if len(same) > {"reading": 3, "link": 4, "seen": 2}[step.relation]:
            rows.remove(min(same, key=lambda other: other[1]) if step.relation == "seen" else same[0])


changes = st.builds(
    Change, st.sampled_from(["reading", "link", "seen"]), st.tuples(st.integers(0, 2), st.integers(0, 6)), st.booleans()
)
steps = st.lists(st.one_of(changes, changes, changes, st.builds(Advance, st.integers(0, 3))), max_size=40)


def as_stored(relation: str, row: tuple[int, int]) -> tuple[object, ...]:
    return row if relation != "seen" else (row[0], START + datetime.timedelta(minutes=row[1]))


def play(db: whence.Database, steps: list[Change | Advance], cuts: list[bool]) -> None:
    db.execute(SCHEMA)
    db.advance(START)
    waiting: list[Change] = []
    minute = 0
    for number, step in enumerate(steps):
        if isinstance(step, Advance):
            commit(db, waiting)
            minute += step.minutes
            db.advance(START + datetime.timedelta(minutes=minute))
        else:
            waiting.append(step)
            if cuts[number % len(cuts)]:
                commit(db, waiting)
    commit(db, waiting)


def commit(db: whence.Database, waiting: list[Change]) -> None:
    with db.batch() as batch:
        for change in waiting:
            row = as_stored(change.relation, change.row)
            if change.insert:
                batch.insert(change.relation, [row])
            else:
                batch.delete(change.relation, [row], missing="ignore")
    waiting.clear()


@given(steps, st.lists(st.booleans(), min_size=1, max_size=5))
def test_the_window_is_what_the_model_says(steps: list[Change | Advance], cuts: list[bool]) -> None:
    model = Model()
    for step in steps:
        model.play(step)
    db = whence.connect()
    play(db, steps, cuts)
    for name, rows in model.tables.items():
        held = Counter(tuple(row.values()) for row in db.table(name).to_pylist())
        assert held == Counter(as_stored(name, row) for row in rows)


@given(steps, st.lists(st.booleans(), min_size=1, max_size=5))
def test_views_are_those_of_the_reference_engine(steps: list[Change | Advance], cuts: list[bool]) -> None:
    local, reference = whence.connect(), whence.connect(engine="reference")
    play(local, steps, cuts)
    play(reference, steps, cuts)
    for name in RELATIONS:
        assert local.table(name).equals(reference.table(name)), name
        assert (
            local.changes(name)
            .drop_columns("_commit_timestamp")
            .equals(reference.changes(name).drop_columns("_commit_timestamp"))
        ), name
