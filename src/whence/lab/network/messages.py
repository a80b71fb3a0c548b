"""What nodes say to each other, as bytes, in the format of docs/network.md.

A relation that is kept by several of its columns has a name for each: see `plan.placements`.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from whence.lab.network.provenance.annotations import Annotations
from whence.lab.network.values import DamagedError, ValueReader, ValueWriter
from whence.model.types import Row

A = TypeVar("A")

MAGIC = b"WNET"
VERSION = 1
HEADER = struct.Struct("<4sHHIIQI")
CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class FinishedRows:
    """Rows of a finished relation, for those who join them elsewhere: id, row, change of its count."""

    relation: str
    entries: Sequence[tuple[int, Row, int]]


@dataclass(frozen=True, slots=True)
class Struck:
    """Tuples that are gone, by id: their rows leave, and every derivation from them."""

    ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class CountChanges:
    """What a node found of a view that is counted: changes, to be added up where the rows are at home."""

    relation: str
    entries: Sequence[tuple[Row, int]]


@dataclass(frozen=True, slots=True)
class DerivedRows:
    """Rows of a recursive view, and of each the derivations that are news."""

    relation: str
    rows: Sequence[Row]
    annotations: bytes


@dataclass(frozen=True, slots=True)
class Deleted:
    """Rows of a recursive view that lost a derivation."""

    relation: str
    rows: Sequence[Row]


Section: TypeAlias = FinishedRows | Struck | CountChanges | DerivedRows | Deleted


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
        case FinishedRows(entries=entries):
            return len(entries)
        case CountChanges(entries=counted):
            return len(counted)
    return len(section.rows)


def encode(message: Message) -> bytes:
    writer = ValueWriter()
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
    reader = ValueReader(data, start)
    read = tuple([_read(reader) for _ in range(sections)])
    if not reader.is_done:
        raise DamagedError("something follows its last section")
    return Message(sender, receiver, number, read)


def _write(section: Section, writer: ValueWriter) -> None:
    match section:
        case FinishedRows(relation=relation, entries=entries):
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
        case CountChanges(relation=relation, entries=counted):
            _begin(3, relation, len(counted), writer)
            for row, change in counted:
                writer.row(row)
                writer.integer(change)
        case DerivedRows(relation=relation, rows=rows, annotations=annotations):
            _begin(4, relation, len(rows), writer)
            writer.rows(rows)
            writer.block(annotations)
        case Deleted(relation=relation, rows=rows):
            _begin(5, relation, len(rows), writer)
            writer.rows(rows)


def _begin(kind: int, relation: str, entries: int, writer: ValueWriter) -> None:
    writer.data.append(kind)
    writer.text(relation)
    writer.varint(entries)


def _read(reader: ValueReader) -> Section:
    kind = reader.byte()
    if kind == 2:
        return Struck([reader.varint() for _ in range(reader.count())])
    relation = reader.text()
    entries = reader.count()
    match kind:
        case 1:
            return FinishedRows(relation, [(reader.varint(), reader.row(), reader.integer()) for _ in range(entries)])
        case 3:
            return CountChanges(relation, [(reader.row(), reader.integer()) for _ in range(entries)])
        case 4:
            return DerivedRows(relation, reader.rows(entries), reader.block())
        case 5:
            return Deleted(relation, reader.rows(entries))
    raise DamagedError(f"there is no kind of section {kind}")


# By the name of a relation, what tells the node that a row of it is for.
Home: TypeAlias = Callable[[str], Callable[[Row], int]]


class Outbox(Generic[A]):
    """What a node has to say at the end of a round: one message for each node that it has something for.

    Derived rows, and those that may have to be deleted, go to the node that `home` tells.
    """

    def __init__(self, annotations: Annotations[A], home: Home) -> None:
        self._annotations = annotations
        self._home = home
        self._rows: dict[int, dict[str, list[tuple[int, Row, int]]]] = {}
        self._struck: dict[int, list[int]] = {}
        self._counts: dict[int, dict[str, list[tuple[Row, int]]]] = {}
        self._derived: dict[str, dict[int, dict[Row, A]]] = {}
        self._deleted: dict[str, dict[int, list[Row]]] = {}

    def row(self, node: int, relation: str, tuple_id: int, row: Row, change: int) -> None:
        self._rows.setdefault(node, {}).setdefault(relation, []).append((tuple_id, row, change))

    def struck(self, node: int, tuple_id: int) -> None:
        self._struck.setdefault(node, []).append(tuple_id)

    def count(self, node: int, relation: str, row: Row, change: int) -> None:
        self._counts.setdefault(node, {}).setdefault(relation, []).append((row, change))

    def derived(self, relation: str, rows: Sequence[Row], annotations: Sequence[A]) -> None:
        home, by_node = self._home(relation), self._derived.setdefault(relation, defaultdict(dict))
        for row, annotation in zip(rows, annotations, strict=True):
            waiting = by_node[home(row)]
            known = waiting.setdefault(row, annotation)
            if known is not annotation:
                waiting[row] = self._annotations.plus(known, annotation)

    def deleted(self, relation: str, rows: Sequence[Row]) -> None:
        home, by_node = self._home(relation), self._deleted.setdefault(relation, defaultdict(list))
        for row in rows:
            by_node[home(row)].append(row)

    def take(self) -> dict[int, list[Section]]:
        """The sections for every node, of which nothing stays here."""
        sections: dict[int, list[Section]] = {}
        for node, section in self._sections():
            sections.setdefault(node, []).append(section)
        self.clear()
        self._annotations.tidy()
        return sections

    def clear(self) -> None:
        for waiting in (self._rows, self._struck, self._counts, self._derived, self._deleted):
            waiting.clear()

    def _sections(self) -> Iterator[tuple[int, Section]]:
        for node, ids in self._struck.items():
            yield node, Struck(ids)
        for node, copies in self._rows.items():
            yield from ((node, FinishedRows(relation, entries)) for relation, entries in copies.items())
        for node, counts in self._counts.items():
            yield from ((node, CountChanges(relation, entries)) for relation, entries in counts.items())
        for relation, deleted in self._deleted.items():
            yield from ((node, Deleted(relation, rows)) for node, rows in deleted.items())
        for relation, derived in self._derived.items():
            for node, annotated in derived.items():
                written = self._annotations.write(list(annotated.values()))
                yield node, DerivedRows(relation, list(annotated), written)
