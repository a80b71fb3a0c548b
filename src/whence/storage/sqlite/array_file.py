"""JSON with arrays in it in one file: written whole or not at all, and mapped into memory where it is read.

The file has a line of fixed length, two lines of JSON, and the arrays. What is mapped can be written to: such a page is
then this process's own, and the file stays as it is. Nor may others change it in place: a page that is gone ends the
process that reads it. So the file is read-only, and what takes its place is another file.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from whence.errors import StateError
from whence.storage.sqlite.files import check_regular, sync

_MAGIC = b"whence-arrays-1"
_LINE = 64
# Arrays begin at multiples of this, which processors like.
_ALIGNMENT = 64
# In place of an array JSON has an object with this key, which no other object has.
_ARRAY = "array"


class Head(NamedTuple):
    """What a file says about itself and, as JSON, its content; then where the arrays lie, and their checksum."""

    about: Any
    content: bytes
    start: int
    length: int
    checksum: int


def write_arrays(file: Path, about: Any, content: Any) -> None:
    """`about` can be read alone. The content has arrays among what JSON has."""
    import numpy as np

    pieces: list[memoryview] = []
    length = checksum = 0

    def placed(array: object) -> dict[str, Any]:
        nonlocal length, checksum
        if not isinstance(array, np.ndarray):
            raise TypeError(f"a {type(array).__name__} has no place in a file")
        place = [array.dtype.str, array.shape, length]
        for piece in (array.reshape(-1).view(np.uint8).data, memoryview(_padding(array.nbytes))):
            pieces.append(piece)
            length, checksum = length + len(piece), zlib.crc32(piece, checksum)
        return {_ARRAY: place}

    text = json.dumps(content, default=placed)
    head = f"{json.dumps([about, length, checksum])}\n{text}".encode()
    head += b" " * len(_padding(_LINE + len(head)))
    line = b"%s %d %d" % (_MAGIC, len(head), zlib.crc32(head))
    new = _unfinished(file)
    new.unlink(missing_ok=True)
    with new.open("xb") as opened:
        opened.write(line.ljust(_LINE) + head)
        for piece in pieces:
            opened.write(piece)
        opened.flush()
        os.fchmod(opened.fileno(), os.fstat(opened.fileno()).st_mode & ~0o222)
        os.fsync(opened.fileno())
    new.rename(file)
    sync(file.parent)


def remove_unfinished(file: Path) -> None:
    """What was left by one who died while the file was written."""
    _unfinished(file).unlink(missing_ok=True)


def read_head(file: Path) -> Head | None:
    """None if there is no such file, or not as it was written."""
    try:
        check_regular(file)
        with file.open("rb") as opened:
            words = opened.read(_LINE).split()
            if len(words) != 3 or words[0] != _MAGIC or not (words[1] + words[2]).isdigit():
                return None
            size, checksum = int(words[1]), int(words[2])
            head = opened.read(min(size, os.fstat(opened.fileno()).st_size))
    except (OSError, StateError):
        return None
    if len(head) != size or zlib.crc32(head) != checksum:
        return None
    first, _, content = head.partition(b"\n")
    about, length, checksum = json.loads(first)
    return Head(about, content, _LINE + size, length, checksum)


def map_arrays(file: Path, head: Head) -> Any:
    """The content; None if it is not what was written."""
    import numpy as np

    try:
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_size != head.start + head.length:
                return None
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):
        return None
    if zlib.crc32(memoryview(mapped)[head.start :]) != head.checksum:
        return None

    def array(found: dict[str, Any]) -> Any:
        if _ARRAY not in found:
            return found
        kind, shape, start = found[_ARRAY]
        size = prod(shape)
        flat = np.frombuffer(mapped, kind, size, head.start + start) if size else np.empty(0, kind)
        return flat.reshape(shape)

    return json.loads(head.content, object_hook=array)


def _unfinished(file: Path) -> Path:
    return file.with_name(f"{file.name}.new")


def _padding(size: int) -> bytes:
    return bytes(-size % _ALIGNMENT)
