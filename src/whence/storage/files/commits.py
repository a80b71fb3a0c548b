"""A commit's file: a line that tells what it is, a line of JSON, and then the changes, section by section.

The first line has a checksum of all that follows. The second has the whole manifest, or what makes it of the one
before; `head -2` shows both. The newest manifest is read from the last whole one and the steps that followed it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import pyarrow as pa

from whence.errors import StateError
from whence.storage.files.changes import unpack
from whence.storage.files.encoding import (
    MalformedError,
    items,
    manifest_from_json,
    manifest_to_json,
    natural,
    record,
    step_from_json,
    step_to_json,
)
from whence.storage.files.files import Files
from whence.storage.files.manifest import Log, Manifest, ManifestStep
from whence.storage.sqlite.files import damaged

FORMAT_VERSION = 2
# What earlier versions wrote is read, and written as this one does from the next commit on.
READABLE = (1, 2)
COMMITS = "commits"

_FIRST_LINE = re.compile(rb"whence commit (\d{1,9}) ([0-9a-f]{64})\n")
# Of its first line.
_MARK = len("whence commit 1 ") + 64
_NAME = re.compile(r"(?P<number>\d{20})\.commit|\.(?P<unfinished>\d{20})\.commit\..*")


class OtherFormatError(Exception):
    """A file of another version of whence."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


@dataclass(frozen=True, slots=True)
class CommitFile:
    header: Manifest | ManifestStep
    sections: Sequence[memoryview]


def commit_path(number: int) -> str:
    return f"{COMMITS}/{number:020}.commit"


def commit_number(name: str) -> int | None:
    """The number of a commit by the name of its file; None if it is another file."""
    found = _NAME.fullmatch(name)
    return int(found["number"]) if found and found["number"] else None


def commit_numbers(files: Files) -> list[int]:
    """Those of all commits that are there."""
    return [number for entry in files.entries(COMMITS) if (number := commit_number(entry.name)) is not None]


def commit_mark(files: Files, number: int) -> bytes:
    """The checksum that a commit's file begins with."""
    try:
        (first,) = files.read_ranges(commit_path(number), [(0, _MARK)])
    except OSError as error:
        raise damaged(files.root, f"commit {number} cannot be read: {error}") from error
    return first


def unfinished_number(name: str) -> int | None:
    """The number that a commit was to have whose file was never given its name."""
    found = _NAME.fullmatch(name)
    return int(found["unfinished"]) if found and found["unfinished"] else None


def encode(header: Manifest | ManifestStep, sections: Sequence[bytes], writer: str) -> bytes:
    """`writer` makes the files of different writers different, whatever they hold."""
    kind, value = (
        ("manifest", manifest_to_json(header)) if isinstance(header, Manifest) else ("step", step_to_json(header))
    )
    line = json.dumps({kind: value, "sections": list(map(len, sections)), "writer": writer}, separators=(",", ":"))
    rest = b"".join((line.encode(), b"\n", *sections))
    return f"whence commit {FORMAT_VERSION} {hashlib.sha256(rest).hexdigest()}\n".encode() + rest


def decode(data: bytes, number: int) -> CommitFile:
    """What was encoded for this number. Raises MalformedError or OtherFormatError."""
    first = _FIRST_LINE.match(data)
    if first is None:
        raise MalformedError("it does not begin as it should")
    if (version := int(first[1])) not in READABLE:
        raise OtherFormatError(version)
    rest = memoryview(data)[first.end() :]
    if hashlib.sha256(rest).hexdigest().encode() != first[2]:
        raise MalformedError("its bytes are not those that were written")
    end = data.find(b"\n", first.end())
    value = json.loads(data[first.end() : end])
    kind = "manifest" if isinstance(value, dict) and "manifest" in value else "step"
    inner, sizes, _ = record(value, kind, "sections", "writer")
    header: Manifest | ManifestStep = manifest_from_json(inner) if kind == "manifest" else step_from_json(inner)
    if header.number != number:
        raise MalformedError(f"it is commit {header.number} under another name")
    body = memoryview(data)[end + 1 :]
    bounds = list(accumulate(map(natural, items(sizes)), initial=0))
    if bounds[-1] != len(body):
        raise MalformedError("its sections are not as long as they should be")
    return CommitFile(header, [body[start:stop] for start, stop in pairwise(bounds)])


@dataclass(frozen=True, slots=True)
class Current:
    """The newest manifest, and the number of the commit that its reading starts with."""

    manifest: Manifest
    since: int


def read_current(files: Files) -> Current | None:
    """None if there is no commit yet."""
    numbers = commit_numbers(files)
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
            f"the database in {files.root} has format {error.version}, and this version of whence reads formats "
            f"{READABLE[0]} to {READABLE[-1]}",
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
