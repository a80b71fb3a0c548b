"""A session that follows the commits of another process, from what that process writes into its directory.

It begins with the rows that the directory has, and then does to its tables what each commit did, so that its views
follow at the cost of the change. It begins again where that cannot be told: after other definitions, and where the
changes since are forgotten or do not lead to the rows that are there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import Any, NoReturn

from whence.algebra.deltas import added
from whence.engines.engine import Engine
from whence.errors import Hint, NextStep, StateError, WhenceError
from whence.model.types import Row
from whence.model.updates import Delta, Version
from whence.session.contents import counts_of
from whence.session.journal import Entry, ForgottenError, Journal, Record, State
from whence.session.lifetimes import Tick
from whence.session.session import Session
from whence.storage.sqlite.definitions import StoredRelation
from whence.storage.sqlite.directory import check_database, read_beside, read_head, read_notices, read_state, read_table
from whence.storage.sqlite.feeds import read_changes
from whence.storage.sqlite.files import read_vitals
from whence.storage.sqlite.values import SUM_MASK, columns_of, digest, stored_columns, stored_rows


@dataclass(frozen=True, slots=True)
class FollowerStart:
    """A directory as one commit left it. `definitions` are the stored ones, to be compared with later ones."""

    state: State
    known: dict[str, StoredRelation]
    definitions: list[Any]
    digests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Advance:
    """From one version to a later one: the changes of tables, and what is in the directory then."""

    version: Version
    tick: Tick | None
    notices: Sequence[str]
    deltas: Mapping[str, Delta]
    digests: Mapping[str, int]
    arrivals: Mapping[str, Mapping[Row, Sequence[int]]]


class Follower:
    """Keeps a session at what its directory has. Nothing is locked, and nothing is written there."""

    def __init__(self, directory: Path, make_engine: Callable[[], Engine]) -> None:
        self._directory = directory
        self._make_engine = make_engine
        self._begin()

    def newest(self) -> Version:
        """The version that the directory has."""
        return read_beside(self._directory, lambda connection: read_head(self._directory, connection)).version

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
        self._journal = FollowedJournal(self._directory, start)
        self.session = Session(self._make_engine(), self._journal)
        self.session.restore(start.state)
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
            self.session.follow(advance.version, advance.deltas, advance.tick, advance.notices)
        except WhenceError:
            # What takes too many rounds as a change may take fewer from scratch.
            self._begin()
        else:
            for name, arrivals in advance.arrivals.items():
                self.session.tables.restore_window(name, arrivals)
            self._journal.version = advance.version
            self._digests = digests

    def _start(self, connection: sqlite3.Connection) -> FollowerStart:
        state, known = read_state(self._directory, connection)
        digests = self._read_digests(connection, known)
        return FollowerStart(state, known, _stored_definitions(connection), digests)

    def _advance(self, connection: sqlite3.Connection) -> Advance | None:
        """What leads from this version to the newest; None if nothing does."""
        since = self.session.version
        head = read_head(self._directory, connection)
        if head.version < since or _stored_definitions(connection) != self._definitions:
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
            if delta := added({}, *(entry.delta for entry in entries)):
                deltas[name] = delta
            if known.relation.window is not None and head.version > since:
                # A row of a set that comes again changes its place in the window, and no feed tells.
                arrivals[name] = read_table(connection, self._directory, known).arrivals
        digests = self._read_digests(connection, self._known)
        return Advance(head.version, head.tick, read_notices(connection), deltas, digests, arrivals)

    def _read_digests(self, connection: sqlite3.Connection, known: Mapping[str, StoredRelation]) -> dict[str, int]:
        tables = {name: each.number for name, each in known.items() if each.rows is not None}
        vitals = {name: read_vitals(connection, self._directory, number) for name, number in tables.items()}
        return {name: found.digest for name, found in vitals.items() if found is not None}

    def _growth(self, name: str, delta: Delta, counts: Mapping[Row, int]) -> int:
        """By how much a change makes the digest of a table grow, of which these are the rows before."""
        values, differences = columns_of(delta)
        stored = stored_rows(stored_columns(self._known[name].relation.columns, values), len(differences))
        before = counts_of(counts, delta)
        after = list(map(add, before, differences))
        return (digest(stored, after) - digest(stored, before)) & SUM_MASK


class FollowedJournal(Journal):
    """The journal that another process writes: it is read as far as its commits have been followed, up to `version`."""

    version = Version(0)

    def __init__(self, directory: Path, start: FollowerStart) -> None:
        self._directory = directory
        self._known = start.known
        self.version = start.state.version

    def begin(self, version: Version) -> NoReturn:
        raise StateError(
            f"the database in {self._directory} was opened for reading, and takes no version {version}",
            hint=Hint("{} opens it for changes", (NextStep("connect", "whence.connect()", (self._directory,)),)),
        )

    def append(self, record: Record) -> NoReturn:
        self.begin(record.version)

    def since(self, name: str, version: Version) -> Sequence[Entry]:
        known = self._known[name]
        entries = read_beside(
            self._directory, lambda connection: read_changes(connection, self._directory, known, version)
        )
        return [entry for entry in entries if entry.version <= self.version]


def _stored_definitions(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute("SELECT * FROM relations ORDER BY number").fetchall()
