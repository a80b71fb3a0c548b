"""A TIMESTAMP has no time zone: it is what a clock shows, and the zone that the process is in does not matter."""

from __future__ import annotations

import datetime
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest

import whence
from whence.errors import UnsupportedError
from whence.model.types import TIMESTAMP
from whence.session.functions import parse_type

ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Europe/London")
# Clocks of some of these zones skip the first, show the second twice, and skip a whole day.
CHANGES = (
    datetime.datetime(2026, 3, 8, 2, 30),
    datetime.datetime(2026, 11, 1, 1, 30),
    datetime.datetime(2026, 3, 29, 1, 30),
    datetime.datetime(2026, 10, 25, 1, 30),
    datetime.datetime(2011, 12, 30, 12),
    datetime.datetime(2010, 9, 26, 0, 30),
)
ENDS = (datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999))


def times(seed: int, number: int) -> list[datetime.datetime]:
    """Times at the ends of the calendar and within a few hours of changes of clocks, to the microsecond."""
    chance = random.Random(seed)
    hours = 4 * 3_600_000_000
    near = [
        chance.choice(CHANGES) + datetime.timedelta(microseconds=chance.randint(-hours, hours)) for _ in range(number)
    ]
    return [*ENDS, *CHANGES, *near]


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of this process."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_what_goes_in_comes_out() -> None:
    rows = list(enumerate(times(seed=1, number=50)))
    columns = {"id": [row[0] for row in rows], "at": [row[1] for row in rows]}
    as_arrow = pa.table({"id": pa.array(columns["id"], pa.int32()), "at": pa.array(columns["at"], pa.timestamp("us"))})
    as_pandas = pd.DataFrame({"id": columns["id"], "at": pd.array(columns["at"], dtype="datetime64[us]")})
    for given in (rows, [{"at": at, "id": number} for number, at in rows], as_arrow, as_pandas):
        with whence.connect() as db:
            db.execute("CREATE TABLE t(id INT, at TIMESTAMP)")
            parts = "hour(at) AS h, dayofweek(at) AS d, extract(SECOND FROM at) AS s"
            db.execute(f"CREATE VIEW v AS SELECT at, {parts} FROM t")
            db.insert("t", given)
            assert db.rows("t") == set(rows)
            assert db.rows("v") == {
                (at, at.hour, at.isoweekday() % 7 + 1, Decimal(at.second) + Decimal(at.microsecond) / 1_000_000)
                for _, at in rows
            }
            assert db.table("t").schema.field("at").type == pa.timestamp("us")
            assert db.query("SELECT id, at FROM t ORDER BY id").equals(as_arrow)
            assert [change["at"] for change in db.changes("t").sort_by("id").to_pylist()] == columns["at"]
            asked = db.query(f"SELECT at, {parts} FROM t").to_pylist()
            assert {tuple(row.values()) for row in asked} == db.rows("v")


@pytest.mark.usefixtures("zone")
def test_the_same_moment_is_the_same_row_by_every_way_in() -> None:
    there = ZoneInfo("America/New_York")
    moments = [moment.replace(tzinfo=datetime.UTC) for moment in times(seed=2, number=30)[2:]]
    wanted = [moment.replace(tzinfo=None) for moment in moments]
    aware = [moment.astimezone(there) for moment in moments]
    ways: dict[str, object] = {
        "tuples": [(moment,) for moment in aware],
        "dicts": [{"at": moment} for moment in aware],
        "text": [(moment.isoformat(),) for moment in aware],
        "Arrow": pa.table({"at": pa.array(aware, pa.timestamp("us", "America/New_York"))}),
        "pandas": pd.DataFrame({"at": pd.Series(aware, dtype="datetime64[us, America/New_York]")}),
    }
    for name, rows in ways.items():
        with whence.connect() as db:
            db.execute("CREATE TABLE t(at TIMESTAMP)")
            db.insert("t", rows)
            assert sorted(row["at"] for row in db.table("t").to_pylist()) == sorted(wanted), name


