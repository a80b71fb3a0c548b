"""Sorted copies of segments, beside them. They hold nothing that segments do not, and no commit knows of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whence.storage.files.files import Files
from whence.storage.files.segments import SEGMENTS, disk_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COPIES = "copies"
# The list of the files of a copy, which is written when all of them are there.
_COMPLETE = ".json"


def write_copy(files: Files, segment: str, order: Sequence[str], frame: DataFrame, options: dict[str, str]) -> None:
    """Write a frame that has the rows of a segment, each part of it in the order."""
    remove_copy(files, segment, order)
    path = _path(segment, order)
    with disk_errors(files, path):
        # Nobody else reads it, so that it is made for being small.
        writer = frame.write.options(**options).option("compression", "zstd")
        writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(files.uri(path))
        found = sorted(entry for entry in files.entries(path) if not entry.name.startswith((".", "_")))
        known = {"order": list(order), "files": {entry.name: entry.size for entry in found}}
        files.create(f"{path}{_COMPLETE}", json.dumps(known).encode())


def stored_copies(files: Files, segment: str) -> dict[tuple[str, ...], dict[str, int]]:
    """The copies of a segment by their orders: the paths of their files, in order, with their sizes."""
    found = {}
    for entry in files.entries(_directory(segment)):
        if entry.name.endswith(_COMPLETE):
            path = f"{_directory(segment)}/{entry.name}"
            try:
                known = json.loads(files.read(path))
                below = path.removesuffix(_COMPLETE)
                found[tuple(known["order"])] = {f"{below}/{name}": size for name, size in known["files"].items()}
            except (ValueError, LookupError, TypeError) as error:
                raise OSError(f"{path} is damaged") from error
    return found


def remove_copy(files: Files, segment: str, order: Sequence[str]) -> None:
    files.delete(f"{_path(segment, order)}{_COMPLETE}")
    files.delete(_path(segment, order))


def remove_copies(files: Files, segment: str) -> None:
    files.delete(_directory(segment))


def collect_copies(files: Files) -> None:
    """Delete those of segments that are gone."""
    copied = files.entries(COPIES)
    segments = {entry.name for entry in files.entries(SEGMENTS)} if copied else set()
    for entry in copied:
        if entry.name not in segments:
            files.delete(f"{COPIES}/{entry.name}")


def _directory(segment: str) -> str:
    return f"{COPIES}/{segment.removeprefix(f'{SEGMENTS}/')}"


def _path(segment: str, order: Sequence[str]) -> str:
    return f"{_directory(segment)}/{'-'.join(order)}"
