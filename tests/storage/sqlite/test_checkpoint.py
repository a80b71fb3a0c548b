"""Columns beside the database: a quicker way to the same rows, and to nothing else."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import whence
from benchmarks.killing import check, killed
from whence.database.connect import open_snapshot
from whence.engines.local import engine
from whence.storage.sqlite import checkpoint
from whence.storage.sqlite.engine_state import EngineStates
from whence.storage.sqlite.rows import RowTable

FLIPS = int(os.environ.get("WHENCE_FLIPS", "60"))
KILLS = int(os.environ.get("WHENCE_KILLS", "4"))
FILE = "whence.db-columns-1"
ROWS = pa.table(
    {
        "x": pa.array([at % 150 if at % 7 else None for at in range(200)], pa.int32()),
        "s": pa.array([f"s{at % 13}" for at in range(200)]),
        "d": pa.array([at / 4 for at in range(200)]),
    }
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is in columns, and nothing is too small for a checkpoint. The engine's state, which has the rows of
    tables as well, is not there.
    """
    monkeypatch.setattr(engine, "ROWS_IN_COLUMNS", 0)
    monkeypatch.setattr(checkpoint, "LEAST_ROWS", 1)
    monkeypatch.setattr(EngineStates, "write", lambda *_, **__: None)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with whence.connect(tmp_path / "state") as db:
        db.execute("CREATE TABLE t(x INT, s STRING, d DOUBLE)")
        db.execute("CREATE TABLE keyed(k INT PRIMARY KEY, s STRING)")
        db.execute("CREATE VIEW v AS SELECT s, count(*) AS n FROM t GROUP BY s")
        db.insert("t", pa.concat_tables([ROWS, ROWS.slice(0, 20)]))
        db.insert("keyed", [(at, "a") for at in range(300)])
    return tmp_path / "state"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables whose rows are read one by one."""
    names: list[str] = []
    read = RowTable.read

    def noted(self: RowTable, *arguments: object) -> object:
        names.append(self._relation.name)
        return read(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(RowTable, "read", noted)
    return names


def contents(db: whence.Database) -> dict[str, tuple[pa.Table, pa.Table]]:
    return {name: (db.table(name), db.changes(name)) for name in sorted(db.catalog().relations)}


def change(db: whence.Database) -> None:
    """Rows come and go, as copies, as updates, whole and one by one."""
    db.insert("t", [(1, "s1", 0.25), (1, "s1", 0.25), (None, "new", None)])
    db.delete("t", ROWS.slice(0, 100))
    with db.batch() as batch:
        batch.delete("keyed", [(at, "a") for at in range(30)])
        batch.insert("keyed", [(at, "b") for at in range(10, 30)])


def test_opening_reads_no_rows(state: Path, reads: list[str]) -> None:
    assert (state / FILE).exists()
    with whence.connect(state) as db:
        assert reads == []
        assert db.table("t").num_rows == 220
        assert db.query("SELECT sum(n) AS n FROM v").to_pylist() == [{"n": 220}]
        change(db)
        before = contents(db)
    with whence.connect(state) as db:
        assert (reads, contents(db)) == ([], before)


def test_arrays_and_decimals(tmp_path: Path, reads: list[str]) -> None:
    rows = {(1, ("a", None), Decimal("1.50")), (2, None, None), (3, (), Decimal("-0.01")), (4, ("a",), None)}
    with whence.connect(tmp_path / "state") as db:
        db.execute("CREATE TABLE t(x INT, tags ARRAY<STRING>, d DECIMAL(30, 2))")
        db.insert("t", rows)
    with whence.connect(tmp_path / "state") as db:
        assert (reads, db.rows("t")) == ([], rows)


def test_closing_again_writes_nothing(state: Path) -> None:
    before = (state / FILE).stat().st_ino
    whence.connect(state).close()
    assert (state / FILE).stat().st_ino == before


def test_what_came_after(state: Path, tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "ROWS_PER_CHANGE", 1)
    with whence.connect(state) as db:
        change(db)
        # As if the process had been killed.
        copy = Path(shutil.copytree(state, tmp_path / "copy"))
        with open_snapshot(state) as snapshot:
            assert contents(snapshot) == contents(db)
        assert reads == []
        with whence.connect(copy) as again:
            assert (reads, contents(again)) == ([], contents(db))
    monkeypatch.setattr(checkpoint, "ROWS_PER_CHANGE", 1000)
    with whence.connect(copy) as again:
        again.insert("t", ROWS.slice(0, 100))
        again.insert("keyed", [(1000, None)])
        second = Path(shutil.copytree(copy, tmp_path / "second"))
        with whence.connect(second) as third:
            assert (sorted(reads), contents(third)) == (["keyed", "t"], contents(again))


def test_a_forgotten_feed(tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "ROWS_PER_CHANGE", 1)
    with whence.connect(tmp_path / "state", keep_versions=2) as db:
        db.execute("CREATE TABLE t(x INT, s STRING, d DOUBLE); CREATE TABLE other(x INT)")
        db.insert("t", ROWS)
        for x in range(5):
            db.insert("other", [(x,)])
        before = db.table("t")
    with whence.connect(tmp_path / "state", keep_versions=2) as db:
        assert (reads, db.table("t")) == ([], before)
        for x in range(5):
            db.insert("t", [(x, "s", None)])
        copy = Path(shutil.copytree(tmp_path / "state", tmp_path / "copy"))
        with whence.connect(copy) as again:
            assert (reads, again.table("t")) == (["t"], db.table("t"))


def test_a_torn_or_damaged_one(state: Path, reads: list[str]) -> None:
    with whence.connect(state) as db:
        before = contents(db)
    whole = (state / FILE).read_bytes()
    seed = random.Random().randrange(2**32)
    chance = random.Random(seed)
    damaged = [whole[: chance.randrange(len(whole))] for _ in range(FLIPS // 4)]
    damaged += [b"", whole[:-1], whole + b"\0", b"00000000 []\n", whole.replace(b"\n", b"", 1)]
    for _ in range(FLIPS):
        flipped = bytearray(whole)
        # Half of them in the first line.
        bit = chance.randrange(8 * chance.choice([whole.index(b"\n") + 1, len(whole)]))
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(flipped))
    for data in damaged:
        reads.clear()
        (state / FILE).write_bytes(data)
        with whence.connect(state) as db:
            assert (reads, contents(db)) == (["t"], before), f"the seed was {seed}"
        # It has been written again.
        with whence.connect(state) as db:
            assert reads == ["t"], f"the seed was {seed}"


def test_one_of_another_history(state: Path, tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "ROWS_PER_CHANGE", 1)
    other = Path(shutil.copytree(state, tmp_path / "other"))
    for directory, x in ((state, 1), (other, 2)):
        with whence.connect(directory) as db:
            db.insert("t", [(x, "s", 1.0)])
    foreign = (other / FILE).read_bytes()
    with whence.connect(state) as db:
        (state / FILE).write_bytes(foreign)
        with open_snapshot(state) as snapshot:
            assert (reads, contents(snapshot)) == (["t"], contents(db))
        reads.clear()
        # With commits that came later.
        db.insert("t", [(3, "s", 1.0)])
        with open_snapshot(state) as snapshot:
            assert (reads, contents(snapshot)) == (["t"], contents(db))
        # And one of a version that is not there yet.
        with whence.connect(other) as later:
            later.insert("t", [(x, "s", 1.0) for x in range(5)])
            later.insert("t", [(6, "s", 1.0)])
            later.insert("t", [(7, "s", 1.0)])
        (state / FILE).write_bytes((other / FILE).read_bytes())
        reads.clear()
        with open_snapshot(state) as snapshot:
            assert (reads, contents(snapshot)) == (["t"], contents(db))


def test_a_table_that_is_gone_or_another(state: Path, reads: list[str]) -> None:
    with whence.connect(state) as db:
        db.execute("DROP VIEW v")
        db.execute("DROP TABLE t")
        db.execute("CREATE TABLE t(x INT)")
        db.insert("t", [(1,)])
    assert not (state / FILE).exists()
    with whence.connect(state) as db:
        assert (reads, db.rows("t")) == ([], {(1,)})


@pytest.mark.parametrize("kind", ["fifo", "directory", "link"])
def test_something_else_in_its_place(state: Path, kind: str) -> None:
    with whence.connect(state) as db:
        before = contents(db)
    elsewhere = state.parent / "elsewhere"
    elsewhere.write_bytes((state / FILE).read_bytes())
    (state / FILE).unlink()
    make: dict[str, Callable[[Path], None]] = {
        "fifo": os.mkfifo,
        "directory": Path.mkdir,
        "link": lambda file: file.symlink_to(elsewhere),
    }
    make[kind](state / FILE)
    held = elsewhere.read_bytes()
    with whence.connect(state) as db:
        assert contents(db) == before
        change(db)
        after = contents(db)
    assert elsewhere.read_bytes() == held
    with whence.connect(state) as db:
        assert contents(db) == after


def test_none_of_what_memory_does_not_know_for_certain(tmp_path: Path) -> None:
    db = whence.connect(tmp_path)
    db.execute("CREATE TABLE t(x INT, s STRING, d DOUBLE)")
    db.insert("t", ROWS)
    db._session.intact = False  # noqa: SLF001 - as after an interrupt that came at the worst time
    db.close()
    assert not (tmp_path / FILE).exists()


def test_much_has_changed(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "LEAST_CHANGED", 100)
    with whence.connect(state) as db:
        before = (state / FILE).stat().st_ino
        db.insert("t", ROWS.slice(0, 50))
        assert (state / FILE).stat().st_ino == before
        db.insert("t", pa.concat_tables([ROWS.slice(0, 150)] * 4))
        db.insert("t", pa.table({"x": pa.array(range(900), pa.int32()), "s": ["s"] * 900, "d": [0.5] * 900}))
        assert (state / FILE).stat().st_ino != before


def test_a_disk_that_is_full(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError("no space left on device")

    with whence.connect(state) as db:
        change(db)
        before = contents(db)
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            db.close()
    with whence.connect(state) as db:
        assert contents(db) == before
    assert sorted(file.name for file in state.glob("*.new")) == []


VICTIM = """
import sys
import whence.engines.local.engine as engine
import whence.storage.sqlite.checkpoint as checkpoint
engine.ROWS_IN_COLUMNS, checkpoint.LEAST_ROWS, checkpoint.LEAST_CHANGED, checkpoint.ROWS_PER_CHANGE = 0, 1, 1, 0
from benchmarks.killing import _be_a_victim
_be_a_victim(sys.argv[1])
"""


def test_killed_at_any_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in test_kill.py, with checkpoints all the time."""
    monkeypatch.setattr(checkpoint, "ROWS_PER_CHANGE", 0)
    seed = random.Random().randrange(2**32)
    chance = random.Random(seed)
    state, version = tmp_path / "state", 0
    with whence.connect() as twin:
        for _ in range(KILLS):
            safe = max(version, killed(VICTIM, state, chance, most=60))
            # What it left, and not what closing would write.
            copy = Path(shutil.copytree(state, tmp_path / f"copy{safe}-{chance.random()}"))
            version = check(copy, safe, twin)
            shutil.rmtree(copy)
    assert version > 5, f"nothing was committed; the seed was {seed}"
    assert list(state.glob("whence.db-columns-*")) != [], f"the seed was {seed}"