def test_a_query_does_not_see_the_zone_of_the_process() -> None:
    """In a process of its own: DuckDB looks for its zone once."""
    program = """if True:
        import datetime, whence
        db = whence.connect()
        db.execute("CREATE TABLE t(at TIMESTAMP)")
        db.insert("t", [(datetime.datetime(2026, 3, 8, hour, 30),) for hour in (1, 2, 3)])
        print(db.query("SELECT at FROM t WHERE at = TIMESTAMP '2026-03-08 02:30:00'").to_pylist())
        zoned = "TIMESTAMP '2026-03-08 04:30:00+02:00'"
        print(db.query(f"SELECT CAST(at AS STRING) AS at FROM t WHERE at = {zoned}").to_pylist())
        print(db.query("SELECT date_trunc('day', TIMESTAMP '2026-03-08 02:30:00') AS day").to_pylist())
        print(db.query("SELECT max(at) AS at FROM t WHERE at < current_timestamp()").schema.field("at").type)
    """
    environment = {**os.environ, "TZ": "America/New_York", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[{'at': datetime.datetime(2026, 3, 8, 2, 30)}]",
        "[{'at': '2026-03-08 02:30:00'}]",
        "[{'day': datetime.datetime(2026, 3, 8, 0, 0)}]",
        "timestamp[us]",
    ]


ZONED_TYPES = ("TIMESTAMP_LTZ", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMPTZ")


@pytest.mark.parametrize("kind", ZONED_TYPES)
def test_types_with_a_zone_are_refused_wherever_a_type_is_written(kind: str) -> None:
    with whence.connect() as db:
        db.execute("CREATE TABLE t(at TIMESTAMP)")
        for text in (
            f"CREATE TABLE u(at {kind})",
            f"CREATE TABLE u(at ARRAY<{kind}>)",
            f"CREATE VIEW v AS SELECT CAST(at AS {kind}) AS x FROM t",
            f"CREATE VIEW v AS SELECT {kind} '2026-01-01 00:00:00' AS x FROM t",
            f"CREATE VIEW v AS SELECT at::{kind} AS x FROM t",
            f"INSERT INTO t VALUES (CAST('2026-01-01' AS {kind}))",
            f"DELETE FROM t WHERE at = {kind} '2026-01-01 00:00:00'",
        ):
            with pytest.raises(UnsupportedError, match="a TIMESTAMP has no time zone") as refused:
                db.execute(text)
            assert "^" in str(refused.value)
        for text in (f"SELECT CAST(at AS {kind}) FROM t", f"SELECT array(CAST('2026-01-01' AS ARRAY<{kind}>))"):
            with pytest.raises(UnsupportedError, match="a TIMESTAMP has no time zone") as refused:
                db.query(text)
            assert "^" in str(refused.value)
        with pytest.raises(UnsupportedError, match="a TIMESTAMP has no time zone"):
            db.function("f", lambda: None, returns=kind)


def test_datalog_knows_the_same_names() -> None:
    with whence.connect() as db:
        db.rules(".decl r(at: timestamp_ntz)")
        assert db.table("r").schema.field("at").type == pa.timestamp("us")
        with pytest.raises(UnsupportedError, match="a TIMESTAMP has no time zone"):
            db.rules(".decl s(at: timestamp_ltz)")


def test_zoneless_types_are_one_and_take_no_precision() -> None:
    for name in ("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP WITHOUT TIME ZONE"):
        assert parse_type(name) == TIMESTAMP
    with pytest.raises(UnsupportedError, match="TIMESTAMP takes no number"):
        parse_type("TIMESTAMP(3)")


def test_a_literal_with_a_zone_is_told_in_utc() -> None:
    with whence.connect() as db:
        db.execute("""
            CREATE TABLE t(at TIMESTAMP);
            INSERT INTO t VALUES (TIMESTAMP '2026-01-01 00:00:00+02:00');
            CREATE VIEW v AS SELECT CAST('2026-01-01 00:00:00-05:00' AS TIMESTAMP) AS x FROM t
        """)
        assert db.rows("t") == {(datetime.datetime(2025, 12, 31, 22),)}
        assert db.rows("v") == {(datetime.datetime(2026, 1, 1, 5),)}
        asked = "SELECT CAST('2026-01-01 00:00:00-05:00' AS TIMESTAMP) AS x FROM t"
        assert {tuple(row.values()) for row in db.query(asked).to_pylist()} == db.rows("v")
