"""However changes are cut into batches, the end is the same, and the change feeds tell how it came about."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import whence

SCHEMA = """
    CREATE TABLE link(src INT, dst INT);
    CREATE TABLE sighting(who INT, minute TIMESTAMP) TBLPROPERTIES ('ttl' = '3 minutes', 'ttl_column' = 'minute');
    CREATE TABLE beat(node INT) TBLPROPERTIES ('ttl' = '2 minutes');
    CREATE TABLE owner(node INT PRIMARY KEY, who INT) TBLPROPERTIES ('ttl' = '5 minutes');
    CREATE TABLE last(who INT, node INT) TBLPROPERTIES ('window_rows' = '2', 'window_partition' = 'who');
    CREATE VIEW degree AS SELECT src, count(*) AS n, sum(dst) AS total FROM link GROUP BY src;
    CREATE MATERIALIZED VIEW reach AS
        WITH RECURSIVE r(src, dst) AS (
            SELECT src, dst FROM link UNION SELECT r.src, link.dst FROM r JOIN link ON r.dst = link.src
        ) SELECT * FROM r;
    CREATE VIEW silent AS SELECT who FROM owner WHERE NOT EXISTS (SELECT 1 FROM beat WHERE beat.node = owner.node);
    CREATE VIEW near AS SELECT who, dst FROM last JOIN link ON node = src;
    CREATE VIEW alive AS SELECT node, minute FROM beat JOIN sighting ON node = who;
"""
RELATIONS = ("link", "sighting", "beat", "owner", "last", "degree", "reach", "silent", "near", "alive")


@dataclass(frozen=True)
class Change:
    relation: str
    row: tuple[object, ...]
    insert: bool


@dataclass(frozen=True)
class Advance:
    minutes: int


numbers = st.integers(0, 3)
rows = {
    "link": st.tuples(numbers, numbers),
    "sighting": st.tuples(numbers, st.integers(0, 9).map(lambda minute: f"2026-01-01 00:0{minute}:00")),
    "beat": st.tuples(numbers),
    "owner": st.tuples(numbers, numbers),
    "last": st.tuples(numbers, numbers),
}
changes = st.sampled_from(sorted(rows)).flatmap(
    lambda relation: st.builds(Change, st.just(relation), rows[relation], st.booleans())
)
steps = st.lists(st.one_of(changes, changes, changes, st.builds(Advance, st.integers(0, 3))), max_size=25)


def opened() -> whence.Database:
    db = whence.connect()
    db.execute(SCHEMA)
    db.advance("2026-01-01 00:00:00")
    return db


def play(steps: list[Change | Advance], cuts: list[bool]) -> whence.Database:
    """The steps, with a new batch wherever `cuts` says so, and at every advance."""
    db = opened()
    minute = 0
    waiting: list[Change] = []
    for number, step in enumerate(steps):
        if isinstance(step, Advance):
            commit(db, waiting)
            minute += step.minutes
            db.advance(f"2026-01-01 00:{minute:02d}:00")
            continue
        waiting.append(step)
        if cuts[number % len(cuts)]:
            commit(db, waiting)
    commit(db, waiting)
    return db


def commit(db: whence.Database, waiting: list[Change]) -> None:
    with db.batch() as batch:
        for change in waiting:
            if change.insert:
                batch.insert(change.relation, [change.row])
            else:
                batch.delete(change.relation, [change.row], missing="ignore")
    waiting.clear()


def keeps_keys(steps: list[Change | Advance]) -> list[Change | Advance]:
    """Without those inserts into `owner` that would be refused, because the node may have another owner."""
    kept: list[Change | Advance] = []
    taken: dict[object, object] = {}
    for step in steps:
        refused = (
            isinstance(step, Change)
            and step.relation == "owner"
            and step.insert
            and taken.setdefault(step.row[0], step.row[1]) != step.row[1]
        )
        if not refused:
            kept.append(step)
    return kept


def contents(db: whence.Database) -> dict[str, list[object]]:
    return {name: db.table(name).to_pylist() for name in RELATIONS}


@given(steps, st.lists(st.booleans(), min_size=1, max_size=5))
def test_batching_does_not_matter(steps: list[Change | Advance], cuts: list[bool]) -> None:
    steps = keeps_keys(steps)
    expected = contents(play(steps, [True]))
    assert contents(play(steps, [False])) == expected
    assert contents(play(steps, cuts)) == expected


@given(steps, st.lists(st.booleans(), min_size=1, max_size=5))
def test_the_change_feed_rebuilds_every_relation(steps: list[Change | Advance], cuts: list[bool]) -> None:
    db = play(keeps_keys(steps), cuts)
    for name in RELATIONS:
        table = db.table(name)
        assert replayed(db.changes(name, since=0), table.column_names) == Counter(
            tuple(row.values()) for row in table.to_pylist()
        )


def replayed(feed: pa.Table, columns: list[str]) -> Counter[tuple[object, ...]]:
    """What a reader has that applies every change; nothing ever leaves that was not there."""
    held: Counter[tuple[object, ...]] = Counter()
    for change in feed.to_pylist():
        row = tuple(change[column] for column in columns)
        held[row] += 1 if change["_change_type"] in ("insert", "update_postimage") else -1
        assert held[row] >= 0
    return +held


@given(steps)
def test_views_are_what_a_new_database_would_compute(steps: list[Change | Advance]) -> None:
    db = play(keeps_keys(steps), [True])
    fresh = whence.connect()
    fresh.execute(SCHEMA)
    for name in ("link", "sighting", "beat", "owner", "last"):
        fresh.insert(name, db.table(name))
    assert contents(fresh) == contents(db)
