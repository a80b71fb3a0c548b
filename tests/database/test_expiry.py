"""Rows with a time to live leave when event time has passed it, and views follow."""

from __future__ import annotations

import datetime

import pytest

import whence


def opened(schema: str, ttl: str = "'ttl' = '10 minutes'") -> whence.Database:
    db = whence.connect()
    db.execute(f"CREATE TABLE t({schema}) TBLPROPERTIES ({ttl}); CREATE VIEW v AS SELECT x FROM t")
    return db


class TestFromAColumn:
    @pytest.fixture
    def db(self) -> whence.Database:
        return opened("x INT, at TIMESTAMP", "'ttl' = '10 minutes', 'ttl_column' = 'at'")

    def test_rows_leave_when_their_time_has_come(self, db: whence.Database) -> None:
        db.insert("t", [(1, "2026-01-01 12:00:00"), (2, "2026-01-01 12:05:00")])
        assert db.advance("2026-01-01 12:09:59").deleted == {}
        commit = db.advance("2026-01-01 12:10:00")
        assert (commit.deleted, commit.metrics["expired"]) == ({"t": 1, "v": 1}, 1)
        assert db.rows("v") == {(2,)}

    def test_all_copies_leave_together(self, db: whence.Database) -> None:
        db.insert("t", [(1, "2026-01-01")] * 3)
        db.delete("t", [(1, "2026-01-01")])
        assert db.advance("2026-01-02").deleted == {"t": 2, "v": 2}

    def test_a_row_that_comes_too_late_is_never_seen(self, db: whence.Database) -> None:
        db.advance("2026-01-01 12:00:00")
        commit = db.insert("t", [(1, "2026-01-01 11:50:00"), (2, "2026-01-01 11:50:01")])
        assert (commit.inserted, commit.metrics["expired"]) == ({"t": 1, "v": 1}, 1)
        assert db.rows("v") == {(2,)}

    def test_before_the_first_advance_nothing_is_late(self, db: whence.Database) -> None:
        db.insert("t", [(1, "1999-01-01")])
        assert db.rows("v") == {(1,)}

    def test_without_a_time_a_row_stays(self, db: whence.Database) -> None:
        db.insert("t", [(1, None)])
        assert db.advance("9999-12-31 23:59:59.999999").deleted == {}
        db.delete("t", [(1, None)])
        assert db.rows("t") == set()

    def test_a_time_at_the_end_of_time(self, db: whence.Database) -> None:
        db.insert("t", [(1, "9999-12-31 23:59:59")])
        assert db.advance("9999-12-31 23:59:59.999999").deleted == {}

    def test_dates_count_from_midnight(self) -> None:
        db = opened("x INT, day DATE", "'ttl' = '1 day', 'ttl_column' = 'day'")
        db.insert("t", [(1, "2026-01-01")])
        assert db.advance("2026-01-01 23:59:59").deleted == {}
        assert db.advance(datetime.date(2026, 1, 2)).deleted == {"t": 1, "v": 1}

    def test_a_deleted_row_does_not_leave_again(self, db: whence.Database) -> None:
        db.insert("t", [(1, "2026-01-01")])
        db.delete("t", [(1, "2026-01-01")])
        commit = db.advance("2026-01-02")
        assert (commit.deleted, commit.metrics["expired"]) == ({}, 0)


class TestFromTheInsert:
    def test_the_clock_is_event_time(self) -> None:
        db = opened("x INT")
        db.advance("2026-01-01 12:00:00")
        db.insert("t", [(1,)])
        db.advance("2026-01-01 12:05:00")
        db.insert("t", [(2,)])
        db.advance("2026-01-01 12:10:00")
        assert db.rows("v") == {(2,)}
        db.advance("2026-01-01 12:15:00")
        assert db.rows("v") == set()

    def test_before_the_first_advance_it_is_the_wall_clock(self) -> None:
        db = opened("x INT")
        before = datetime.datetime.now(datetime.UTC)
        db.insert("t", [(1,)])
        assert db.advance(before + datetime.timedelta(minutes=9)).deleted == {}
        after = datetime.datetime.now(datetime.UTC)
        assert db.advance(after + datetime.timedelta(minutes=10)).deleted == {"t": 1, "v": 1}

    def test_each_copy_has_its_own_time(self) -> None:
        db = opened("x INT")
        for minute in (0, 4, 8):
            db.advance(f"2026-01-01 12:0{minute}:00")
            db.insert("t", [(1,)])
        db.advance("2026-01-01 12:10:00")
        assert db.table("t").num_rows == 2
        db.delete("t", [(1,)])
        db.advance("2026-01-01 12:14:00")
        assert db.table("t").num_rows == 1, "the copy that was deleted is the one that would have left first"
        assert db.advance("2026-01-01 12:18:00").deleted == {"t": 1, "v": 1}

    def test_a_row_of_a_set_that_comes_again_starts_anew(self) -> None:
        db = opened("x INT PRIMARY KEY")
        db.advance("2026-01-01 12:00:00")
        db.insert("t", [(1,)])
        db.advance("2026-01-01 12:09:00")
        assert db.insert("t", [(1,)]).inserted == {}
        assert db.advance("2026-01-01 12:18:00").deleted == {}
        assert db.advance("2026-01-01 12:19:00").deleted == {"t": 1, "v": 1}

    def test_a_key_is_free_after_it_expired(self) -> None:
        db = opened("k INT PRIMARY KEY, x INT")
        db.advance("2026-01-01")
        db.insert("t", [(1, 1)])
        db.advance("2026-01-02")
        db.insert("t", [(1, 2)])
        assert db.rows("t") == {(1, 2)}


