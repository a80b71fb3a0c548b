"""What a site knows, on disk: a SQLite file beside that of its database.

A commit of the site is on disk in its database first, and here before the call returns. What others told is on disk
here first, with a mark that tables have to follow. So whenever a process dies, what is in the two files tells which
of them is behind, and `Site` lets it catch up: see `recover` there.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from whence.errors import StateError, UnknownNameError
from whence.replica.knowledge import Dot, Item, Key, Knowledge, Length, Told
from whence.replica.presence import Derivation
from whence.replica.rows import ID_BYTES, Id

FILE = "site.db"
FORMAT_VERSION = 2
APPLICATION_ID = int.from_bytes(b"whns", "big")

_SCHEMA = """
    CREATE TABLE state (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE lengths (
        id BLOB PRIMARY KEY, number INTEGER NOT NULL, via TEXT NOT NULL, space TEXT NOT NULL, text TEXT NOT NULL,
        length INTEGER NOT NULL, dot INTEGER NOT NULL, site TEXT NOT NULL, stamps TEXT) WITHOUT ROWID;
    CREATE TABLE told (
        key BLOB PRIMARY KEY, number INTEGER NOT NULL, via TEXT NOT NULL, space TEXT NOT NULL, text TEXT NOT NULL,
        again INTEGER NOT NULL, needs INTEGER NOT NULL) WITHOUT ROWID;
"""


def site_name(directory: Path) -> str:
    """The name of the site in a directory; raises where there is none."""
    if not (directory / FILE).is_file():
        raise UnknownNameError(f"there is no site in {directory}", hint="`whence site init` makes one")
    store = Store(directory)
    try:
        return str(store.read_state()["name"])
    except KeyError:
        raise UnknownNameError(f"the site in {directory} has not been made completely") from None
    finally:
        store.close()


class Store:
    """The open file. Its owner holds the lock of the directory."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / FILE
        try:
            self._connection = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
            self._open()
        except sqlite3.Error as error:
            raise StateError(f"what the site in {directory} knows cannot be read: {error}") from error

    def _open(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if not application and not version:
            head = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT_VERSION};"
            connection.executescript(f"BEGIN; {_SCHEMA} {head} COMMIT;")
        elif (application, version) != (APPLICATION_ID, FORMAT_VERSION):
            raise StateError(
                f"{self._file} has format {version}, and this version of whence reads format {FORMAT_VERSION}"
            )

    def read_state(self) -> dict[str, Any]:
        found = self._connection.execute("SELECT name, value FROM state")
        return {name: json.loads(value) for name, value in found}

    def read_into(self, knowledge: Knowledge) -> None:
        """All that was known, in its order."""
        found: list[tuple[Key, Item, int, str]] = []
        for node, number, via, space, text, length, dot, site, stamps in self._connection.execute(
            "SELECT * FROM lengths"
        ):
            of_columns = None if stamps is None else tuple([Dot(*each) for each in json.loads(stamps)])
            found.append((node, Length(space, text, length, dot, site, of_columns), number, via))
        for key, number, via, space, text, again, needs in self._connection.execute("SELECT * FROM told"):
            derivation = _derivation(key, needs)
            told = Told(space, text, again, derivation.needs, derivation.without)
            found.append((derivation, told, number, via))
        found.sort(key=lambda each: each[2])
        for each in found:
            knowledge.restore(*each)

    def write(self, knowledge: Knowledge, since: int, forgotten: Iterable[Key], state: Mapping[str, str]) -> None:
        """What changed after a number, what is not known any more, and what else there is to keep: all or nothing."""
        lengths: list[tuple[object, ...]] = []
        told: list[tuple[object, ...]] = []
        for key, number in knowledge.since(since):
            place = (number, knowledge.via.get(key, ""))
            if isinstance(key, bytes):
                item = knowledge.lengths[key]
                stamps = None if item.stamps is None else json.dumps(item.stamps)
                lengths.append((key, *place, item.space, item.text, item.length, item.update, item.site, stamps))
            else:
                each = knowledge.told[key]
                told.append((_key(key), *place, each.space, each.text, each.number, len(each.needs)))
        try:
            with self._transaction() as connection:
                gone = [key if isinstance(key, bytes) else _key(key) for key in forgotten]
                connection.executemany("DELETE FROM lengths WHERE id = ?", [(key,) for key in gone])
                connection.executemany("DELETE FROM told WHERE key = ?", [(key,) for key in gone])
                connection.executemany("INSERT OR REPLACE INTO lengths VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", lengths)
                connection.executemany("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?, ?, ?, ?)", told)
                connection.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", state.items())
        except sqlite3.Error as error:
            raise StateError(f"what the site knows could not be written to {self._file}: {error}") from error

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _key(derivation: Derivation) -> bytes:
    return b"".join((derivation.head, *derivation.needs, *derivation.without))


def _derivation(key: bytes, needs: int) -> Derivation:
    ids: list[Id] = [key[at : at + ID_BYTES] for at in range(0, len(key), ID_BYTES)]
    return Derivation(ids[0], tuple(ids[1 : needs + 1]), tuple(ids[needs + 1 :]))
