"""Changes as bytes: Arrow's format, column by column and compressed, one stream for each table that changes.

They are part of their commit's file. A file of their own would cost a commit another round trip on an object store,
and two more waits for a disk; a file per table would cost that for each table.
"""

from __future__ import annotations

import pyarrow as pa

_PLAIN = pa.ipc.IpcWriteOptions()
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")
# Setting up compression takes many times as long as writing a few rows as they are.
_FEW = 64

# A log of up to so many rows is merged whenever there is occasion, a larger one when a quarter of its rows follow it.
_SMALL = 1000
_SHARE = 4


def pack(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_PLAIN if table.num_rows <= _FEW else _COMPRESSED) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def unpack(packed: memoryview) -> pa.Table:
    """Raises pa.ArrowInvalid or OSError if these are no such bytes."""
    with pa.ipc.open_stream(pa.py_buffer(packed)) as reader:
        return reader.read_all()


def first_to_merge(rows: list[int]) -> int:
    """Of logs with so many rows, oldest first, the place from which they are to become one.

    What stays before it is large against all that follows, so that there are few logs, and a row is written again only
    when several times as many have come.
    """
    at, total = len(rows), 0
    while at and rows[at - 1] <= max(_SMALL, _SHARE * total):
        at -= 1
        total += rows[at]
    return at
