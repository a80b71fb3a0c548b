"""A session that follows the commits of another process, from what that process writes into its directory.

It begins with the rows that the directory has, and then does to its tables what each commit did, so that its views
follow at the cost of the change. It begins anew where that cannot be told: after other definitions, and where the
changes since are forgotten or do not lead to the rows that are there.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from whence.durable.beside import check_database, read_beside
from whence.durable.catalog import Known
from whence.durable.checksums import SUM_MASK, checksum
from whence.durable.journal import read_changes
from whence.durable.opening import read_notices, read_state, read_version
from whence.durable.values import row_writer
from whence.engines.engine import Engine
from whence.errors import Hint, StateError, Way, WhenceError
from whence.model.types import Row
from whence.model.updates import Delta, Update
from whence.session.clock import Tick
from whence.session.draft import key_of
from whence.session.history import Entry, ForgottenError, History
from whence.session.journal import State
from whence.session.session import Session
from whence.session.waiting import WaitingEngine
from whence.session.windows import restored_window


@dataclass(frozen=True, slots=True)
class Start:
    """A directory as one commit left it. `definitions` are the stored ones, to be compared with later ones."""

    state: State
    known: dict[str, Known]
    definitions: list[Any]
    digests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Advance:
    """From one version to a later one: the changes of tables, and what is in the directory then."""

    version: int
    tick: Tick | None
    notices: Sequence[str]
    deltas: Mapping[str, Delta]
    digests: Mapping[str, int]
    arrivals: Mapping[str, Mapping[Row, Sequence[int]]]


class FollowingSession(Session):
    """A session that makes no commits of its own."""

    def __init__(self, directory: Path, engine: Engine, start: Start) -> None:
        super().__init__(engine)
        self._directory = directory
        self.restore(start.state, None, _FollowedHistory(directory, start.known, lambda: self.version))

    def follow(self, advance: Advance) -> None:
        """Other commits have happened. If this raises, nothing has changed."""
        engine = self.engine
        # Views that lack a function wait, but their tables go on: who makes the commits has the function.
        (engine.engine if isinstance(engine, WaitingEngine) else engine).apply(Update(advance.deltas))
        for name, delta in advance.deltas.items():
            if (key := key_of(self.definitions.relations[name])) is not None:
                gone = {key(row): None for row, count in delta.items() if count < 0}
                self._follow_keys(name, {**gone, **{key(row): row for row, count in delta.items() if count > 0}})
        for name, arrivals in advance.arrivals.items():
            self._windows[name] = restored_window(self.definitions.relations[name], arrivals)
        if advance.tick is not None:
            self.clock.set(advance.tick)
        self.notices = list(advance.notices)
        self.version = advance.version

    def _change(self, *_: object, **__: object) -> NoReturn:
        raise StateError(
            f"the database in {self._directory} was opened for reading, and takes no version {self.version + 1}",
            hint=Hint("{} opens it for changes", (Way("connect", "whence.connect()", (self._directory,)),)),
        )


class Follower:
    """Keeps a session at what its directory has. Nothing is locked, and nothing is written there."""

    def __init__(self, directory: Path, make_engine: Callable[[], Engine]) -> None:
        self._directory = directory
        self._make_engine = make_engine
        self._begin()

    def newest(self) -> int:
        """The version that the directory has."""
        version, _ = read_beside(self._directory, lambda connection: read_version(self._directory, connection))
        return version

    def catch_up(self) -> None:
        """Bring `session` up to the directory. It may be another one afterwards."""
        advance = read_beside(self._directory, self._advance)
        if advance is None:
            self._begin()
        else:
            self._follow(advance)

    def _begin(self) -> None:
        check_database(self._directory)
        start = read_beside(self._directory, self._start)
        self.session = FollowingSession(self._directory, self._make_engine(), start)
        self._known = start.known
        self._definitions = start.definitions
        self._digests = start.digests

    def _follow(self, advance: Advance) -> None:
        digests = dict(self._digests)
        for name, delta in advance.deltas.items():
            growth = self._growth(name, delta, self.session.engine.counts(name))
            digests[name] = (digests[name] + growth) & SUM_MASK
        if digests != advance.digests:
            self._begin()
            return
        if advance.version == self.session.version:
            return
        try:
            self.session.follow(advance)
        except WhenceError:
            # What takes too many rounds as a change may take fewer from nothing.
            self._begin()
        else:
            self._digests = digests

    def _start(self, connection: sqlite3.Connection) -> Start:
        state, known = read_state(self._directory, connection)
        digests = _read_digests(connection, known)
        return Start(state, known, _stored_definitions(connection), digests)

    def _advance(self, connection: sqlite3.Connection) -> Advance | None:
        """What leads from this version to the newest; None if nothing does."""
        since = self.session.version
        version, tick = read_version(self._directory, connection)
        if version < since or _stored_definitions(connection) != self._definitions:
            return None
        deltas: dict[str, Delta] = {}
        arrivals: dict[str, Mapping[Row, Sequence[int]]] = {}
        for name, known in self._known.items():
            if known.rows is None:
                continue
            try:
                entries = read_changes(connection, self._directory, known, since)
            except ForgottenError:
                return None
            if delta := _sum(entries):
                deltas[name] = delta
            if known.relation.window is not None and version > since:
                # A row of a set that comes again changes its place in the window, and no feed tells.
                arrivals[name] = known.rows.read(connection)[0].arrivals
        digests = _read_digests(connection, self._known)
        return Advance(version, tick, read_notices(connection), deltas, digests, arrivals)

    def _growth(self, name: str, delta: Delta, counts: Mapping[Row, int]) -> int:
        """By how much a change makes the digest of a table grow, of which these are the rows before."""
        stored_form = row_writer(self._known[name].relation.columns)
        growth = 0
        for row, change in delta.items():
            stored, before = stored_form(row), counts.get(row, 0)
            growth += checksum(stored, before + change) if before + change else 0
            growth -= checksum(stored, before) if before else 0
        return growth & SUM_MASK


class _FollowedHistory(History):
    """Read from the directory when somebody asks, as far as the session has followed."""

    def __init__(self, directory: Path, known: Mapping[str, Known], version: Callable[[], int]) -> None:
        super().__init__()
        self._directory = directory
        self._known = known
        self._version = version

    def since(self, name: str, version: int) -> Sequence[Entry]:
        known = self._known[name]
        entries = read_beside(
            self._directory, lambda connection: read_changes(connection, self._directory, known, version)
        )
        return [entry for entry in entries if entry.version <= self._version()]


def _stored_definitions(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute("SELECT * FROM relations ORDER BY number").fetchall()


def _read_digests(connection: sqlite3.Connection, known: Mapping[str, Known]) -> dict[str, int]:
    by_number = dict(connection.execute("SELECT relation, digest FROM vitals").fetchall())
    return {name: by_number[each.number] for name, each in known.items() if each.rows is not None}


def _sum(entries: Sequence[Entry]) -> Delta:
    if len(entries) == 1:
        return entries[0].delta
    total: Counter[Row] = Counter()
    for entry in entries:
        for row, count in entry.delta.items():
            total[row] += count
    return {row: count for row, count in total.items() if count}
