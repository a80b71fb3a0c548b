"""A directory becomes a session: made, opened as the last commit left it, or read beside the process that has it open.

SQLite lets readers in beside the one who writes, and each sees the last commit before it began. A commit that is only
half in the log, because its writer is at it or has died, is not there.
"""

from __future__ import annotations

import datetime
import sqlite3
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from whence.engines.engine import SavesState
from whence.errors import StateError, UnknownNameError, WhenceError
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Version
from whence.session.journal import Entry, ForgottenError, State, TableState
from whence.session.lifetimes import Tick
from whence.session.session import Session
from whence.storage.sqlite import files
from whence.storage.sqlite.checkpoint import can_have_checkpoint, read_checkpoint
from whence.storage.sqlite.definitions import StoredRelation, read_definitions
from whence.storage.sqlite.engine_state import has_state, load_engine
from whence.storage.sqlite.feeds import read_changes
from whence.storage.sqlite.files import DirectoryLock, check_pages, check_version, read_vitals
from whence.storage.sqlite.journal import StoredJournal
from whence.storage.sqlite.values import checksum

T = TypeVar("T")

# Which file it is, how long, and when it was written; None where there is none.
_Stamp: TypeAlias = tuple[int, int, int] | None

# Another process opens or closes the database just now: a moment later that is done.
_ATTEMPTS = 10
_RETRY_SECONDS = 0.02

_IMMUTABLE = "immutable=1"
_LOG_HEADER = 32


def read_beside(directory: Path, read: Callable[[sqlite3.Connection], T]) -> T:
    """What `read` finds, in one transaction. It is called again where the files came, went or changed meanwhile."""
    for attempt in range(1, _ATTEMPTS + 1):
        before = _stamps(directory)
        try:
            mode = _mode(directory, is_first=attempt == 1)
            found = _read(directory, mode, read)
            if mode != _IMMUTABLE or _stamps(directory) == before:
                return found
        except (*files.UNREADABLE, OSError, StateError) as error:
            is_settled = attempt > 1 and _stamps(directory) == before
            is_final = isinstance(error, ForgottenError) or is_settled or attempt == _ATTEMPTS
            if is_final and isinstance(error, StateError):
                raise
            if is_final:
                raise _unreadable(directory, error) from error
        time.sleep(_RETRY_SECONDS)
    raise StateError(f"the database in {directory} was opened and closed again whenever it was read")


def check_database(directory: Path) -> None:
    """Raises where there is none, or one of another program or version."""
    if files.is_new(directory):
        raise UnknownNameError(f"there is no database in {directory}")
    files.check_identity(directory)


def _read(directory: Path, mode: str, read: Callable[[sqlite3.Connection], T]) -> T:
    uri = f"{(directory / files.DATABASE_FILE).absolute().as_uri()}?{mode}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        return read(connection)


def _unreadable(directory: Path, error: Exception) -> StateError:
    if isinstance(error, OSError | sqlite3.OperationalError):
        return StateError(f"the database in {directory} cannot be read: {error}")
    return files.damaged(directory, str(error))


def _mode(directory: Path, *, is_first: bool) -> str:
    """How SQLite reads without writing anything, not even its index of the log.

    Where there is no log it must not make one. It needs an index of its own only beside a log that has none, which is
    that of a copied directory, or one whose writer died at its first bytes.
    """
    index, log = (directory / f"{files.DATABASE_FILE}{ending}" for ending in ("-shm", "-wal"))
    if not index.exists():
        return "mode=ro" if files.has_log(directory) else _IMMUTABLE
    # SQLite looks in vain for an index of a log without any page, and for a long time.
    if is_first and log.exists() and log.stat().st_size != _LOG_HEADER:
        return "mode=ro&readonly_shm=1"
    return "mode=ro"


def _stamps(directory: Path) -> list[_Stamp]:
    return [_stamp(directory / f"{files.DATABASE_FILE}{ending}") for ending in ("", "-wal", "-shm")]


