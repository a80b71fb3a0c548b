"""Files and folders of rows: which files there are, what reads each, and rows of all of them as one source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from whence.errors import DataError, UnsupportedError
from whence.model.file_options import FileOptions
from whence.model.schema import Relation
from whence.sources.json_files import JsonLines
from whence.sources.rows import Frame
from whence.sources.text_files import CsvFile

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "json", ".ndjson": "json", ".json": "json"}


class FileSource(Protocol):
    """A file of rows. What was left out of them, `notices` says once they have been read."""

    notices: list[str]

    def rows(self, relation: Relation) -> Iterator[Sequence[object]]: ...

    def place(self, index: int) -> str: ...


class ParquetFile:
    """A Parquet file, whose columns may come in any order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notices: list[str] = []

    def table(self, relation: Relation) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet

        try:
            return pyarrow.parquet.read_table(self.path, partitioning=None)
        except (OSError, pa.ArrowException) as error:
            reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error).splitlines()[0]
            raise DataError(f"the rows of {relation.name!r} cannot be read from {self.path}: {reason}") from None

    def rows(self, relation: Relation) -> Iterator[Sequence[object]]:
        return Frame(self.table(relation)).rows(relation)

    def place(self, index: int) -> str:
        return f"{self.path}[{index}]"


class Folder:
    """All files of a folder that are rows, in the order of their names."""

    def __init__(self, path: Path, options: FileOptions) -> None:
        self.notices: list[str] = []
        self._sources = [file_source(file, options) for file in row_files(path, options)]
        self._rows: list[int] = []

    def rows(self, relation: Relation) -> Iterator[Sequence[object]]:
        for source in self._sources:
            count = 0
            for row in source.rows(relation):
                count += 1
                yield row
            self._rows.append(count)
            self.notices += source.notices

    def place(self, index: int) -> str:
        for source, count in zip(self._sources, [*self._rows, index + 1], strict=False):
            if index < count:
                return source.place(index)
            index -= count
        return f"rows[{index}]"


def row_files(path: Path, options: FileOptions) -> list[Path]:
    """The files of a folder that hold rows: others, hidden ones and those that are being written are passed over."""
    found = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith((".", "_"))]
    return [file for file in found if options.format is not None or file.suffix.lower() in FORMATS]


def file_source(path: Path, options: FileOptions) -> FileSource:
    """What reads a file, or all files of a folder."""
    if path.is_dir():
        return Folder(path, options)
    if path.exists() and not path.is_file():
        raise UnsupportedError(f"{path} is no file")
    kind = options.format or FORMATS.get(path.suffix.lower(), "csv")
    if kind == "parquet":
        return ParquetFile(path)
    return JsonLines(path, options) if kind == "json" else CsvFile.with_options(path, options)