class TestProcessingTime:
    """`advance()` takes the time on the wall, which here is what `wall` says."""

    @pytest.fixture
    def wall(self, monkeypatch: pytest.MonkeyPatch) -> Wall:
        wall = Wall()
        monkeypatch.setattr("whence.session.lifetimes.wall_clock", wall.read)
        return wall

    def test_rows_leave_some_time_after_they_came(self, wall: Wall) -> None:
        db = opened("x INT")
        db.insert("t", [(1,)])
        wall.pass_minutes(6)
        db.insert("t", [(2,)])
        wall.pass_minutes(4)
        assert db.rows("t") == {(1,), (2,)}, "nothing leaves before somebody says that time has passed"
        assert db.advance().deleted == {"t": 1, "v": 1}
        assert db.rows("v") == {(2,)}

    def test_time_goes_on_between_advances(self, wall: Wall) -> None:
        db = opened("x INT")
        db.advance("now")
        wall.pass_minutes(30)
        db.insert("t", [(1,)])
        wall.pass_minutes(9)
        assert db.advance().deleted == {}
        wall.pass_minutes(1)
        assert db.advance().deleted == {"t": 1, "v": 1}

    def test_after_a_given_time_it_stands_still(self, wall: Wall) -> None:
        db = opened("x INT")
        db.advance(wall.time)
        wall.pass_minutes(30)
        db.insert("t", [(1,)])
        assert db.advance().deleted == {"t": 1, "v": 1}, "it came at the time that was given"

    def test_a_wall_clock_that_is_set_back(self, wall: Wall) -> None:
        db = opened("x INT")
        db.advance()
        wall.pass_minutes(-5)
        db.insert("t", [(1,)])
        assert db.advance().deleted == {}
        wall.pass_minutes(14)
        assert db.advance().deleted == {}
        wall.pass_minutes(1)
        assert db.advance().deleted == {"t": 1, "v": 1}

    def test_a_given_time_can_be_ahead_of_the_wall(self, wall: Wall) -> None:
        db = opened("x INT")
        db.advance(wall.time + datetime.timedelta(days=1))
        with pytest.raises(whence.StateError, match="time does not go backwards"):
            db.advance()


class Wall:
    def __init__(self) -> None:
        self.time = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

    def read(self) -> datetime.datetime:
        return self.time

    def pass_minutes(self, minutes: int) -> None:
        self.time += datetime.timedelta(minutes=minutes)


class TestAdvance:
    def test_time_does_not_go_backwards(self) -> None:
        db = whence.connect()
        db.advance("2026-01-01 12:00:00")
        db.advance("2026-01-01 12:00:00")
        with pytest.raises(whence.StateError) as caught:
            db.advance("2026-01-01 11:59:59.5")
        assert str(caught.value) == (
            "time does not go backwards: it is 2026-01-01 12:00:00 already, and 2026-01-01 11:59:59.5 is before that"
        )

    @pytest.mark.parametrize("moment", ["tomorrow", 5, None])
    def test_what_is_no_time(self, moment: object) -> None:
        with pytest.raises(whence.DataError, match="advance takes a time") as caught:
            whence.connect().advance(moment)
        assert "hint: write it like '2026-01-31 12:00:00'" in str(caught.value)

    def test_a_time_zone_counts(self) -> None:
        db = whence.connect()
        db.advance("2026-01-01 12:00:00")
        zone = datetime.timezone(datetime.timedelta(hours=2))
        with pytest.raises(whence.StateError, match="2026-01-01 11:00:00 is before that"):
            db.advance(datetime.datetime(2026, 1, 1, 13, tzinfo=zone))

    def test_an_expiry_that_a_view_cannot_follow_does_not_happen(self) -> None:
        db = whence.connect()
        db.execute("CREATE TABLE t(x INT) TBLPROPERTIES ('ttl' = '1 hour')")
        db.execute("CREATE VIEW v AS SELECT 1 div (count(*) - 1) AS y FROM t")
        db.advance("2026-01-01 00:00:00")
        db.insert("t", [(1,), (2,)])
        db.advance("2026-01-01 00:30:00")
        db.insert("t", [(3,)])
        with pytest.raises(whence.EvaluationError):
            db.advance("2026-01-01 01:00:00")
        assert len(db.rows("t")) == 3
        db.insert("t", [(4,)])
        assert db.advance("2026-01-01 01:00:00").deleted["t"] == 2
