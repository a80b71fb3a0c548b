"""A database whose commits another process makes: it is read beside that process, and follows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from whence.database import Database
from whence.durable.following import Follower
from whence.engines.local.engine import LocalEngine
from whence.errors import UnsupportedError
from whence.session.session import Session


class FollowedDatabase(Database):
    """Every question is about the newest version that its directory has when it is asked. Nothing can be changed."""

    def __init__(self, directory: Path) -> None:
        self._follower = Follower(directory, LocalEngine)
        self._questions = 0
        super().__init__(self._follower.session)

    @property
    def version(self) -> int:
        """The version of the latest commit in the directory, which the next question is about."""
        return self._follower.newest()

    def subscribe(self, *_: object) -> NoReturn:
        raise UnsupportedError(
            "only the process that makes the commits can call somebody after each",
            hint="changes(since=...) tells what came since",
        )

    @contextmanager
    def _reading(self) -> Iterator[Session]:
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
    return Database(Follower(directory, LocalEngine).session)
