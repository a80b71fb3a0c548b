"""Kernels that are not compiled yet: views are right without them, and faster once they are there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import whence
from whence.columns import kernel_cache
from whence.columns.kernel_cache import are_compiled, cache_folder, note_compiled
from whence.engines.local import compilation
from whence.engines.local.columns import Columns
from whence.engines.local.compilation import COLUMNS, FOREST

SRC = Path(whence.__file__).parent.parent

REACHABLE = """
import sys, whence
db = whence.connect()
db.rules('''
    .decl link(x: number, y: number)
    reachable(x, y) :- link(x, y).
    reachable(x, y) :- link(x, z), reachable(z, y).
''')
db.insert("link", [(1, 2), (2, 3), (3, 1)])
db.delete("link", [(3, 1)])
assert db.rows("reachable") == {(1, 2), (2, 3), (1, 3)}
print("numba" in sys.modules)
print(db.explain("reachable"))
"""
NOT_YET = "kept by absorption (recursive: a proof forest, not compiled yet: "
COMPILED = "kept by absorption (recursive: a compiled proof forest)"


def run(program: str, mode: str, cache: Path, *arguments: str) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "WHENCE_COMPILE": mode, "PYTHONPATH": str(SRC)}
    command = [sys.executable, *(["-c", program] if program else []), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sources with two compiled files, which are all there are."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    kernel_cache.fingerprint.cache_clear()
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "a.py").write_text("one = 1")
    found = cache_folder(sources)
    assert found is not None
    found.mkdir(parents=True)
    for name in ("a.f-1.py311.nbi", "a.f-1.py311.1.nbc"):
        (found / name).write_bytes(b"compiled")
    note_compiled(sources)
    assert are_compiled(sources)
    return sources


def listed(sources: Path) -> Path:
    found = cache_folder(sources)
    assert found is not None
    (path,) = found.glob("kernels.*.json")
    return path


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kernels": 1}', '{"kernels": "other", "files": []}'])
def test_a_list_that_is_broken_or_foreign_does_not_count(folder: Path, text: str) -> None:
    listed(folder).write_text(text)
    assert not are_compiled(folder)


def test_a_list_that_is_cut_off_does_not_count(folder: Path) -> None:
    path = listed(folder)
    path.write_text(path.read_text()[:-10])
    assert not are_compiled(folder)


def test_a_list_of_files_that_are_gone_does_not_count(folder: Path) -> None:
    path = listed(folder)
    (path.parent / json.loads(path.read_text())["files"][0]).unlink()
    assert not are_compiled(folder)


@pytest.mark.parametrize("part", ["_processor", "_sources_and_compiler"])
def test_another_machine_or_version_has_its_own_list(folder: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_cache.fingerprint.cache_clear()
    with monkeypatch.context() as other:
        other.setattr(kernel_cache, part, lambda *_: "another")
        assert not are_compiled(folder)
    kernel_cache.fingerprint.cache_clear()
    assert are_compiled(folder)


def test_where_the_package_cannot_be_written_the_user_has_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    is_allowed = os.access
    sources = tmp_path / "sources"
    sources.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != sources and is_allowed(path, mode))
    found = cache_folder(sources)
    assert found is not None
    assert found.parent == tmp_path / "cache" / "numba"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert cache_folder(sources) is None
    assert not are_compiled(sources)


def test_the_cache_folder_is_the_one_that_numba_takes() -> None:
    from whence.columns.hash_index import enter
    from whence.engines.local.forest.forests import follow

    kernels: list[tuple[Any, Path]] = [(follow, FOREST), (enter, COLUMNS)]
    for kernel, sources in kernels:
        assert cache_folder(sources) == Path(kernel.stats.cache_path)


def test_a_mode_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_COMPILE", "sometimes")
    monkeypatch.setattr(compilation, "_state", compilation.State())
    monkeypatch.setattr(compilation, "are_compiled", lambda _: False)
    with pytest.raises(whence.UnsupportedError, match="WHENCE_COMPILE is 'sometimes'"):
        compilation.may_call(FOREST)


class Stage:
    """Kernels that are compiled when a test says so, and no process that compiles them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.compiled: set[Path] = set()
        self.started = 0
        monkeypatch.setenv("WHENCE_COMPILE", "background")
        monkeypatch.setattr(compilation, "_state", compilation.State())
        monkeypatch.setattr(compilation, "_SECONDS_BETWEEN_LOOKS", 0.0)
        monkeypatch.setattr(compilation, "are_compiled", self.compiled.__contains__)
        monkeypatch.setattr(compilation, "_started", self.start)

    def start(self, *, is_patient: bool) -> subprocess.Popen[bytes]:
        assert not is_patient
        self.started += 1
        process = subprocess.Popen([sys.executable, "-c", ""])
        process.wait()
        return process


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


