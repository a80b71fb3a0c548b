"""What the engine keeps beside the database: a quicker way to the same views, and to nothing else."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from benchmarks.killing import check, killed
from tests.storage.sqlite.state_program import change, commit, contents, define
from whence.columns import table
from whence.engines.local import engine, saved_state
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.incremental.columnar import store
from whence.incremental.columnar.counting import ColumnCounting
from whence.storage.sqlite import checkpoint, directory
from whence.storage.sqlite.array_file import map_arrays, read_head, write_arrays
from whence.storage.sqlite.engine_state import load_engine

FLIPS = int(os.environ.get("WHENCE_FLIPS", "40"))
RUNS = int(os.environ.get("WHENCE_RUNS", "3"))
KILLS = int(os.environ.get("WHENCE_KILLS", "3"))
STEPS = 14
FILE = "whence.db-state"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is in columns, and nothing is too small or has changed too much."""
    monkeypatch.setattr(engine, "ROWS_IN_COLUMNS", 0)
    monkeypatch.setattr(checkpoint, "LEAST_ROWS", 1)
    monkeypatch.setattr(checkpoint, "ROWS_PER_CHANGE", 0)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The views that are built."""
    names: list[str] = []
    for kind in (ColumnCounting, ForestMaintainer):

        def noted(self: object, build: Callable[[Any], object] = kind.build) -> object:
            names.append(type(self).__name__)
            return build(self)

        monkeypatch.setattr(kind, "build", noted)
    return names


@pytest.fixture
def state(tmp_path: Path) -> Path:
    present: dict[str, list[object]] = {}
    chance = random.Random(7)
    with whence.connect(tmp_path / "state") as db:
        define(db)
        for _ in range(8):
            commit(db, change(chance, present))
    return tmp_path / "state"


def opened(place: Path) -> dict[str, object]:
    with whence.connect(place) as db:
        return {**contents(db), **{f"changes of {name}": db.changes(name) for name in sorted(db.catalog().relations)}}


def test_opening_builds_nothing(state: Path, builds: list[str]) -> None:
    before = opened(state)
    assert builds == []
    (state / FILE).unlink()
    # Without it everything is built, and the state is there again.
    assert opened(state) == before
    assert len(builds) > 10
    builds.clear()
    assert opened(state) == before
    assert builds == []


def test_closing_again_writes_nothing(state: Path) -> None:
    before = (state / FILE).stat().st_ino
    whence.connect(state).close()
    assert (state / FILE).stat().st_ino == before


def test_what_is_mapped_is_not_written_to(state: Path) -> None:
    before = (state / FILE).read_bytes()
    with whence.connect(state) as db:
        commit(db, change(random.Random(1), {"item": list(db.rows("item"))}))
        assert (state / FILE).read_bytes() == before


def replace(file: Path, data: bytes) -> None:
    file.unlink()
    file.write_bytes(data)


def test_a_mapped_file_is_not_changed_in_place(tmp_path: Path) -> None:
    file = tmp_path / "arrays"
    write_arrays(file, 1, {"numbers": np.arange(100_000)})
    assert not file.stat().st_mode & 0o222
    head = read_head(file)
    assert head is not None
    mapped = map_arrays(file, head)["numbers"]
    inode = file.stat().st_ino
    write_arrays(file, 2, {"numbers": np.zeros(10, np.int64)})
    assert file.stat().st_ino != inode
    assert mapped.sum() == sum(range(100_000))


def test_a_torn_or_damaged_one(state: Path, builds: list[str]) -> None:
    before = opened(state)
    whole = (state / FILE).read_bytes()
    seed = random.Random().randrange(2**32)
    chance = random.Random(seed)
    damaged = [whole[: chance.randrange(len(whole))] for _ in range(FLIPS // 4)]
    damaged += [
        b"",
        whole[:-1],
        whole + b"\0",
        whole.replace(b"\n", b"", 1),
        whole.replace(b"arrays-1", b"arrays-2", 1),
    ]
    for _ in range(FLIPS):
        flipped = bytearray(whole)
        bit = chance.randrange(8 * chance.choice([64, 2_000, len(whole)]))
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(flipped))
    for data in damaged:
        replace(state / FILE, data)
        builds.clear()
        assert opened(state) == before, f"the seed was {seed}"
        assert builds, f"the seed was {seed}"


def test_another_layout_or_version(state: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = opened(state)
    monkeypatch.setattr(saved_state, "layout", lambda: "another one")
    assert opened(state) == before
    assert len(builds) > 10
    builds.clear()
    assert opened(state) == before
    assert builds == []


def test_other_definitions(state: Path, tmp_path: Path, builds: list[str]) -> None:
    with whence.connect(state) as db:
        db.execute("CREATE OR REPLACE VIEW tags AS SELECT DISTINCT tag, day FROM item WHERE qty > 3")
        # As if the process had been killed.
        copy = Path(shutil.copytree(state, tmp_path / "copy"))
        builds.clear()
        with whence.connect(copy) as again:
            assert contents(again) == contents(db)
        assert len(builds) > 10


def test_another_history(state: Path, tmp_path: Path, builds: list[str]) -> None:
    other = Path(shutil.copytree(state, tmp_path / "other"))
    for place, number in ((state, 1), (other, 2)):
        with whence.connect(place) as db:
            db.insert("reading", [(number, 0.5)])
    replace(state / FILE, (other / FILE).read_bytes())
    builds.clear()
    assert opened(state)["reading"].to_pydict()["sensor"].count(1)  # type: ignore[attr-defined]
    assert len(builds) > 10


def test_too_much_came_after(state: Path, tmp_path: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "ROWS_PER_CHANGE", 1_000_000)
    with whence.connect(state) as db:
        db.insert("hop", [("n1", "n99", 1.0)])
        copy = Path(shutil.copytree(state, tmp_path / "copy"))
        builds.clear()
        with whence.connect(copy) as again:
            assert contents(again) == contents(db)
        assert len(builds) > 10


def test_a_damaged_database_is_noticed_before_it_is_written_to(state: Path) -> None:
    data = bytearray((state / "whence.db").read_bytes())
    page = int.from_bytes(data[16:18], "big")
    with whence.connect(state) as db:
        (root,) = db._session.journal._connection.execute(  # type: ignore[attr-defined]  # noqa: SLF001
            "SELECT rootpage FROM sqlite_master WHERE name = 'rows_1'"
        ).fetchone()
    data[(root - 1) * page] ^= 0xFF
    (state / "whence.db").write_bytes(data)
    with whence.connect(state) as db:
        before = contents(db)
        with pytest.raises(whence.StateError, match="is damaged"):
            db.insert("hop", [("n1", "n99", 1.0)])
        assert contents(db) == before
    assert (state / "whence.db").read_bytes() == bytes(data)


def test_none_of_what_memory_does_not_know_for_certain(state: Path, tmp_path: Path) -> None:
    (state / FILE).unlink()
    db = whence.connect(state)
    db._session.intact = False  # noqa: SLF001 - as after an interrupt that came at the worst time
    db.close()
    assert not (state / FILE).exists()


def test_views_that_call_a_function(tmp_path: Path) -> None:
    for factor in (2, 3):
        with whence.connect(tmp_path / "state") as db:
            if factor == 2:
                db.function("times", lambda x: x * 2, returns="INT")
                db.execute("CREATE TABLE t(x INT); CREATE VIEW plain AS SELECT x, count(*) AS n FROM t GROUP BY x")
                db.execute(
                    "CREATE VIEW called AS SELECT times(x) AS y FROM t; CREATE VIEW above AS SELECT y FROM called"
                )
                db.insert("t", [(x,) for x in range(50)])
            else:
                # The function is another one now, and what was computed by the former one counts for nothing.
                db.function("times", lambda x: x * 3, returns="INT")
            assert db.rows("called") == db.rows("above") == {(x * factor,) for x in range(50)}
            assert len(db.rows("plain")) == 50


@pytest.mark.parametrize("in_columns", [True, False])
def test_random_changes_between_openings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_columns: bool) -> None:
    """Against the oracle, and against a database that is never closed."""
    if not in_columns:
        monkeypatch.setattr(engine, "ROWS_IN_COLUMNS", 10**9)
    # Feeds refer to tables, which are packed all the time.
    monkeypatch.setattr(store, "MANY_CHANGED", 2)
    monkeypatch.setattr(table, "FEW_GONE", 2)
    loaded: list[bool] = []

    def noted(*given: Any) -> frozenset[str] | None:
        found = load_engine(*given)
        loaded.append(found is not None)
        return found

    monkeypatch.setattr(directory, "load_engine", noted)
    for run in range(RUNS):
        seed = random.Random().randrange(2**32)
        try:
            _random_run(tmp_path / f"state{run}", random.Random(seed), monkeypatch)
        except BaseException as error:
            error.add_note(f"the seed was {seed}")
            raise
    # Those that were not loaded had no state yet, or one of before the last definition.
    assert loaded.count(True) > len(loaded) // 2


def _random_run(place: Path, chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    present: dict[str, list[object]] = {}
    with whence.connect() as twin, whence.connect(engine="reference") as oracle:
        db = whence.connect(place)
        for each in (db, twin, oracle):
            define(each)
        for step in range(STEPS):
            if chance.random() < 0.15:
                for each in (db, twin, oracle):
                    each.advance(f"2026-01-01 00:{step:02}:00")
            else:
                changes = change(chance, present)
                for each in (db, twin, oracle):
                    commit(each, changes, as_arrow=chance.random() < 0.5)
            if chance.random() < 0.2:
                # A checkpoint in the middle.
                with monkeypatch.context() as patched:
                    patched.setattr(checkpoint, "LEAST_CHANGED", 0)
                    db._session.journal._states._changed = 10**9  # type: ignore[attr-defined]  # noqa: SLF001
                    db._session.journal.compact()  # noqa: SLF001
            moment = chance.random()
            if moment < 0.25:
                db.close()
                db = whence.connect(place)
            elif moment < 0.5:
                # As if the process had been killed.
                copy = Path(shutil.copytree(place, place.with_name(f"{place.name}-{step}")))
                db.close()
                place = copy
                db = whence.connect(place)
            assert contents(db) == contents(twin), f"at step {step}"
            assert contents(db) == contents(oracle), f"at step {step}"
        for name in contents(db):
            ours, other, expected = (each.changes(name).drop(["_commit_timestamp"]) for each in (db, twin, oracle))
            assert ours == other == expected, f"the changes of {name}"
        db.close()


VICTIM = """
import sys
import whence.engines.local.engine as engine
import whence.storage.sqlite.checkpoint as checkpoint
from whence.storage.sqlite.engine_state import EngineStates
engine.ROWS_IN_COLUMNS, checkpoint.LEAST_ROWS, checkpoint.ROWS_PER_CHANGE = 0, 1, 0
EngineStates.count = lambda self, rows: setattr(self, "_changed", 10**9)
from benchmarks.killing import _be_a_victim
_be_a_victim(sys.argv[1])
"""


def test_killed_while_it_is_written(tmp_path: Path) -> None:
    """As in test_kill.py, with a state after every commit."""
    seed = random.Random().randrange(2**32)
    chance = random.Random(seed)
    state, version, found = tmp_path / "state", 0, 0
    with whence.connect() as twin:
        for _ in range(KILLS):
            safe = max(version, killed(VICTIM, state, chance, most=40))
            found += (state / FILE).exists()
            # What it left, and not what closing would write.
            copy = Path(shutil.copytree(state, tmp_path / f"copy{safe}-{chance.random()}"))
            version = check(copy, safe, twin)
            shutil.rmtree(copy)
    assert version > 5 and found, f"the seed was {seed}"
