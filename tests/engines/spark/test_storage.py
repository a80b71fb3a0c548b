"""What was committed is there again when a database is opened: rows, feeds, definitions and all else."""

from __future__ import annotations

import datetime
import hashlib
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import whence
from tests.engines.spark.storage_model import COLUMNS, arrow, check, commit, contents, rewrite, timestamp, without_spark
from whence.algebra.deltas import first_to_merge
from whence.engines.spark.types import rows_from_arrow, rows_to_arrow
from whence.errors import InternalError, StateError
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, ArrayType, DecimalType, Row
from whence.model.updates import Version
from whence.session.definitions import Definitions
from whence.session.lifetimes import Tick
from whence.storage.files.changes import CommitChange, NewTable
from whence.storage.files.manifest import Segment, StoredProgram
from whence.storage.files.segments import columns_of_arrow
from whence.storage.files.store import STEPS, Storage

KINDS = (STRING, INT, BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP, DecimalType(38, 10), DecimalType(5, 0))
EVERYTHING = Relation(
    "everything",
    tuple(Column(f"x{at}", kind) for at, kind in enumerate((*KINDS, ArrayType(ArrayType(INT)), ArrayType(TIMESTAMP)))),
)
LAST = datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
ROWS: list[Row] = [
    (None,) * 11,
    ("", 0, 0, 0.0, False, datetime.date(1, 1, 1), datetime.datetime(1, 1, 1), Decimal(0), Decimal(0), (), ()),
    (
        *("ä\0\n😀", -(2**31), 2**63 - 1, 5e-324, True, datetime.date(9999, 12, 31), LAST),
        *(Decimal("-1234567890123456789012345678.0123456789"), Decimal(-99999)),
        *(((1, None), (), None), (LAST, None, datetime.datetime(1582, 10, 5))),
    ),
]


def test_segments_come_back_with_the_columns_that_they_take(tmp_path: Path) -> None:
    plain = Segment("segments/1-a", 3, 0)
    turned = Segment("segments/1-a", 3, 0, (1, 2)).projected([1, 0], repeats=False)
    fewer = turned.projected([1], repeats=True)
    assert (fewer.in_files("c0"), fewer.in_files("n")) == ("c0", "n")
    assert (turned.in_files("c0"), plain.in_files("c0")) == ("c1", "c0")
    segments = (plain, turned, fewer, plain.projected([], repeats=True))
    storage = Storage.open(None, str(tmp_path))
    (tmp_path / plain.path).mkdir()
    storage.commit(
        CommitChange(
            timestamp=timestamp(1),
            tables={"t": NewTable("counts", COLUMNS, segments)},
            feed={"t": fewer},
            further={"t": [turned, plain]},
        )
    )
    storage.close()
    storage = Storage.open(None, str(tmp_path))
    assert storage.current.tables["t"].segments == segments
    assert [part.changes for part in storage.feed("t", Version(0))] == [turned, plain, fewer]
    assert {part.version for part in storage.feed("t", Version(0))} == {1}
    storage.close()


def test_every_type_comes_back(tmp_path: Path) -> None:
    changes = rows_to_arrow(ROWS, EVERYTHING).append_column("n", pa.array([3, -1, 2**62], pa.int64()))
    storage = Storage.open(None, str(tmp_path))
    storage.commit(
        CommitChange(
            timestamp=timestamp(1),
            tables={"everything": NewTable("rows", columns_of_arrow(changes.schema))},
            logs={"everything": changes},
            feed={"everything": changes},
        )
    )
    storage.close()
    storage = Storage.open(None, str(tmp_path))
    table = storage.current.tables["everything"]
    assert [column.type for column in table.columns] == [*(c.type for c in EVERYTHING.columns), BIGINT]
    (part,) = storage.feed("everything", Version(0))
    assert isinstance(part.changes, pa.Table)
    for found in (storage.logs(["everything"])["everything"], part.changes):
        assert found.equals(changes)
        assert rows_from_arrow(found, EVERYTHING) == ROWS
    storage.close()


def test_many_commits_come_back(tmp_path: Path) -> None:
    with without_spark():
        for version in range(1, 2 * STEPS):
            storage = Storage.open(None, str(tmp_path), keep_versions=30)
            commit(storage)
            storage.close()
            if version % 5 == 0:
                storage = Storage.open(None, str(tmp_path), keep_versions=30)
                assert storage.current.version == version
                check(storage, 30)
                storage.close()


