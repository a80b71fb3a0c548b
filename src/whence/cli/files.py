"""Reading what the user names on the command line."""

from __future__ import annotations

from pathlib import Path

from whence.errors import ParseError, WhenceError, did_you_mean
from whence.model.span import Source
from whence.sources.text import decode


class FileError(WhenceError):
    """A file that cannot be read."""


def read_source(path: Path) -> Source:
    """The text of a file, under the name that the user typed."""
    try:
        return Source(str(path), decode(path.read_bytes(), str(path), ParseError))
    except FileNotFoundError:
        raise FileError(f"there is no file {str(path)!r}", hint=_neighbour(path)) from None
    except IsADirectoryError:
        raise FileError(f"{str(path)!r} is a directory, not a file", hint=_programs_in(path)) from None
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be read: {error.strerror}") from None


def _neighbour(path: Path) -> str | None:
    """The file that was probably meant."""
    if not path.parent.is_dir():
        return f"there is no directory {str(path.parent)!r} either"
    return did_you_mean(path.name, (file.name for file in path.parent.iterdir()))


def _programs_in(directory: Path) -> str | None:
    programs = sorted(str(file) for file in directory.iterdir() if file.suffix in (".sql", ".dl"))
    return f"it has {', '.join(programs[:5])}" if programs else None
