"""The entrance: a database on the engine that its user asks for, or one that follows another process."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NoReturn

from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.database.database import Database
from whence.engines.engine import Engine
from whence.engines.local.engine import LocalEngine
from whence.engines.local.strategies import MAINTENANCE
from whence.engines.reference.engine import ReferenceEngine
from whence.errors import TypeMismatchError, UnsupportedError
from whence.interrupts import held, steady_context
from whence.model.updates import Version
from whence.session.journal import KEEP_VERSIONS, MemoryJournal
from whence.session.session import Session


def connect(
    target: object = None,
    *,
    engine: str | None = None,
    maintenance: str = "auto",
    max_rounds: int = DEFAULT_LIMITS.rounds,
    keep_versions: int = KEEP_VERSIONS,
    derivations: str = "counted",
) -> Database:
    """A database: in memory, or kept in the directory `target`, which is made or opened again.

    In a directory every commit is on disk before the call returns, and only one process can have it open.
    `engine` is "local", which follows changes in this process; "spark", which does so on a cluster; or "reference",
    which recomputes everything and is slow and plain. With a SparkSession as `target` it is Spark, and the database
    goes away when it is closed; with engine="spark" the path can be any that Spark can reach.
    `maintenance` names a strategy for recursive views; "auto" takes the best one for each.
    `max_rounds` bounds how long a recursion may go on that makes new values, such as costs along paths: so many rounds,
    and rows and work in proportion.
    `keep_versions` is for how many of the last commits `changes` can tell what they did.
    With `derivations` "kept" every view that is defined from now on, by SQL or mappings, also keeps how each of its
    rules derived its rows, which takes room, and makes later changes of its definition cheaper.
    """
    if derivations not in ("counted", "kept"):
        raise UnsupportedError(f"derivations are not {derivations!r}", hint='they are "counted" or "kept"')
    database = _connected(target, engine, maintenance, max_rounds, keep_versions)
    database.keep_derivations(derivations == "kept")

    def open_beside(peer: str) -> Database:
        beside = f"{_path(target)}/peers/{peer}" if isinstance(target, str | os.PathLike) else target
        return connect(
            beside,
            engine=engine,
            maintenance=maintenance,
            max_rounds=max_rounds,
            keep_versions=keep_versions,
            derivations=derivations,
        )

    database.open_beside = open_beside
    return database


def _connected(target: object, engine: str | None, maintenance: str, max_rounds: int, keep_versions: int) -> Database:
    if engine not in (None, "local", "reference", "spark"):
        raise UnsupportedError(f"there is no engine {engine!r}", hint='there is "local", "spark" and "reference"')
    on_spark = type(target).__module__.startswith("pyspark.")
    path = _path(target) if isinstance(target, str | os.PathLike) else None
    if target is not None and path is None and not on_spark:
        raise UnsupportedError(
            f"a database cannot be made on a {type(target).__name__}",
            hint="give the path of a directory, a SparkSession, or nothing for a database in memory",
        )
    if on_spark and engine not in (None, "spark"):
        raise UnsupportedError(f"a database on a Spark session has no {engine} engine", hint='take engine="spark"')
    limits = RecursionLimits.for_rounds(_positive(max_rounds, "max_rounds", "rounds"))
    kept = _positive(keep_versions, "keep_versions", "versions")
    if engine == "reference":
        if maintenance not in ("auto", "recompute"):
            raise UnsupportedError("the reference engine always recomputes", hint='take engine="local"')
        return _whole(lambda: Database(_session(ReferenceEngine(limits), kept, path)))
    if maintenance not in MAINTENANCE:
        known = ", ".join(f'"{name}"' for name in MAINTENANCE)
        raise UnsupportedError(f"there is no maintenance {maintenance!r}", hint=f"there is {known}")
    if on_spark or engine == "spark":
        return _whole(lambda: _on_spark(target if on_spark else None, path, maintenance, limits, kept))
    return _whole(lambda: Database(_session(LocalEngine(maintenance, limits), kept, path)))


def local_session(path: str | os.PathLike[str] | None) -> Session:
    """What a database of this process works on, in memory or in a directory."""
    return _session(LocalEngine("auto", DEFAULT_LIMITS), KEEP_VERSIONS, None if path is None else _path(path))


def _whole(opened: Callable[[], Database]) -> Database:
    """An interrupt leaves no database open that the caller does not get."""
    database: Database | None = None
    try:
        with held():
            database = opened()
    except BaseException:
        if database is not None:
            database.close()
        raise
    return database


def _session(engine: Engine, keep_versions: int, path: str | None) -> Session:
    session = Session(engine, MemoryJournal(keep_versions))
    if path is not None:
        from whence.storage.sqlite.directory import open_directory

        open_directory(Path(path), session, keep_versions)
    return session


def _on_spark(spark: Any, path: str | None, maintenance: str, limits: RecursionLimits, keep_versions: int) -> Database:
    try:
        from whence.spark.database import connect_spark
    except ImportError as error:
        extras = {"pyspark": "spark", "xxhash": "cluster"}
        if error.name not in extras:
            raise
        raise UnsupportedError(
            f"the Spark engine needs {error.name}", hint=f"pip install 'whence[{extras[error.name]}]'"
        ) from None
    return connect_spark(spark, path, maintenance, limits, keep_versions)


def _path(target: str | os.PathLike[str]) -> str:
    path: object = os.fspath(target)
    if not isinstance(path, str) or not path or "\0" in path:
        raise TypeMismatchError(f"a directory goes by its path, not by {path!r}")
    return path


def _positive(number: object, option: str, things: str) -> int:
    if isinstance(number, int) and number > 0:
        return number
    raise TypeMismatchError(f"{option} is a number of {things}, not {number!r}")


class FollowedDatabase(Database):
    """Every question is about the newest version that its directory has when it is asked. Nothing can be changed."""

    def __init__(self, directory: Path) -> None:
        from whence.storage.sqlite.follower import Follower

        self._follower = Follower(directory, LocalEngine)
        self._questions = 0
        super().__init__(self._follower.session)

    @property
    def version(self) -> Version:
        """The version of the latest commit in the directory, which the next question is about."""
        return self._follower.newest()

    def subscribe(self, *_: object) -> NoReturn:
        raise UnsupportedError(
            "only the process that makes the commits can call somebody after each",
            hint="changes(since=...) tells what came since",
        )

    @steady_context
    def _reading(self) -> Generator[Session, None, None]:
        with super()._reading():
            # Within one question nothing changes.
            if self._questions == 0:
                self._follower.catch_up()
                self._session = self._follower.session
            self._questions += 1
            try:
                yield self._session
            finally:
                self._questions -= 1


def open_snapshot(directory: Path) -> Database:
    """A database as its directory has it now. It follows no later commits, and takes none."""
    from whence.storage.sqlite.follower import Follower

    return Database(Follower(directory, LocalEngine).session)