def test_a_database_without_a_root_goes_away() -> None:
    with without_spark():
        storage = Storage.open(None, None)
        directory = storage.files.directory
        assert directory is not None and directory.exists()
        for _ in range(30):
            commit(storage)
        check(storage, 1000)
        storage.close()
    assert not directory.exists()
    with pytest.raises(StateError, match=r"the database in .* is closed"):
        commit(storage)


def test_what_is_remembered(tmp_path: Path) -> None:
    storage = Storage.open(None, str(tmp_path))
    tick = Tick(datetime.datetime(2026, 1, 1, 0, 0, 0, 1), by_wall=True)
    storage.commit(CommitChange(timestamp=timestamp(1), clock=tick, batches={"a": 1, "b": 7}, notices=["one", "two"]))
    storage.commit(CommitChange(timestamp=timestamp(2), batches={"a": 2}, notices=["two", "three"]))
    storage.commit(CommitChange(timestamp=timestamp(3)))
    before = storage.current
    storage.close()
    storage = Storage.open(None, str(tmp_path))
    assert storage.current == before
    assert (before.version, before.clock, before.batches) == (3, tick, {"a": 2, "b": 7})
    assert before.notices == ("one", "two", "three")
    storage.close()


def test_definitions_come_back_as_they_were(tmp_path: Path) -> None:
    storage = Storage.open(None, str(tmp_path))
    with whence.connect() as db:
        db.function("twice", lambda x: x * 2, returns="BIGINT")
        session = db._session  # noqa: SLF001 - what a database was told has no public form
        programs = [
            "CREATE TABLE link(src STRING NOT NULL, dst STRING, PRIMARY KEY (src)) TBLPROPERTIES ('ttl' = '2 minutes')",
            "CREATE VIEW far AS SELECT l.src, twice(count(*)) AS n FROM link l, link m WHERE l.dst = m.src GROUP BY 1",
            "CREATE VIEW other AS SELECT src FROM link WHERE src NOT IN (SELECT dst FROM link WHERE dst IS NOT NULL)",
            "CREATE OR REPLACE VIEW far AS SELECT src, twice(3) AS n FROM link",
            "DROP VIEW other",
        ]
        before = Definitions()
        for number, text in enumerate(programs, 1):
            db.execute(text)
            after = session.definitions
            program = storage.current.program.following(before, after)
            storage.commit(CommitChange(timestamp=timestamp(number), program=program))
            before = after
            storage.close()
            storage = Storage.open(None, str(tmp_path))
            found = storage.definitions()
            assert found.relations == after.relations
            assert sorted(map(repr, found.rules)) == sorted(map(repr, after.rules))
            assert found.views == after.views
            assert found.signatures == {name: each for name, each in after.signatures.items() if after.calling(name)}
            assert {rule.span for rule in found.rules} == {rule.span for rule in after.rules}
        assert storage.current.program.following(before, before) is storage.current.program
    storage.close()


def test_feeds_are_kept_for_some_versions(tmp_path: Path) -> None:
    storage = Storage.open(None, str(tmp_path), keep_versions=3)
    once = arrow({(0, "once"): 1})
    storage.commit(
        CommitChange(
            timestamp=timestamp(1), tables={name: NewTable("rows", COLUMNS) for name in ("t", "u")}, feed={"u": once}
        )
    )
    for version in range(2, 9):
        changes = arrow({(version, "x"): 1})
        # What others see may be something else than what is stored.
        storage.commit(
            CommitChange(timestamp=timestamp(version), logs={"t": changes}, feed={"t": arrow({(0, "y"): version})})
        )
    for _ in range(2):
        assert [part.version for part in storage.feed("t", Version(5))] == [6, 7, 8]
        with pytest.raises(StateError, match="the changes of 't' are there from version 6 on") as caught:
            storage.feed("t", Version(4))
        assert "which is 3 now" in str(caught.value.hint)
        with pytest.raises(StateError, match="the changes of 'u' are there from version 2 on"):
            storage.feed("u", Version(0))
        assert storage.feed("u", Version(1)) == []
        storage.close()
        storage = Storage.open(None, str(tmp_path), keep_versions=3)
    storage.close()
    # What was forgotten does not come back with a longer memory.
    storage = Storage.open(None, str(tmp_path), keep_versions=100)
    with pytest.raises(StateError, match="from version 6 on"):
        storage.feed("t", Version(4))
    # Another relation of that name has nothing to do with it.
    storage.commit(CommitChange(timestamp=timestamp(9), renewed=["t"], feed={"t": once}))
    assert [part.version for part in storage.feed("t", Version(0))] == [9]
    assert storage.current.tables["t"].logs
    storage.close()


