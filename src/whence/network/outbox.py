"""What a node has to say at the end of a round: one message for each node that it has something for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from whence.model.types import Row
from whence.network.messages import Counts, Deleted, Derived, Rows, Section, Struck
from whence.network.provenance.annotations import Annotations

A = TypeVar("A")


class Outbox(Generic[A]):
    def __init__(self, annotations: Annotations[A]) -> None:
        self._annotations = annotations
        self._rows: dict[int, dict[str, list[tuple[int, Row, int]]]] = {}
        self._struck: dict[int, list[int]] = {}
        self._counts: dict[int, dict[str, list[tuple[Row, int]]]] = {}
        self._derived: dict[int, dict[str, dict[Row, A]]] = {}
        self._deleted: dict[int, dict[str, list[Row]]] = {}

    def row(self, node: int, relation: str, tuple_id: int, row: Row, change: int) -> None:
        self._rows.setdefault(node, {}).setdefault(relation, []).append((tuple_id, row, change))

    def struck(self, node: int, tuple_id: int) -> None:
        self._struck.setdefault(node, []).append(tuple_id)

    def count(self, node: int, relation: str, row: Row, change: int) -> None:
        self._counts.setdefault(node, {}).setdefault(relation, []).append((row, change))

    def derived(self, node: int, relation: str, row: Row, annotation: A) -> None:
        rows = self._derived.setdefault(node, {}).setdefault(relation, {})
        known = rows.get(row)
        rows[row] = annotation if known is None else self._annotations.plus(known, annotation)

    def deleted(self, node: int, relation: str, row: Row) -> None:
        self._deleted.setdefault(node, {}).setdefault(relation, []).append(row)

    def take(self) -> dict[int, list[Section]]:
        """The sections for every node, of which nothing stays here."""
        sections: dict[int, list[Section]] = {}
        for node, section in self._sections():
            sections.setdefault(node, []).append(section)
        self.clear()
        return sections

    def clear(self) -> None:
        for waiting in (self._rows, self._struck, self._counts, self._derived, self._deleted):
            waiting.clear()

    def _sections(self) -> Iterator[tuple[int, Section]]:
        for node, ids in self._struck.items():
            yield node, Struck(ids)
        for node, copies in self._rows.items():
            yield from ((node, Rows(relation, entries)) for relation, entries in copies.items())
        for node, counts in self._counts.items():
            yield from ((node, Counts(relation, entries)) for relation, entries in counts.items())
        for node, deleted in self._deleted.items():
            yield from ((node, Deleted(relation, rows)) for relation, rows in deleted.items())
        for node, derived in self._derived.items():
            for relation, annotated in derived.items():
                written = self._annotations.write(list(annotated.values()))
                yield node, Derived(relation, list(annotated), written)
