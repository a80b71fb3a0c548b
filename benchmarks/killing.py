"""A process that commits without end, and is killed in the middle of it, again and again.

What the commit of a version does follows from the version alone. So a database in memory can follow, and must agree
with the one that was killed; and a child that opens the directory again goes on where the last one died.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

import whence
from benchmarks.harness import ROOT

TABLES = ("link", "reading")
VIEWS = {
    "reachable": "reachable(x, y) :- link(x, y). reachable(x, y) :- link(x, z), reachable(z, y).",
    "average": "CREATE VIEW average AS SELECT sensor, avg(value) AS mean FROM reading GROUP BY sensor",
}
LINK = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, PRIMARY KEY (src, dst))"
READING = "CREATE TABLE reading(sensor INT NOT NULL, value DOUBLE) TBLPROPERTIES ('ttl' = '30 seconds')"

BEGINNING: tuple[Callable[[whence.Database], object], ...] = (
    lambda db: db.execute(LINK),
    lambda db: db.execute(READING),
    # From here on rows arrive in event time, which is the same for all who follow.
    lambda db: db.advance("2026-01-01"),
    lambda db: db.rules(VIEWS["reachable"]),
    lambda db: db.execute(VIEWS["average"]),
)


def commit(db: whence.Database) -> None:
    """The next commit: definitions first, then small changes and large ones, time, and another definition."""
    version = db.version + 1
    if version <= len(BEGINNING):
        BEGINNING[version - 1](db)
        return
    chance = Random(version)  # noqa: S311 - chance is not a secret here
    if version % 10 == 0:
        minutes, seconds = divmod(version, 60)
        db.advance(f"2026-01-{1 + minutes // 1440:02} {minutes // 60 % 24:02}:{minutes % 60:02}:{seconds:02}")
    elif version % 10 == 6:
        db.execute(f"CREATE OR REPLACE VIEW loud AS SELECT sensor, value FROM reading WHERE value > {version % 7}")
    else:
        many = 2000 if version % 25 == 1 else 3
        with db.batch() as batch:
            batch.insert("link", [(chance.randrange(30), chance.randrange(30)) for _ in range(2)])
            batch.delete("link", [(chance.randrange(30), chance.randrange(30)) for _ in range(30)], missing="ignore")
            batch.insert("reading", [(chance.randrange(9), chance.randrange(9) / 2) for _ in range(many)])


class LostError(Exception):
    """A commit is not there any more, or came out wrong."""


class Victims:
    """Children of a process that has loaded everything already, so that each is there at once."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "benchmarks.killing"]
        self._parent = subprocess.Popen(  # noqa: S603 - a module of this package
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._parent.communicate(timeout=60)

    def kill_one(self, directory: Path, chance: Random) -> int:
        """Let a child commit, kill it at some moment, and return the last version that it knew to be safe."""
        assert self._parent.stdin is not None and self._parent.stdout is not None
        print(directory, file=self._parent.stdin, flush=True)
        child = int(self._parent.stdout.readline())
        safe = 0
        # Some die while they open the directory, most while they commit.
        if chance.random() < 0.8:
            safe = int(self._parent.stdout.readline())
        time.sleep(chance.random() * 0.1)
        os.kill(child, signal.SIGKILL)
        for line in self._parent.stdout:
            if line == "dead\n":
                return safe
            safe = int(line)
        raise LostError("the parent of the victims has died")


def killed(program: str, state: Path, chance: Random, most: int) -> int:
    """Runs a program that is a victim of its own kind, and kills it. Answers the last version that it told of."""
    command = [sys.executable, "-c", program, str(state)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:  # noqa: S603 - of the tests
        assert victim.stdout is not None
        told = [int(victim.stdout.readline()) for _ in range(chance.randrange(2, most))]
        time.sleep(chance.random() * 0.05)
        victim.send_signal(signal.SIGKILL)
        return max([*told, *(int(line) for line in victim.stdout)])


def check(directory: Path, safe: int, twin: whence.Database) -> int:
    """Open what was left behind, and compare it with a twin in memory that makes the same commits."""
    with whence.connect(directory) as db:
        if not safe <= db.version <= safe + 1:
            raise LostError(f"version {safe} was acknowledged, and version {db.version} is there")
        while twin.version < db.version:
            commit(twin)
        names = sorted(twin.catalog().relations)
        if names != sorted(db.catalog().relations):
            raise LostError(f"there are other relations: {', '.join(sorted(db.catalog().relations))}")
        for name in names:
            if db.table(name) != twin.table(name):
                raise LostError(f"{name!r} differs at version {db.version}")
            since = max(0, db.version - 50)
            ours, theirs = (each.changes(name, since).drop(["_commit_timestamp"]) for each in (db, twin))
            if ours != theirs:
                raise LostError(f"the changes of {name!r} differ at version {db.version}")
        _check_views(db)
        return db.version


def _check_views(db: whence.Database) -> None:
    """The views must be those of the rows that are there, computed from nothing."""
    with whence.connect(engine="reference") as reference:
        for name, definition in zip(TABLES, (LINK, READING), strict=True):
            if name in db.catalog().relations:
                reference.execute(definition)
                reference.insert(name, db.table(name))
        for name in VIEWS.keys() & db.catalog().relations.keys():
            (reference.rules if name == "reachable" else reference.execute)(VIEWS[name])
            if reference.table(name) != db.table(name):
                raise LostError(f"{name!r} does not follow from its tables at version {db.version}")


def _be_a_victim(directory: str) -> None:
    with whence.connect(directory) as db:
        while True:
            os.write(1, f"{db.version}\n".encode())
            commit(db)


def _serve() -> None:
    with tempfile.TemporaryDirectory() as directory, whence.connect(directory) as db:
        while db.version < 20:
            commit(db)
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            # Not before everybody knows whom to kill.
            os.read(reading, 1)
            _be_a_victim(line.strip())
        os.write(1, f"{child}\n".encode())
        os.write(writing, b"!")
        os.waitpid(child, 0)
        os.write(1, b"dead\n")
        os.close(reading)
        os.close(writing)


if __name__ == "__main__":
    _serve()
