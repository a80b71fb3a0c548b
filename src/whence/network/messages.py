"""What nodes say to each other, as bytes.

A message is a header, little-endian, and sections:

    4 bytes   "WNET"
    uint16    format version (1)
    uint16    number of sections
    uint32    node that sends           uint32    node that receives
    uint64    number of the message on this link, from 0
    uint32    length of the sections    uint32    CRC-32 of everything before it and of the sections

A section is one byte for its kind, and then, in the terms of `values`:

    1 rows      text relation, varint n, n times: varint tuple id, row, integer change of its count
    2 struck    varint n, n times: varint tuple id
    3 counts    text relation, varint n, n times: row, integer change of its count
    4 derived   text relation, varint n, n rows, block with their annotations (see `provenance`)
    5 deleted   text relation, varint n, n rows

A relation that is kept by several of its columns has a name for each: see `plan.placements`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whence.model.types import Row
from whence.network.values import DamagedError, Reader, Writer

MAGIC = b"WNET"
VERSION = 1
HEADER = struct.Struct("<4sHHIIQI")
CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a finished relation, for those who join them elsewhere: id, row, change of its count."""

    relation: str
    entries: Sequence[tuple[int, Row, int]]


@dataclass(frozen=True, slots=True)
class Struck:
    """Tuples that are gone, by id: their rows leave, and every derivation from them."""

    ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class Counts:
    """What a node found of a view that is counted: changes, to be added up where the rows are at home."""

    relation: str
    entries: Sequence[tuple[Row, int]]


@dataclass(frozen=True, slots=True)
class Derived:
    """Rows of a recursive view, and of each the derivations that are news."""

    relation: str
    rows: Sequence[Row]
    annotations: bytes


@dataclass(frozen=True, slots=True)
class Deleted:
    """Rows of a recursive view that lost a derivation."""

    relation: str
    rows: Sequence[Row]


Section: TypeAlias = Rows | Struck | Counts | Derived | Deleted


@dataclass(frozen=True, slots=True)
class Message:
    sender: int
    receiver: int
    number: int
    sections: tuple[Section, ...]

    @property
    def tuples(self) -> int:
        """How many changes of tuples it tells of."""
        return sum(map(size, self.sections))


def size(section: Section) -> int:
    match section:
        case Struck(ids=ids):
            return len(ids)
        case Rows(entries=entries):
            return len(entries)
        case Counts(entries=counted):
            return len(counted)
    return len(section.rows)


def encode(message: Message) -> bytes:
    writer = Writer()
    for section in message.sections:
        _write(section, writer)
    body = bytes(writer.data)
    header = HEADER.pack(
        MAGIC, VERSION, len(message.sections), message.sender, message.receiver, message.number, len(body)
    )
    return header + CHECKSUM.pack(zlib.crc32(body, zlib.crc32(header))) + body


def decode(data: bytes) -> Message:
    """The message, or a DamagedError that says what is wrong with the bytes."""
    start = HEADER.size + CHECKSUM.size
    if len(data) < start:
        raise DamagedError(f"it has {len(data)} bytes, and a header has {start}")
    magic, version, sections, sender, receiver, number, length = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise DamagedError("it does not begin as a message")
    if version != VERSION:
        raise DamagedError(f"it is in format {version}, and this node reads format {VERSION}")
    if len(data) - start != length:
        raise DamagedError(f"it should have {length} bytes behind its header and has {len(data) - start}")
    if CHECKSUM.unpack_from(data, HEADER.size) != (zlib.crc32(data[start:], zlib.crc32(data[: HEADER.size])),):
        raise DamagedError("its checksum is wrong")
    reader = Reader(data, start)
    read = tuple([_read(reader) for _ in range(sections)])
    if not reader.is_done:
        raise DamagedError("something follows its last section")
    return Message(sender, receiver, number, read)


def _write(section: Section, writer: Writer) -> None:
    match section:
        case Rows(relation=relation, entries=entries):
            _begin(1, relation, len(entries), writer)
            for tuple_id, row, change in entries:
                writer.varint(tuple_id)
                writer.row(row)
                writer.integer(change)
        case Struck(ids=ids):
            writer.data.append(2)
            writer.varint(len(ids))
            for tuple_id in ids:
                writer.varint(tuple_id)
        case Counts(relation=relation, entries=counted):
            _begin(3, relation, len(counted), writer)
            for row, change in counted:
                writer.row(row)
                writer.integer(change)
        case Derived(relation=relation, rows=rows, annotations=annotations):
            _begin(4, relation, len(rows), writer)
            writer.rows(rows)
            writer.block(annotations)
        case Deleted(relation=relation, rows=rows):
            _begin(5, relation, len(rows), writer)
            writer.rows(rows)


def _begin(kind: int, relation: str, entries: int, writer: Writer) -> None:
    writer.data.append(kind)
    writer.text(relation)
    writer.varint(entries)


def _read(reader: Reader) -> Section:
    kind = reader.byte()
    if kind == 2:
        return Struck([reader.varint() for _ in range(reader.count())])
    relation = reader.text()
    entries = reader.count()
    match kind:
        case 1:
            return Rows(relation, [(reader.varint(), reader.row(), reader.integer()) for _ in range(entries)])
        case 3:
            return Counts(relation, [(reader.row(), reader.integer()) for _ in range(entries)])
        case 4:
            return Derived(relation, reader.rows(entries), reader.block())
        case 5:
            return Deleted(relation, reader.rows(entries))
    raise DamagedError(f"there is no kind of section {kind}")
