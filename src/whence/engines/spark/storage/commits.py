"""A commit's file: a line that tells what it is, a line of JSON, and then the changes, section by section.

The first line has a checksum of all that follows. The second has the whole manifest, or what makes it of the one
before; `head -2` shows both.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from whence.engines.spark.storage.encoding import manifest_from_json, manifest_to_json, step_from_json, step_to_json
from whence.engines.spark.storage.json_values import MalformedError, items, natural, record
from whence.engines.spark.storage.manifest import Manifest, Step

FORMAT_VERSION = 1
COMMITS = "commits"

_FIRST_LINE = re.compile(rb"whence commit (\d{1,9}) ([0-9a-f]{64})\n")
_NAME = re.compile(r"(?P<number>\d{20})\.commit|\.(?P<unfinished>\d{20})\.commit\..*")


class OtherFormatError(Exception):
    """A file of another version of whence."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


@dataclass(frozen=True, slots=True)
class CommitFile:
    header: Manifest | Step
    sections: Sequence[memoryview]


def commit_path(number: int) -> str:
    return f"{COMMITS}/{number:020}.commit"


def commit_number(name: str) -> int | None:
    """The number of a commit by the name of its file; None if it is another file."""
    found = _NAME.fullmatch(name)
    return int(found["number"]) if found and found["number"] else None


def unfinished_number(name: str) -> int | None:
    """The number that a commit was to have whose file was never given its name."""
    found = _NAME.fullmatch(name)
    return int(found["unfinished"]) if found and found["unfinished"] else None


def encode(header: Manifest | Step, sections: Sequence[bytes], writer: str) -> bytes:
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
    if (version := int(first[1])) != FORMAT_VERSION:
        raise OtherFormatError(version)
    rest = memoryview(data)[first.end() :]
    if hashlib.sha256(rest).hexdigest().encode() != first[2]:
        raise MalformedError("its bytes are not those that were written")
    end = data.find(b"\n", first.end())
    value = json.loads(data[first.end() : end])
    kind = "manifest" if isinstance(value, dict) and "manifest" in value else "step"
    inner, sizes, _ = record(value, kind, "sections", "writer")
    header: Manifest | Step = manifest_from_json(inner) if kind == "manifest" else step_from_json(inner)
    if header.number != number:
        raise MalformedError(f"it is commit {header.number} under another name")
    body = memoryview(data)[end + 1 :]
    bounds = list(accumulate(map(natural, items(sizes)), initial=0))
    if bounds[-1] != len(body):
        raise MalformedError("its sections are not as long as they should be")
    return CommitFile(header, [body[start:stop] for start, stop in pairwise(bounds)])
