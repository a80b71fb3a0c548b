"""All rows of a forest's relation, as a mapping that is read where they lie."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from whence.model.types import Row, Value
from whence.model.updates import CountedDelta

if TYPE_CHECKING:
    from whence.engines.local.forest.maintainer import ForestMaintainer


class ForestCounts(Mapping[Row, int]):
    """A relation of the forest, read in place."""

    def __init__(self, forest: ForestMaintainer, relation: str) -> None:
        self._forest = forest
        self._relation = relation

    def __getitem__(self, row: Row) -> int:
        if self._forest.node(self._relation, row) is None:
            raise KeyError(row)
        return 1

    def __iter__(self) -> Iterator[Row]:
        return iter(self._forest.rows(self._relation))

    def __len__(self) -> int:
        return len(self._forest.alive(self._relation))

    def columns(self) -> Sequence[Sequence[Value]]:
        """All rows, column by column."""
        everything = self._forest.everything(self._relation)
        assert isinstance(everything, CountedDelta)
        return everything.columns()[0]

    def page(self, bound: Mapping[int, Value], offset: int, limit: int) -> list[tuple[Row, int]]:
        """Some of the rows that have these values at these positions, and none besides."""
        reader = self._forest.reader()
        if bound:
            found = reader.matching(self._relation, list(bound), list(bound.values()))
            return [(row, 1) for row in islice(found, offset, offset + limit)]
        return [(reader.row(node), 1) for node in self._forest.alive(self._relation)[offset : offset + limit].tolist()]

    def items(self) -> ItemsView[Row, int]:
        # All at once: looking up each row that was just read would take far longer.
        return dict.fromkeys(self._forest.rows(self._relation), 1).items()