RULES = """
    reachable(x, y) :- link(x, y).
    reachable(x, y) :- link(x, z), reachable(z, y).
"""


def test_a_view_goes_over_to_the_kernels_with_the_next_commit(stage: Stage) -> None:
    db, expected = whence.connect(), whence.connect(engine="reference")
    for each in (db, expected):
        each.execute("CREATE TABLE link(x INT, y INT)")
        each.rules(RULES)
        each.rules("far(x, y) :- reachable(x, y), !link(x, y).")
        each.insert("link", [(n, n + 1) for n in range(20)])
    assert NOT_YET + "the kernels are being compiled" in db.explain("reachable")
    assert db.rows("far") == expected.rows("far")
    assert stage.started == 1
    stage.compiled.add(FOREST)
    before = db.version
    for each in (db, expected):
        each.delete("link", [(10, 11)])
    assert COMPILED in db.explain("reachable")
    for view in ("reachable", "far"):
        assert db.rows(view) == expected.rows(view)
        # The commit has changed what it changed, and nothing else.
        assert len(db.changes(view, since=before)) == len(expected.changes(view, since=before))


def test_rows_go_into_columns_when_there_are_kernels(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.engines.local.engine.ROWS_IN_COLUMNS", 10)
    made: list[Columns] = []

    def noted(*parts: Any) -> Columns:
        made.append(Columns(*parts))
        return made[-1]

    monkeypatch.setattr("whence.engines.local.columns.Columns", noted)
    db = whence.connect()
    db.execute("CREATE TABLE t(a INT, b INT); CREATE VIEW v AS SELECT a, sum(b) AS s FROM t GROUP BY a")
    db.insert("t", [(n % 3, n) for n in range(20)])
    db.insert("t", [(4, 4)])
    assert (made, stage.started) == ([], 1)
    stage.compiled.add(COLUMNS)
    db.insert("t", [(4, 5)])
    assert made
    assert db.rows("v") == {(0, 63), (1, 70), (2, 57), (4, 9)}


def test_what_columns_cannot_hold_stays_in_rows(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.engines.local.engine.ROWS_IN_COLUMNS", 10)
    db = whence.connect()
    db.execute("CREATE TABLE t(a BIGINT)")
    db.insert("t", [(-(2**63),)])
    stage.compiled.add(COLUMNS)
    db.insert("t", [(n,) for n in range(20)])
    db.insert("t", [(21,)])
    assert len(db.rows("t")) == 22


def test_compiling_from_nothing(tmp_path: Path) -> None:
    """The one test that compiles: not before, while, and after that, and what is left when it is killed."""
    found = run(REACHABLE, "never", tmp_path)
    assert found.startswith("False\n")
    assert NOT_YET in found
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(SRC)}
    command = [sys.executable, "-m", "whence", "warmup", "--quiet"]
    killed = subprocess.Popen(command, env=environment)
    while len(list(tmp_path.glob("forest_*/*.nbc"))) < 2:
        assert killed.poll() is None
        time.sleep(0.05)
    # Whoever comes meanwhile goes on without kernels, and starts another process, which leaves it to the first.
    assert NOT_YET in run(REACHABLE, "background", tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert NOT_YET in run(REACHABLE, "never", tmp_path)
    told = run("", "wait", tmp_path, "-m", "whence", "warmup").splitlines()
    assert told[-1].startswith("all kernels are compiled, after ")
    assert COMPILED in run(REACHABLE, "never", tmp_path)
    assert run("", "never", tmp_path, "-m", "whence", "warmup") == "all kernels are compiled already\n"
    kernels = {path.name for path in tmp_path.glob("*/*.nbi")}
    decorated = [
        line for path in (*FOREST.glob("*.py"), *COLUMNS.glob("*.py")) for line in path.read_text().split("\n")
    ]
    # Each has a file of its own.
    assert len(kernels) == decorated.count("@kernel") + decorated.count("@shared_kernel")
