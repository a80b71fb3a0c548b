"""Commits read back: the last whole manifest, and the steps that followed it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from whence.durable.files import damaged
from whence.engines.spark.storage.commits import (
    COMMITS,
    FORMAT_VERSION,
    CommitFile,
    OtherFormatError,
    commit_number,
    commit_path,
    decode,
)
from whence.engines.spark.storage.files import Files
from whence.engines.spark.storage.json_values import MalformedError
from whence.engines.spark.storage.logs import unpack
from whence.engines.spark.storage.manifest import Log, Manifest
from whence.errors import StateError


@dataclass(frozen=True, slots=True)
class Current:
    """The newest manifest, and the number of the commit that its reading starts with."""

    manifest: Manifest
    since: int


def read_current(files: Files) -> Current | None:
    """None if there is no commit yet."""
    numbers = [number for entry in files.entries(COMMITS) if (number := commit_number(entry.name)) is not None]
    if not numbers:
        return None
    last = read_commit(files, max(numbers)).header
    if isinstance(last, Manifest):
        return Current(last, last.number)
    first = read_commit(files, last.since).header
    if not isinstance(first, Manifest):
        raise damaged(files.root, f"commit {last.since} does not say what the database consists of")
    manifest = first
    for number in range(last.since + 1, last.number + 1):
        step = last if number == last.number else read_commit(files, number).header
        if isinstance(step, Manifest) or step.since != last.since or step.version < manifest.version:
            raise damaged(files.root, f"commit {number} does not follow the one before")
        try:
            manifest = manifest.after(step)
        except KeyError as error:
            raise damaged(files.root, f"commit {number} changes {error}, which is not there") from None
    return Current(manifest, last.since)


def read_commit(files: Files, number: int) -> CommitFile:
    try:
        return decode(files.read(commit_path(number)), number)
    except FileNotFoundError:
        raise damaged(files.root, f"{commit_path(number)} is missing") from None
    except OSError as error:
        raise StateError(f"the database in {files.root} cannot be read: {error}") from error
    except MalformedError as error:
        raise damaged(files.root, f"{commit_path(number)}: {error}") from None
    except OtherFormatError as error:
        raise StateError(
            f"the database in {files.root} has format {error.version}, and this version of whence reads format "
            f"{FORMAT_VERSION}",
            hint="open it with the version of whence that wrote it",
        ) from None


def read_logs(files: Files, logs: Iterable[Log]) -> dict[Log, pa.Table]:
    """Each file is read once, however many of its sections are wanted."""
    by_number: dict[int, list[Log]] = {}
    for log in logs:
        by_number.setdefault(log.number, []).append(log)
    found: dict[Log, pa.Table] = {}
    for number, wanted in by_number.items():
        sections = read_commit(files, number).sections
        for log in wanted:
            try:
                found[log] = unpack(sections[log.section])
            except (IndexError, OSError, pa.ArrowInvalid):
                raise damaged(files.root, f"section {log.section} of {commit_path(number)} is no log") from None
            if found[log].num_rows != log.rows:
                raise damaged(files.root, f"section {log.section} of {commit_path(number)} has other rows")
    return found
