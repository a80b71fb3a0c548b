"""Removing files that nothing needs any more: any number of them, in any order, at any time."""

from __future__ import annotations

from collections.abc import Collection

from whence.engines.spark.storage.chain import Current
from whence.engines.spark.storage.commits import COMMITS, commit_number, unfinished_number
from whence.engines.spark.storage.files import Files
from whence.engines.spark.storage.manifest import Manifest
from whence.engines.spark.storage.segments import SEGMENTS, segment_epoch


def collect(files: Files, current: Current, epoch: int, spared: Collection[str]) -> None:
    """Delete what neither the current manifest nor its feeds need.

    `spared` are segments that no commit has named yet, or that someone still reads. What a writer of a later epoch
    has made is left alone too: it knows better.
    """
    manifest = current.manifest
    for name in _commits(files, manifest, current.since):
        files.delete(f"{COMMITS}/{name}")
    needed = {segment.path for segment in manifest.segments()}
    for entry in files.entries(SEGMENTS):
        path = f"{SEGMENTS}/{entry.name}"
        if path not in needed and path not in spared and segment_epoch(entry.name) <= epoch:
            files.delete(path)


def _commits(files: Files, manifest: Manifest, since: int) -> list[str]:
    """Older commits that hold no log that is needed, and what is left of those that were never made."""
    needed = {log.number for log in manifest.logs()}
    found = []
    for entry in files.entries(COMMITS):
        number, unfinished = commit_number(entry.name), unfinished_number(entry.name)
        is_old = number is not None and number < since and number not in needed
        if is_old or (unfinished is not None and unfinished <= manifest.number):
            found.append(entry.name)
    return found