def test_logs_become_few() -> None:
    storage = Storage.open(None, None, keep_versions=1)
    storage.commit(CommitChange(timestamp=timestamp(1), tables={"t": NewTable("rows", COLUMNS)}))
    for number in range(2000):
        storage.commit(CommitChange(timestamp=timestamp(number), logs={"t": arrow({(number, "x"): 1, (5, "same"): 1})}))
    logs = storage.current.tables["t"].logs
    assert len(logs) <= STEPS + 5
    assert sum(log.rows for log in logs) == 4000
    assert len(storage.files.entries("commits")) <= STEPS + 5
    found = storage.logs(["t"])["t"]
    assert found.filter(pa.compute.equal(found["c1"], "x"))["c0"].to_pylist() == list(range(2000))
    rewrite(storage, in_segments=False)
    assert [log.rows for log in storage.current.tables["t"].logs] == [2001]
    assert contents(storage)["t"][5, "same"] == 2000
    storage.close()


@pytest.mark.parametrize(
    ("rows", "first"),
    [
        ([], 0),
        ([5], 0),
        ([9000], 1),
        ([900, 1, 1], 0),
        ([9000, 1, 1], 1),
        ([9000, 2000, 1, 1], 2),
        ([8000, 2000, 900], 0),
    ],
)
def test_which_logs_are_merged(rows: list[int], first: int) -> None:
    assert first_to_merge(rows) == first


def test_a_rewrite_is_no_version(tmp_path: Path) -> None:
    with without_spark():
        storage = Storage.open(None, str(tmp_path))
        for _ in range(12):
            commit(storage)
        before = storage.current
        for in_segments in (True, False, True):
            rewrite(storage, in_segments=in_segments)
            check(storage, 1000)
        assert (storage.current.version, storage.current.timestamp) == (before.version, before.timestamp)
        assert storage.current.number == before.number + 3
        # A frame over the state from before can still be read.
        kept = {entry.name for entry in storage.files.entries("segments")}
        storage.close()
        storage = Storage.open(None, str(tmp_path))
        check(storage, 1000)
        assert {entry.name for entry in storage.files.entries("segments")} <= kept
        storage.close()


def test_the_format_before_is_read_and_goes_on_as_the_new_one(tmp_path: Path) -> None:
    with without_spark():
        storage = Storage.open(None, str(tmp_path))
        for _ in range(12):
            commit(storage)
        rewrite(storage, in_segments=True)
        commit(storage)
        storage.close()
        for file in (tmp_path / "commits").iterdir():
            _, line, sections = file.read_bytes().split(b"\n", 2)
            header = json.loads(line)
            if "manifest" in header:
                del header["manifest"]["began"]
                for table in header["manifest"]["tables"].values():
                    table["segments"] = [segment[:3] for segment in table["segments"]]
            rest = json.dumps(header).encode() + b"\n" + sections
            file.write_bytes(f"whence commit 1 {hashlib.sha256(rest).hexdigest()}\n".encode() + rest)
        again = Storage.open(None, str(tmp_path))
        check(again, 1000)
        rewrite(again, in_segments=True)
        newest = max((tmp_path / "commits").iterdir())
        assert newest.read_bytes().startswith(b"whence commit 2 ")
        again.close()


def test_segments_that_are_not_needed_after_all(tmp_path: Path) -> None:
    with without_spark():
        storage = Storage.open(None, str(tmp_path))
        commit(storage)
        written = storage.write_segment(arrow({(1, "a"): 1}))
        rewrite(storage, in_segments=False)
        assert written.path in {f"segments/{entry.name}" for entry in storage.files.entries("segments")}
        storage.discard([written])
        assert written.path not in {f"segments/{entry.name}" for entry in storage.files.entries("segments")}
        storage.close()


def test_changes_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    storage = Storage.open(None, str(tmp_path))
    storage.commit(CommitChange(timestamp=timestamp(1), tables={"t": NewTable("rows", COLUMNS)}))
    with pytest.raises(InternalError, match="changes of 't' have columns"):
        storage.commit(CommitChange(timestamp=timestamp(2), logs={"t": pa.table({"c0": [1]})}))
    assert storage.current.version == 1
    storage.close()


def test_an_empty_program_has_no_definitions() -> None:
    assert StoredProgram().restore().relations == {}
