"""What a node has to say at the end of a round: one message for each node that it has something for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

from whence.model.types import Row
from whence.network.messages import Counts, Deleted, Derived, Rows, Section, Struck
from whence.network.provenance.annotations import Annotations

A = TypeVar("A")

# By the name of a relation, what tells the node that a row of it is for.
Home: TypeAlias = Callable[[str], Callable[[Row], int]]


class Outbox(Generic[A]):
    """Derived rows, and those that may have to be deleted, find their way by themselves."""

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
            yield from ((node, Rows(relation, entries)) for relation, entries in copies.items())
        for node, counts in self._counts.items():
            yield from ((node, Counts(relation, entries)) for relation, entries in counts.items())
        for relation, deleted in self._deleted.items():
            yield from ((node, Deleted(relation, rows)) for node, rows in deleted.items())
        for relation, derived in self._derived.items():
            for node, annotated in derived.items():
                written = self._annotations.write(list(annotated.values()))
                yield node, Derived(relation, list(annotated), written)
