"""Messages as files in a shared folder: a drive that is carried around, or one that something else keeps in step.

Every site has a folder there, named after it, in which others leave messages. A file has its name when it is complete.
Nobody waits for an answer: what is lost or comes late is asked for again the next time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from whence.errors import WhenceError
from whence.replica.messages import MOST_BYTES, unpack
from whence.replica.site import Site

_ENDING = ".message"


class Round(NamedTuple):
    """What a look into the folder did: messages taken and left, and why others were refused."""

    taken: int
    left: int
    refused: tuple[str, ...]


def sync_folder(site: Site, folder: str | os.PathLike[str]) -> Round:
    """Take all messages for a site, answer them, and ask all others that have a folder there."""
    root = Path(folder)
    inbox = root / site.name
    inbox.mkdir(parents=True, exist_ok=True)
    taken = left = 0
    refused: list[str] = []
    for file in sorted(inbox.glob(f"*{_ENDING}"), key=lambda each: (each.stat().st_mtime_ns, each.name)):
        try:
            if file.stat().st_size > MOST_BYTES:
                raise WhenceError(f"it has more than {MOST_BYTES:,} bytes")
            data = file.read_bytes()
            answer = site.handle(data, from_anybody=False)
            taken += 1
            if answer is not None:
                _leave(root, unpack(data).head.site, answer)
                left += 1
        except WhenceError as error:
            refused.append(f"{file.name}: {error.message}")
        file.unlink(missing_ok=True)
    for other in sorted(root.iterdir()):
        if other.is_dir() and other.name != site.name:
            _leave(root, other.name, site.ask(other.name))
            left += 1
    return Round(taken, left, tuple(refused))


def _leave(root: Path, to: str, data: bytes) -> None:
    name = uuid4().hex
    target = root / to
    # Only who has a folder is written to: a name in a message makes none.
    if target.parent != root or not target.is_dir():
        return
    hidden = target / f".{name}"
    hidden.write_bytes(data)
    hidden.rename(target / f"{name}{_ENDING}")