def _stamp(file: Path) -> _Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def open_directory(directory: Path, session: Session, keep_versions: int) -> None:
    """Fill a new session with what is in the directory, and keep there what it commits from now on."""
    try:
        is_new = files.is_new(directory)
        if is_new:
            directory.mkdir(parents=True, exist_ok=True)
        lock = DirectoryLock(directory)
    except OSError as error:
        raise _unusable(directory, error) from error
    try:
        # Another process may have made it while this one waited for nothing.
        if is_new and files.is_new(directory):
            files.create(directory)
        files.check_identity(directory)
        with files.reading(directory) as connection:
            saving = session.engine.capabilities.saving if has_state(directory) else None
            # Whatever is read has a checksum. What is not read then is looked at before anything is written.
            if saving is None:
                check_pages(directory, connection)
            state, known = read_state(directory, connection, saving)
            if saving is not None and not state.is_loaded:
                check_pages(directory, connection)
        check_version(directory, state.version)
        connection = files.writing(directory)
    except (OSError, sqlite3.Error) as error:
        lock.release()
        raise _unusable(directory, error) from error
    except BaseException:
        lock.release()
        raise
    # A database that nobody has any more is closed by Python, which a cycle would put off.
    reference = weakref.ref(session)

    def contents(name: str) -> Mapping[Row, int] | None:
        owner = reference()
        return owner.engine.counts(name) if owner is not None and owner.intact else None

    def saving_engine() -> SavesState | None:
        owner = reference()
        return owner.engine.capabilities.saving if owner is not None and owner.intact else None

    journal = StoredJournal(
        directory,
        lock,
        connection,
        known,
        keep_versions,
        contents,
        saving_engine,
        is_checked=not state.is_loaded,
    )
    try:
        session.restore(state, journal)
    except BaseException:
        # Nothing that is half there is written down.
        session.intact = False
        journal.close()
        raise


def read_state(
    directory: Path, connection: sqlite3.Connection, engine: SavesState | None = None
) -> tuple[State, dict[str, StoredRelation]]:
    """Everything but the changes of old versions. An engine gets what it kept, if that is there."""
    head = read_head(directory, connection)
    try:
        definitions, known = read_definitions(connection, directory, head.catalog)
    except StateError:
        raise
    except WhenceError as error:
        raise files.damaged(directory, f"its definitions cannot be understood: {error.message}") from error
    tables: dict[str, TableState] = {}

    def read(each: StoredRelation) -> TableState:
        name = each.relation.name
        if name not in tables:
            tables[name] = read_table(connection, directory, each)
        return tables[name]

    loaded = None
    if engine is not None:
        loaded = load_engine(connection, directory, engine, head.catalog, definitions, known, read)
    for name, each in known.items():
        if each.rows is None:
            continue
        if loaded is not None and name in loaded and can_have_checkpoint(each.relation):
            tables[name] = TableState({}, {}, {})
        else:
            read(each)
    notices, is_loaded = read_notices(connection), loaded is not None
    return State(head.version, definitions, tables, head.tick, notices, head.timestamp, is_loaded), known


def read_table(connection: sqlite3.Connection, directory: Path, known: StoredRelation) -> TableState:
    """From a checkpoint if there is one that leads to the rows."""
    vitals = read_vitals(connection, directory, known.number)
    table = None
    if vitals is not None and known.rows is not None:
        table = read_checkpoint(connection, directory, known, vitals) or known.rows.read(connection, vitals.digest)
    if table is None:
        raise files.damaged(directory, f"the rows of {known.relation.name!r} are not those that were written")
    return table


class StoredHead(NamedTuple):
    """What the last commit left: its version and time, the last time that was advanced to, the catalog's checksum."""

    version: Version
    timestamp: datetime.datetime | None
    tick: Tick | None
    catalog: int


def read_head(directory: Path, connection: sqlite3.Connection) -> StoredHead:
    found = connection.execute("SELECT version, time, by_wall, timestamp, catalog, checksum FROM state").fetchall()
    if len(found) != 1 or checksum(*found[0][:-1]) != found[0][-1]:
        raise files.damaged(directory, "its version is not the one that was written")
    version, time, by_wall, timestamp, catalog, _ = found[0]
    return StoredHead(
        version,
        None if timestamp is None else datetime.datetime.fromisoformat(timestamp),
        None if time is None else Tick(datetime.datetime.fromisoformat(time), bool(by_wall)),
        catalog,
    )


def read_notices(connection: sqlite3.Connection) -> list[str]:
    return [text for (text,) in connection.execute("SELECT text FROM notices ORDER BY number")]


def _unusable(directory: Path, error: Exception) -> StateError:
    return StateError(f"the database in {directory} cannot be opened: {error}")


class RelationNews(NamedTuple):
    """What changed in a relation up to a version."""

    relation: Relation
    entries: list[Entry]
    version: Version


class FeedReader:
    """Change feeds, as far as commits have come by the time of each call. Nothing is locked, and nothing written."""

    def __init__(self, directory: Path) -> None:
        check_database(directory)
        self._directory = directory

    def version(self) -> Version:
        return read_beside(self._directory, lambda connection: read_head(self._directory, connection)).version

    def changes(self, name: str, since: Version) -> RelationNews:
        """The changes of a table or view after a version."""

        def read(connection: sqlite3.Connection) -> RelationNews:
            head = read_head(self._directory, connection)
            definitions, known = read_definitions(connection, self._directory, head.catalog)
            relation = definitions.relation(name)
            entries = read_changes(connection, self._directory, known[relation.name], since)
            return RelationNews(relation, entries, head.version)

        return read_beside(self._directory, read)
