"""The moment at which a commit happens: its file has its name."""

from __future__ import annotations

import secrets

from whence.engines.spark.storage.commits import commit_path, encode
from whence.engines.spark.storage.files import Files
from whence.engines.spark.storage.lock import Lock
from whence.engines.spark.storage.manifest import Manifest, Step
from whence.errors import StateError


class Writer:
    """`last` is the number of the last commit that is known to be kept, also after an error."""

    def __init__(self, files: Files, lock: Lock, last: int) -> None:
        self.last = last
        self._files = files
        self._lock = lock
        self._name = secrets.token_hex(8)
        # Why nothing is taken any more, and what to do.
        self._refusal: tuple[str, str | None] | None = None

    def put(self, header: Manifest | Step, sections: list[bytes]) -> None:
        if self._refusal is not None:
            raise self.stop(*self._refusal)
        data = encode(header, sections, self._name)
        path = commit_path(header.number)
        try:
            self._lock.check()
            # A store that was asked twice may answer the second time that there is such a file: this one.
            is_mine = self._files.create(path, data) or self._files.read(path) == data
        except BaseException as error:
            if self._is_there(path, data):
                self.last = header.number
            if isinstance(error, OSError):
                raise self._failure(error, is_kept=self.last == header.number) from error
            raise
        if not is_mine:
            raise self.stop(
                f"another process has committed to the database in {self._files.root}",
                hint="open it again to go on from there",
            )
        self.last = header.number
        if self._lock.can_be_taken:
            self._check_again()

    def stop(self, message: str, hint: str | None = None) -> StateError:
        """Refuse all that comes, and say why."""
        self._refusal = message, hint
        return StateError(message, hint=hint)

    def _is_there(self, path: str, data: bytes) -> bool:
        try:
            return self._files.read(path) == data
        except FileNotFoundError:
            return False
        except OSError as error:
            self.stop(
                f"whether the last commit is in {self._files.root} cannot be told: {_reason(error)}",
                hint="open the database again to see",
            )
            return False

    def _check_again(self) -> None:
        """A number is free again when its file has been collected, by one who took over long ago."""
        try:
            self._lock.check()
        except (OSError, StateError) as error:
            reason = _reason(error) if isinstance(error, OSError) else error.message
            raise self.stop(
                f"{reason}; whether it has the last commit is to be seen there", hint="open the database again to see"
            ) from error

    def _failure(self, error: OSError, *, is_kept: bool) -> StateError:
        if self._refusal is not None:
            return self.stop(*self._refusal)
        if is_kept:
            return StateError(f"the commit is in {self._files.root}, and may not survive there: {_reason(error)}")
        return StateError(
            f"the commit could not be written to {self._files.root}: {_reason(error)}",
            hint="it did not happen; the database can be read as before",
        )


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
