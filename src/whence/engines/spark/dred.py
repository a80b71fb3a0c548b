"""Delete and re-derive in the driver: rows rest on nobody knows what, so all that might be gone is deleted first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.moving import saturates
from whence.engines.local.recursive.steps import Source
from whence.engines.local.store import Readable
from whence.engines.reference.fixpoint import Limits
from whence.engines.spark.absorption import FlatAbsorption
from whence.engines.spark.paging import TooLargeError
from whence.engines.spark.run import Remembered, Run
from whence.engines.spark.supported import DEAD_HERE, Support, Supported
from whence.engines.spark.tuple_ids import UNKNOWN, UNPROVED
from whence.model.schema import Relation
from whence.model.types import Row


class FlatDRed(FlatAbsorption):
    """It differs from absorption in what dies: all that can be derived from what is gone."""

    untrusted = frozenset((UNPROVED,))

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Readable],
        own: Mapping[str, Supported],
        limits: Limits,
    ) -> None:
        super().__init__(component, relations, functions, stores, own, limits)
        # Otherwise only a value as good as the best one is a reason for the best one.
        self._any_value_counts = saturates(component, relations)

    def support_of(self, matcher: Matcher, found: Found, own: Callable[[str, Row], Support]) -> Support:  # noqa: ARG002
        return (UNKNOWN,)

    def kill(self, change: Change, run: Run) -> None:
        before: dict[str, Source] = {**{name: Remembered(rows) for name, rows in self._stores.items()}, **self._own}
        dead: dict[str, dict[Row, Support]] = {name: {} for name in self._own}
        todo: deque[tuple[str, Row]] = deque()
        left = DEAD_HERE

        def die(matcher: Matcher, found: Found) -> None:
            nonlocal left
            for row in self._resting_on(matcher, found):
                if row not in dead[matcher.relation]:
                    dead[matcher.relation][row] = ()
                    todo.append((matcher.relation, row))
                    left -= 1

        for way in self._rules.lost(change, before):
            die(*way)
        while todo:
            name, row = todo.popleft()
            for matcher, position in self._rules.readers[name]:
                for found in matcher.through(position, row, before):
                    die(matcher, found)
            if left < 0:
                raise TooLargeError
        for name, rows in dead.items():
            run.kill(name, rows)

    def _resting_on(self, matcher: Matcher, found: Found) -> Iterator[Row]:
        """The row, if there is one, that this way to satisfy a body may be a reason for."""
        bests = self._rules.bests.get(matcher.relation)
        if bests is None:
            # What follows from rows that were there was there.
            yield found.head
            return
        row, _ = self._own[matcher.relation].row_of(bests.positions, found.head)
        if row is not None:
            ranks = bests.ranks(tuple([row[position] for position in bests.positions]))
            if self._any_value_counts or any(
                rank == best for rank, best in zip(bests.ranks(found.values), ranks, strict=True)
            ):
                yield row
