"""The change feeds that commits have left in a directory."""

from __future__ import annotations

import datetime
import sqlite3
from pathlib import Path

from whence.errors import StateError
from whence.model.updates import Version
from whence.session.journal import Entry, check_kept
from whence.storage.sqlite.definitions import StoredRelation
from whence.storage.sqlite.files import UNREADABLE, damaged, read_vitals
from whence.storage.sqlite.values import unpack


def read_changes(
    connection: sqlite3.Connection,
    directory: Path,
    known: StoredRelation,
    since: Version,
    keep_versions: int | None = None,
) -> list[Entry]:
    """The changes of a relation after a version. Raises where some of them have been dropped."""
    name = known.relation.name
    try:
        vitals = read_vitals(connection, directory, known.number)
        if vitals is None:
            raise StateError(f"{name!r} is gone, or another one has its name", hint="ask again")
        check_kept(name, since, vitals.dropped, keep_versions)
        stored = connection.execute(
            "SELECT version, relation, timestamp, former, delta FROM changes WHERE version > ? AND relation = ?",
            (since, known.number),
        ).fetchall()
    except UNREADABLE as error:
        raise damaged(directory, str(error)) from error
    # Each names the one before it, so that none can be missing.
    last = min(since, vitals.newest)
    entries: list[Entry] = []
    for *place, packed in stored:
        version, _, timestamp, former = place
        delta = unpack(known.relation, packed, tuple(place))
        if delta is None:
            raise damaged(directory, f"the changes of {name!r} in version {version} are not those written")
        if former > last if not entries else former != last:
            raise damaged(directory, f"changes of {name!r} before version {version} are missing")
        entries.append(Entry(version, datetime.datetime.fromisoformat(timestamp), delta))
        last = version
    if vitals.newest > last:
        raise damaged(directory, f"the changes of {name!r} in version {vitals.newest} are missing")
    return entries
