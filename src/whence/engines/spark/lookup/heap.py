"""The rows of a segment, decoded once from Parquet, so that each can be read alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from whence.engines.spark.lookup.hashes import Hashes, hash_rows, hash_values
from whence.engines.spark.lookup.index import Index, Numbers
from whence.engines.spark.lookup.mapping import map_file

# Rows that are decoded at a time.
PIECE = 1 << 17


class Heap:
    """Rows by number, and by what they hold. An index is made when it is first asked for."""

    def __init__(self, files: Sequence[Path], schema: pa.Schema, directory: Path) -> None:
        """The rows of some files of Parquet, with these columns. What is made of them lies in the directory."""
        self.schema = schema
        self._directory = directory
        self._reader = pa.ipc.open_file(map_file(directory, lambda file: _decode(files, schema, file)))
        sizes = [self._reader.get_batch(number).num_rows for number in range(self._reader.num_record_batches)]
        # The number of the first row of each batch, and of the one after the last.
        self._firsts = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.array(sizes, np.int64))))
        self._by_columns: dict[tuple[str, ...], Index] = {}
        self._by_elements: dict[str, Index] = {}

    def with_keys(self, columns: Sequence[str], keys: Sequence[pa.Array]) -> pa.Table:
        """The rows that hold one of the keys in these columns, and perhaps a few others that have the same hash."""
        names = tuple(columns)
        if names not in self._by_columns:
            self._by_columns[names] = Index(self._keys(names), self._directory)
        return self._rows(self._by_columns[names].find(hash_rows(keys)))

    def with_elements(self, column: str, elements: pa.Array) -> pa.Table:
        """The rows whose list in a column has one of these elements."""
        if column not in self._by_elements:
            self._by_elements[column] = Index(self._elements(column), self._directory)
        return self._rows(self._by_elements[column].find(hash_values(elements)))

    def _keys(self, columns: tuple[str, ...]) -> Iterator[tuple[Hashes, Numbers]]:
        for first, batch in self._batches():
            hashes = hash_rows([batch.column(name) for name in columns])
            yield hashes, np.arange(first, first + batch.num_rows)

    def _elements(self, column: str) -> Iterator[tuple[Hashes, Numbers]]:
        for first, batch in self._batches():
            lists = batch.column(column)
            lengths = np.diff(lists.offsets.to_numpy())
            yield hash_values(lists.flatten()), np.repeat(np.arange(first, first + batch.num_rows), lengths)

    def _batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        for number, first in enumerate(self._firsts[:-1]):
            yield int(first), self._reader.get_batch(number)

    def _rows(self, numbers: Numbers) -> pa.Table:
        bounds = np.searchsorted(numbers, self._firsts)
        found = [
            batch.take(pa.array(numbers[begin:end] - first))
            for (first, batch), begin, end in zip(self._batches(), bounds, bounds[1:], strict=False)
            if end > begin
        ]
        return pa.Table.from_batches(found, self.schema)


def _decode(files: Sequence[Path], schema: pa.Schema, to: pa.NativeFile) -> None:
    with pa.ipc.new_file(to, schema) as writer:
        for path in files:
            with parquet.ParquetFile(path, coerce_int96_timestamp_unit="us", page_checksum_verification=True) as opened:
                for batch in opened.iter_batches(PIECE, columns=schema.names):
                    writer.write_batch(_as(batch, schema))


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [_cast(batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Moments are in UTC in Parquet as well, whether it says so or not."""
    if pa.types.is_timestamp(kind):
        return array.cast(pa.timestamp("us")).cast(kind)
    return array.cast(kind)
