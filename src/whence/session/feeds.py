"""What commits tell those who follow a database: the feed of changes as an Arrow table, callbacks, and totals."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from whence.interrupts import held, interruptible
from whence.model.schema import Relation
from whence.model.updates import Commit, CountedDelta
from whence.session.contents import changes_schema, changes_table
from whence.session.journal import Entry, changes

if TYPE_CHECKING:
    import pyarrow as pa

# Changes of fewer rows are made into rows and back in less time.
FEW_ROWS = 64
Callback: TypeAlias = "Callable[[pa.Table], object]"

logger = logging.getLogger("whence")


def feed_table(relation: Relation, entries: Sequence[Entry]) -> pa.Table:
    """What `changes` tells of the entries, in the same order."""
    pieces: list[pa.Table] = []
    # Entries since the last one in columns.
    by_row: list[Entry] = []
    for entry in entries:
        piece = _in_columns(relation, entry)
        if piece is None:
            by_row.append(entry)
            continue
        if by_row:
            pieces.append(changes_table(relation, changes(relation, by_row)))
            by_row = []
        pieces.append(piece)
    if by_row or not pieces:
        pieces.append(changes_table(relation, changes(relation, by_row)))
    if len(pieces) == 1:
        return pieces[0]
    import pyarrow as pa

    return pa.concat_tables(pieces).combine_chunks()


def _in_columns(relation: Relation, entry: Entry) -> pa.Table | None:
    """The changes of an entry; None where they have to be told row by row."""
    delta = entry.delta
    if not isinstance(delta, CountedDelta) or len(delta) < FEW_ROWS:
        return None
    # A row that goes and one that comes may be the two images of an update.
    if relation.key and all(delta.totals):
        return None
    # Small changes need neither numpy nor Arrow's functions.
    import numpy as np
    import pyarrow as pa

    from whence.columns.delta import sorted_change

    found = sorted_change(delta)
    if found is None:
        return None
    gone, came = np.flatnonzero(found.weights < 0), np.flatnonzero(found.weights > 0)
    deletes, inserts = np.repeat(gone, -found.weights[gone]), np.repeat(came, found.weights[came])
    places = pa.array(np.concatenate([deletes, inserts]))
    is_whole = not all(delta.totals) and len(places) == len(delta)
    schema = changes_schema(relation)
    kinds = pa.concat_arrays([pa.repeat("delete", len(deletes)), pa.repeat("insert", len(inserts))])
    stamps = [pa.scalar(entry.version, schema[-2].type), pa.scalar(entry.timestamp, schema[-1].type)]
    rows = found.arrays if is_whole else [array.take(places) for array in found.arrays]
    return pa.Table.from_arrays([*rows, kinds, *(pa.repeat(each, len(places)) for each in stamps)], schema=schema)


class Subscription:
    """A callback's place in the list, until it is cancelled."""

    def __init__(self, relation: str, callback: Callback) -> None:
        self.relation = relation
        self.callback = callback
        self.active = True

    def cancel(self) -> None:
        """No more calls."""
        self.active = False


class Subscriptions:
    """Changes wait in a queue and are delivered outside of any commit, in the order of the commits.

    `all` are those who listen, and `queue` is what they have not heard of yet. One thread delivers at a time, so that a
    callback that changes the database itself does not get its own changes before others got what it reacted to.
    """

    def __init__(self) -> None:
        self.all: list[Subscription] = []
        self.queue: deque[tuple[Relation, Entry, list[Subscription]]] = deque()
        self._delivering = threading.Lock()

    def add(self, relation: str, callback: Callback) -> Subscription:
        subscription = Subscription(relation, callback)
        self.all = [other for other in self.all if other.active]
        self.all.append(subscription)
        return subscription

    def cancel(self, relation: str) -> None:
        """The relation is gone."""
        for subscription in self.all:
            if subscription.relation == relation:
                subscription.cancel()

    def post(self, relation: Relation, entry: Entry) -> None:
        listening = [each for each in self.all if each.active and each.relation == relation.name]
        if listening:
            self.queue.append((relation, entry, listening))

    def deliver(self) -> None:
        if not self.queue:
            return
        # A thread that finds the lock taken leaves its changes to the one that has it, which looks again when done.
        with held():
            while self.queue and self._delivering.acquire(blocking=False):
                try:
                    while self.queue:
                        self._call(*self.queue.popleft())
                finally:
                    self._delivering.release()

    def _call(self, relation: Relation, entry: Entry, listening: list[Subscription]) -> None:
        table = feed_table(relation, [entry])
        for at, subscription in enumerate(listening):
            if not subscription.active:
                continue
            try:
                interruptible(partial(subscription.callback, table))
            except Exception:
                # The commit has happened and the other subscribers wait: what one of them raises must stop neither.
                logger.exception("a subscriber of %r failed at version %d", relation.name, entry.version)
            except BaseException:
                # Those who have not heard of it yet do so after the next commit.
                self.queue.appendleft((relation, entry, listening[at + 1 :]))
                raise


@dataclass(slots=True)
class CommitTotals:
    """What the commits of a process add up to: how many there were, the seconds that they took, and their metrics,
    added up and those of the last.
    """

    commits: int = 0
    seconds: float = 0.0
    summed: defaultdict[str, int | float] = field(default_factory=lambda: defaultdict(int))
    last: Mapping[str, int | float] = field(default_factory=dict)

    def add(self, commit: Commit) -> Commit:
        self.commits += 1
        self.seconds += commit.elapsed
        for name, value in commit.metrics.items():
            if value:
                self.summed[name] += value
        self.last = commit.metrics
        return commit
