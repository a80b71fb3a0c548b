"""What queries wait for, and which nodes of streams could bring it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from whence.documents.nodes import Path, StreamNode
from whence.documents.places import Position
from whence.documents.satisfiable import SourceOf, can_bring
from whence.documents.xpath.syntax import Comparison, Step

Row: TypeAlias = tuple[str, int, int, int, str]


@dataclass(frozen=True, slots=True)
class Opening:
    """What a stream would have to bring: these steps, the first of them below a node at the position.

    `name` stands for it in the document's table of open ends.
    """

    document: str
    name: str
    position: Position | None
    """None for the root of the document."""

    steps: tuple[Step, ...]
    test: Comparison | None = None

    def is_at(self, path: Path) -> bool:
        """Whether what is added below a node of this path is where the first step looks."""
        if self.steps[0].axis == "child":
            return path.parent is None if self.position is None else self.position.matches(path)
        return self.position is None or self.position.is_around(path)


class Openings:
    """All that queries ask of the streams of one document."""

    def __init__(self, source: SourceOf) -> None:
        self._source = source
        self._all: list[Opening] = []
        # Streams of the same name at the same path can bring the same.
        self._known: dict[tuple[Path, str, str], list[str]] = {}

    def add(self, openings: Iterable[Opening], streams: Callable[[], Iterable[StreamNode]]) -> list[Row]:
        """Rows for the streams that could bring what is asked for now."""
        fresh = list(openings)
        if not fresh:
            return []
        self._all += fresh
        self._known.clear()
        names = {each.name for each in fresh}
        return [row for row in self.rows(streams()) if row[0] in names]

    def rows(self, streams: Iterable[StreamNode]) -> list[Row]:
        """What each of the nodes of streams could bring, as rows of the document's table of open ends."""
        return [
            (name, each.node, each.parent, each.path.number, each.stream)
            for each in streams
            for name in self._names(each)
        ]

    def forget(self) -> None:
        """What streams can bring may be otherwise now."""
        self._known.clear()

    def _names(self, stream: StreamNode) -> list[str]:
        key = (stream.path, stream.stream, stream.label)
        found = self._known.get(key)
        if found is None:
            source = self._source(stream.stream, stream.label)
            found = self._known[key] = [
                each.name for each in self._all if each.is_at(stream.path) and can_bring(source, each.steps, each.test)
            ]
        return found
