"""The rows of a segment, decoded once from Parquet onto this machine's disk, so that each can be read alone.

Rows are found by hashes of their columns in Arrow's layout. What is on disk is mapped into memory; no file has a name
once it is mapped, so none is ever left.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as parquet

N = TypeVar("N", bound=np.generic)

Hashes: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]
# A file of Parquet, by its name or with its bytes.
ParquetSource: TypeAlias = Path | pa.NativeFile

# Rows that are decoded at a time.
PIECE = 1 << 17


class Heap:
    """Rows by number, and by what they hold. An index is made when it is first asked for."""

    def __init__(self, batches: Sequence[pa.RecordBatch], schema: pa.Schema, directory: Path | None) -> None:
        """What is made of the rows lies in the directory; without one, in memory."""
        self.schema = schema
        self.directory = directory
        self._rows_in = batches
        sizes = [batch.num_rows for batch in batches]
        # The number of the first row of each batch, and of the one after the last.
        self._firsts = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.array(sizes, np.int64))))
        self._by_columns: dict[tuple[str, ...], Index] = {}
        self._by_elements: dict[str, Index] = {}

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def table(self) -> pa.Table:
        """All rows."""
        return pa.Table.from_batches(self._rows_in, self.schema)

    def with_keys(
        self, columns: Sequence[str], keys: Sequence[pa.Array], wanted: Sequence[str] | None = None
    ) -> pa.Table:
        """The rows that hold one of the keys in these columns, and perhaps a few others that have the same hash: the
        columns that are wanted, or all of them.
        """
        names = tuple(columns)
        if names not in self._by_columns:
            self._by_columns[names] = Index(self._keys(names), self.directory)
        return self.rows(self._by_columns[names].find(hash_rows(keys)), wanted)

    def with_elements(self, column: str, elements: pa.Array) -> pa.Table:
        """The rows whose list in a column has one of these elements."""
        if column not in self._by_elements:
            self._by_elements[column] = Index(self._elements(column), self.directory)
        return self.rows(self._by_elements[column].find(hash_values(elements)))

    def _keys(self, columns: tuple[str, ...]) -> Iterator[tuple[Hashes, Numbers]]:
        for first, batch in self.batches():
            hashes = hash_rows([batch.column(name) for name in columns])
            yield hashes, np.arange(first, first + batch.num_rows)

    def _elements(self, column: str) -> Iterator[tuple[Hashes, Numbers]]:
        for first, batch in self.batches():
            lists = batch.column(column)
            lengths = np.diff(lists.offsets.to_numpy())
            yield hash_values(lists.flatten()), np.repeat(np.arange(first, first + batch.num_rows), lengths)

    def batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """All rows in pieces, each with the number of its first row."""
        return zip(self._firsts[:-1].tolist(), self._rows_in, strict=True)

    def value(self, column: str, number: int) -> Any:
        """What a row holds in a column, as Arrow gives it to Python."""
        at = int(np.searchsorted(self._firsts, number, "right")) - 1
        return self._rows_in[at].column(column)[number - int(self._firsts[at])].as_py()

    def rows(self, numbers: Numbers, wanted: Sequence[str] | None = None) -> pa.Table:
        """The rows with these numbers, which are in ascending order."""
        bounds = np.searchsorted(numbers, self._firsts)
        names = self.schema.names if wanted is None else list(wanted)
        found = [
            batch.select(names).take(pa.array(numbers[begin:end] - first))
            for (first, batch), begin, end in zip(self.batches(), bounds, bounds[1:], strict=False)
            if end > begin
        ]
        return pa.Table.from_batches(found, pa.schema([self.schema.field(name) for name in names]))


def decoded_files(
    files: Iterable[ParquetSource], schema: pa.Schema, directory: Path, in_files: Callable[[str], str] = str
) -> Heap:
    """The rows of some files of Parquet, with these columns, which may have other names `in_files`."""
    return _mapped(lambda writer: _decode(files, schema, in_files, writer), schema, directory)


def decoded_table(table: pa.Table, directory: Path | None) -> Heap:
    """The rows of a table: on disk in the directory, or without one in memory."""
    if directory is None:
        return Heap(table.combine_chunks().to_batches(), table.schema, None)
    return _mapped(lambda writer: writer.write_table(table, PIECE), table.schema, directory)


def _mapped(write: Callable[[pa.RecordBatchFileWriter], None], schema: pa.Schema, directory: Path) -> Heap:
    def write_all(file: pa.NativeFile) -> None:
        with pa.ipc.new_file(file, schema) as writer:
            write(writer)

    reader = pa.ipc.open_file(map_file(directory, write_all))
    return Heap([reader.get_batch(number) for number in range(reader.num_record_batches)], schema, directory)


def _decode(
    files: Iterable[ParquetSource], schema: pa.Schema, in_files: Callable[[str], str], writer: pa.RecordBatchFileWriter
) -> None:
    names = [in_files(name) for name in schema.names]
    for file in files:
        with parquet.ParquetFile(file, coerce_int96_timestamp_unit="us", page_checksum_verification=True) as opened:
            for batch in opened.iter_batches(PIECE, columns=[*dict.fromkeys(names)]):
                columns = [batch.column(name).cast(field.type) for name, field in zip(names, schema, strict=True)]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


# After so many scans of a frame, another few cost as much as what makes all that follow unnecessary.
SCANNED_FIRST = 2
# So many bytes of Parquet are decoded in less time than a scan of them takes.
DECODED_AT_ONCE = 1 << 23


@dataclass(frozen=True, slots=True)
class Reachable:
    """A segment of so many bytes that can be decoded here: its files, and a directory for what is made of them. Its
    columns may have other names `in_files`.
    """

    files: Callable[[], Iterable[ParquetSource]]
    bytes: int
    directory: Path
    in_files: Callable[[str], str] = str


class RowLookup(Protocol):
    """What finds rows of a segment that is not decoded."""

    def with_keys(self, columns: Sequence[str], keys: Sequence[pa.Array]) -> pa.Table | None:
        """Those that hold one of the keys, and perhaps a few others; None if they are to be scanned for."""

    def with_elements(self, elements: pa.Array) -> pa.Table | None:
        """Those whose support has one of the elements, without anything beside them; None likewise."""

    def take_read_bytes(self) -> int:
        """What was read since this was last asked."""


class Points:
    """What finds single rows of a frame with these columns. A frame that is neither `reachable` nor has a `lookup` is
    always scanned, unless its rows are `known` here.
    """

    def __init__(
        self,
        reachable: Reachable | None,
        schema: pa.Schema,
        known: pa.Table | None = None,
        lookup: RowLookup | None = None,
    ) -> None:
        self._reachable = reachable
        self._lookup = lookup
        self._schema = schema
        self._scans = 0
        self._heap: Heap | None = None
        if known is not None and reachable is not None:
            with suppress(OSError):
                self._heap = decoded_table(known, reachable.directory)

    @property
    def known_heap(self) -> Heap | None:
        """Where to look, if that has been made already."""
        return self._heap

    def heap(self) -> Heap | None:
        """Where to look; None if the frame is to be scanned this time."""
        reachable = self._reachable
        if self._heap is None and reachable is not None:
            if self._scans < SCANNED_FIRST and reachable.bytes > DECODED_AT_ONCE:
                self._scans += 1
                return None
            try:
                self._heap = decoded_files(reachable.files(), self._schema, reachable.directory, reachable.in_files)
            except (OSError, pa.ArrowException):
                # A disk without room, or a damaged file: a scan needs no room, and knows how to tell of damage.
                self._reachable = None
        return self._heap

    def with_keys(self, columns: Sequence[str], keys: Sequence[pa.Array]) -> pa.Table | None:
        """The rows that hold one of the keys, and perhaps a few others; None if the frame is to be scanned."""
        heap = self.heap()
        if heap is not None:
            return heap.with_keys(columns, keys)
        return None if self._lookup is None else self._lookup.with_keys(columns, keys)

    def with_elements(self, column: str, elements: pa.Array) -> pa.Table | None:
        """The rows whose list in a column has one of the elements, perhaps without what is known of them; None if the
        frame is to be scanned.
        """
        heap = self.heap()
        if heap is not None:
            return heap.with_elements(column, elements)
        return None if self._lookup is None else self._lookup.with_elements(elements)

    def take_read_bytes(self) -> int:
        """What was read of what is not decoded since this was last asked."""
        return 0 if self._lookup is None else self._lookup.take_read_bytes()


def heaps_of(parts: Sequence[Points]) -> list[Heap] | None:
    """Where to look for rows that are in any of several frames."""
    heaps = [part.heap() for part in parts]
    found = [heap for heap in heaps if heap is not None]
    return found if parts and len(found) == len(heaps) else None


_ODD = np.uint64(0x9E3779B97F4A7C15)
_OTHER_ODD = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)
_NULL = np.uint64(0xA0761D6478BD642F)


def hash_rows(columns: Sequence[pa.Array]) -> Hashes:
    """One hash for each row of these columns, of which there is at least one."""
    hashes = hash_values(columns[0])
    for column in columns[1:]:
        hashes = _mixed(hashes * _OTHER_ODD + hash_values(column))
    return hashes


def hash_values(array: pa.Array) -> Hashes:
    hashes = _mixed(_bits(array))
    if array.null_count:
        hashes[array.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return hashes


def _mixed(bits: Hashes) -> Hashes:
    """Spread every bit over all of them. Different numbers stay different."""
    bits = (bits ^ (bits >> _HALF)) * _ODD
    return bits ^ (bits >> _HALF)


def _bits(array: pa.Array) -> Hashes:
    """A number for each value; for one that is NULL, any."""
    kind = array.type
    if pa.types.is_string(kind):
        starts = _offsets(array)
        return _of_sequences(np.frombuffer(array.buffers()[2] or b"", np.uint8).astype(np.uint64), starts)
    if pa.types.is_list(kind):
        return _of_sequences(hash_values(array.values), _offsets(array))
    if pa.types.is_struct(kind):
        return hash_rows(array.flatten())
    if pa.types.is_decimal128(kind):
        words = np.frombuffer(array.buffers()[1], np.uint64)[2 * array.offset :][: 2 * len(array)]
        return _mixed(words[::2]) + words[1::2]
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.uint64)
    if pa.types.is_floating(kind):
        return _canonical(array.fill_null(0.0).to_numpy(zero_copy_only=False)).view(np.uint64)
    # What is left are numbers and moments of 1 to 64 bits.
    if pa.types.is_date32(kind):
        array = array.view(pa.int32())
    numbers: Hashes = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    return numbers


def _offsets(array: pa.Array) -> npt.NDArray[np.int64]:
    """Where each text or list begins, and where the last one ends."""
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1].astype(np.int64)


def _of_sequences(elements: Hashes, starts: npt.NDArray[np.int64]) -> Hashes:
    """A sequence is the sum of its elements, each mixed with its place, and of its length."""
    elements = elements[starts[0] : starts[-1]]
    starts = starts - starts[0]
    lengths = np.diff(starts)
    places = np.arange(len(elements)) - np.repeat(starts[:-1], lengths)
    mixed = _mixed(elements * _OTHER_ODD + places.astype(np.uint64))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)))
    return sums[starts[1:]] - sums[starts[:-1]] + lengths.astype(np.uint64)


def _canonical(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """There is one zero, and one number that is none."""
    numbers = numbers + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers


# Entries that are sorted at a time. More than that are several runs, each of which is searched.
RUN = 1 << 22


@dataclass(frozen=True, slots=True)
class _Run:
    """Hashes in ascending order, and with each the number of its row."""

    hashes: Hashes
    numbers: npt.NDArray[np.uint32] | Numbers

    def find(self, hashes: Hashes) -> Numbers:
        first = np.searchsorted(self.hashes, hashes, "left")
        counts = np.searchsorted(self.hashes, hashes, "right") - first
        # Where each hash's entries begin among all that are found.
        begins = np.cumsum(counts) - counts
        entries = np.repeat(first - begins, counts) + np.arange(int(counts.sum()))
        return self.numbers[entries].astype(np.int64)


class Index:
    def __init__(self, entries: Iterable[tuple[Hashes, Numbers]], directory: Path | None) -> None:
        """`entries` are hashes and the numbers of their rows, in pieces of any size."""
        self._runs: list[_Run] = []
        pending: list[tuple[Hashes, Numbers]] = []
        for piece in entries:
            pending.append(piece)
            if sum(len(hashes) for hashes, _ in pending) >= RUN:
                self._runs.append(_sorted(pending, directory))
                pending = []
        if pending:
            self._runs.append(_sorted(pending, directory))

    def find(self, hashes: Hashes) -> Numbers:
        """The rows with one of these hashes, in ascending order, each once."""
        # Neighbours in the index are neighbours on disk.
        hashes = np.unique(hashes)
        found = [run.find(hashes) for run in self._runs]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def _sorted(pieces: list[tuple[Hashes, Numbers]], directory: Path | None) -> _Run:
    hashes = np.concatenate([hashes for hashes, _ in pieces])
    numbers = np.concatenate([numbers for _, numbers in pieces])
    if len(numbers) and numbers[-1] < 1 << 32:
        numbers = numbers.astype(np.uint32)
    order = np.argsort(hashes, kind="stable")
    return _Run(map_array(directory, hashes[order]), map_array(directory, numbers[order]))


def map_file(directory: Path, write: Callable[[pa.NativeFile], None]) -> pa.Buffer:
    """What `write` writes, mapped. The system keeps of it in memory what it has room for."""
    with tempfile.NamedTemporaryFile(prefix=".lookup-", dir=directory) as named:
        with pa.OSFile(named.name, "wb") as opened:
            write(opened)
        mapped = pa.memory_map(named.name)
        return mapped.read_buffer()


def map_array(directory: Path | None, array: npt.NDArray[N]) -> npt.NDArray[N]:
    """The same array, on disk if there is a directory."""
    if directory is None or not len(array):
        return array
    return np.frombuffer(map_file(directory, lambda file: file.write(array)), array.dtype)
