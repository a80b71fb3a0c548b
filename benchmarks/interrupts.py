"""A database that is interrupted at every moment at which Python can be: Ctrl-C in the middle of anything it does.

After each interrupt everything that can be seen must be as it was before the call or as it is after it, the next call
must work, and a directory that is opened again must agree. A twin in memory, which nobody interrupts, knows both.

`python -m benchmarks.interrupts 10000` interrupts so many calls; with a second number it begins there.
"""

from __future__ import annotations

import dis
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any, TypeAlias

import whence

SCHEMA = """
    CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, PRIMARY KEY (src, dst));
    CREATE TABLE beat(node INT, name STRING) TBLPROPERTIES ('ttl' = '2 minutes');
    CREATE TABLE last(node INT, name STRING) TBLPROPERTIES ('window_rows' = '5');
    CREATE VIEW degree AS SELECT src, count(*) AS n, max(dst) AS far FROM link GROUP BY src;
    CREATE VIEW both AS SELECT beat.node, beat.name, last.name AS other FROM beat JOIN last ON beat.node = last.node;
"""
REACHABLE = "reachable(x, y) :- link(x, y). reachable(x, y) :- link(x, z), reachable(z, y)."
# Kernels are compiled where nobody counts.
WARMING_UP = 100

Act: TypeAlias = "Callable[[whence.Database], object]"


class TornError(Exception):
    """Something happened in part."""


class Interrupter:
    """Sends this process the signal of Ctrl-C at one of the moments at which Python looks for signals.

    Those are the beginning of a function, the way back in a loop, and the return from a function that is not Python.
    """

    def __init__(self, moment: int) -> None:
        """At moment number `moment`; never if it is negative."""
        self._moment = moment
        self.moments = 0

    def run(self, work: Callable[[], object]) -> None:
        sys.setprofile(self._profile)
        sys.settrace(self._trace)
        try:
            work()
        finally:
            sys.settrace(None)
            sys.setprofile(None)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_lasti in _looking(frame.f_code):
            self._count()
        return self._trace

    def _profile(self, _: FrameType, event: str, __: object) -> None:
        if event == "c_return":
            self._count()

    def _count(self) -> None:
        self.moments += 1
        if self.moments - 1 == self._moment:
            signal.raise_signal(signal.SIGINT)


@cache
def _looking(code: CodeType) -> frozenset[int]:
    return frozenset(each.offset for each in dis.get_instructions(code) if each.opname in ("RESUME", "JUMP_BACKWARD"))


class Watched:
    """A database, what its subscribers have heard of, and how it is opened again."""

    def __init__(self, directory: Path | None, maintenance: str) -> None:
        self._directory = directory
        self._maintenance = maintenance
        self.heard: list[int] = []
        self.db = self.open()
        self.db.execute(SCHEMA)
        self.db.rules(REACHABLE)
        self.db.advance("2026-01-01")
        self.listen()

    def open(self) -> whence.Database:
        return whence.connect(self._directory, maintenance=self._maintenance)

    def listen(self) -> None:
        self.db.subscribe("link", self._hear)

    def open_again(self) -> None:
        self.db.close()
        if self._directory is not None:
            self.db = self.open()
            self.listen()

    def _hear(self, table: Any) -> None:
        self.heard += sorted(set(table.column("_commit_version").to_pylist()))


def acts(number: int, version: int) -> dict[str, Act]:
    """What call number `number` may do: always the same, for whoever makes it."""
    chance = Random(number)  # noqa: S311 - chance is not a secret here
    links = [(chance.randrange(9), chance.randrange(9)) for _ in range(4)]
    names = [(chance.randrange(5), chance.choice("abc")) for _ in range(4)]
    minutes = f"2026-01-{1 + version // 1440:02} {version // 60 % 24:02}:{version % 60:02}:00"

    def batch(db: whence.Database) -> None:
        with db.batch() as batch:
            batch.delete("link", links[:2], missing="ignore")
            batch.insert("link", links[2:])
            batch.insert("last", names[:2])
            batch.insert("beat", names)

    def view(db: whence.Database) -> None:
        if "far" in db.catalog().relations:
            db.execute("DROP VIEW far")
        else:
            db.rules(f"far(x) :- reachable(x, y), y > {number % 5}.")

    def table(db: whence.Database) -> None:
        db.execute("DROP TABLE extra" if "extra" in db.catalog().relations else "CREATE TABLE extra(x INT)")

    def select(db: whence.Database) -> None:
        has_some = db.query("SELECT src FROM link WHERE src >= 10").num_rows > 0
        db.execute(
            "DELETE FROM link WHERE src >= 10" if has_some else "INSERT INTO link SELECT dst + 10, src FROM link"
        )

    def ask(db: whence.Database) -> None:
        with suppress(whence.DataError, whence.UnknownNameError, whence.StateError):
            db.impact("link", links[0])
        with suppress(whence.DataError, whence.UnknownNameError, whence.StateError):
            db.why_not("degree", (3, 1, 3))

    return {
        "insert": lambda db: db.insert("link", links),
        "delete": lambda db: db.delete("link", links, missing="ignore"),
        "insert with a lifetime": lambda db: db.insert("beat", names),
        "insert into a window": lambda db: db.insert("last", names),
        "batch": batch,
        "advance": lambda db: db.advance(minutes),
        "redefine": lambda db: db.execute(
            f"CREATE OR REPLACE VIEW loud AS SELECT src FROM link WHERE dst > {number % 7}"
        ),
        "view": view,
        "table": table,
        "select": select,
        "what if": lambda db: db.what_if(insert={"beat": names}),
        "ask": ask,
        "function": lambda db: db.function("double", lambda x: 2 * x, returns="INT"),
    }


def seen(db: whence.Database) -> dict[str, object]:
    """Everything that can be seen from outside."""
    since = max(0, db.version - 5)
    found: dict[str, object] = {"version": db.version, "relations": sorted(db.catalog().relations)}
    for name in sorted(db.catalog().relations):
        found[name] = db.table(name).to_pylist()
        found[f"changes of {name}"] = db.changes(name, since).drop(["_commit_timestamp"]).to_pylist()
    return found


def differences(ours: dict[str, object], theirs: dict[str, object]) -> list[str]:
    return [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]


class Search:
    """The same calls on a database in memory, one in a directory, and a twin of each that is left alone."""

    def __init__(self, directory: Path) -> None:
        self._watched = [Watched(None, "auto"), Watched(directory / "state", "auto"), Watched(None, "dred")]
        self._twins = [Watched(None, "auto") for _ in self._watched]
        # How many moments a call has, of each kind in each database.
        self._moments: dict[tuple[str, int], int] = {}
        self.interrupted = 0

    def run(self, number: int, *, is_traced: bool = True) -> None:
        at = number % len(self._watched)
        watched, twin = self._watched[at], self._twins[at]
        chance = Random(f"moment {number}")  # noqa: S311 - chance is not a secret here
        possible = acts(number, twin.db.version)
        kind = chance.choice([*possible, *(["open again"] if at == 1 else [])])
        known = self._moments.get((kind, at), 0)
        interrupter = Interrupter(chance.randrange(known) if known and is_traced else -1)
        before = seen(twin.db)
        if kind in possible:
            possible[kind](twin.db)
        after = seen(twin.db)
        act: Act = possible[kind] if kind in possible else lambda _: watched.open_again()
        interrupt: KeyboardInterrupt | None = None
        try:
            if is_traced:
                interrupter.run(lambda: act(watched.db))
                self._moments[kind, at] = interrupter.moments
            else:
                act(watched.db)
        except KeyboardInterrupt as error:
            # Somebody may keep it, as Python does at its prompt, and with it all that was going on.
            interrupt = error
            self.interrupted += 1
        try:
            self._check(watched, twin, act, before, after, interrupt)
        except (TornError, whence.WhenceError) as error:
            raise TornError(f"call {number}, {kind!r} in database {at}: {error}") from (interrupt or error)

    def _check(
        self,
        watched: Watched,
        twin: Watched,
        act: Act,
        before: dict[str, object],
        after: dict[str, object],
        interrupt: KeyboardInterrupt | None,
    ) -> None:
        if watched.db.closed:
            watched.db = watched.open()
            watched.listen()
        now = seen(watched.db)
        if now != after and interrupt is not None and now == before:
            act(watched.db)
            now = seen(watched.db)
        if now != after:
            raise TornError(f"these are neither as before nor as after: {', '.join(differences(now, after))}")
        if len(set(watched.heard)) != len(watched.heard) or not set(watched.heard) <= set(twin.heard):
            raise TornError("a subscriber heard of a commit twice, or of one that was not there")
        _check_turns(watched.db)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return
        raise TornError("interrupts are still held")


def _check_turns(db: whence.Database) -> None:
    """Other threads must get their turn."""
    thread = threading.Thread(target=db.rows, args=["link"], daemon=True)
    thread.start()
    thread.join(10)
    if thread.is_alive():
        raise TornError("other threads wait for ever")


def search(cases: int, first: int = 0) -> int:
    """How many calls were interrupted. Raises where one of them was torn apart."""
    # In the background, a shell lets its programs ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as directory:
        found = Search(Path(directory))
        number = first
        for number in range(first, first + WARMING_UP):
            found.run(number, is_traced=False)
        while found.interrupted < cases:
            number += 1
            found.run(number)
            if number % 1000 == 0:
                print(f"{found.interrupted} calls interrupted", flush=True)
        return found.interrupted


def main() -> None:
    cases, first = (int(each) for each in (*sys.argv[1:], "1000", "0")[:2])
    started = time.perf_counter()
    print(f"{search(cases, first)} calls were interrupted in {time.perf_counter() - started:.0f} s, none torn apart")


if __name__ == "__main__":
    main()
