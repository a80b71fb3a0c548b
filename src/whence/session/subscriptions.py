"""Callbacks that hear of a relation's changes."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from whence.model.schema import Relation
from whence.session.history import Entry, changes

if TYPE_CHECKING:
    import pyarrow as pa

Callback: TypeAlias = "Callable[[pa.Table], object]"

logger = logging.getLogger("whence")


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

    One thread delivers at a time, so that a callback that changes the database itself does not get its own changes
    before others got what it reacted to.
    """

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._queue: deque[tuple[Relation, Entry, list[Subscription]]] = deque()
        self._delivering = threading.Lock()

    def add(self, relation: str, callback: Callback) -> Subscription:
        subscription = Subscription(relation, callback)
        self._subscriptions = [other for other in self._subscriptions if other.active]
        self._subscriptions.append(subscription)
        return subscription

    def cancel(self, relation: str) -> None:
        """The relation is gone."""
        for subscription in self._subscriptions:
            if subscription.relation == relation:
                subscription.cancel()

    def post(self, relation: Relation, entry: Entry) -> None:
        listening = [each for each in self._subscriptions if each.active and each.relation == relation.name]
        if listening:
            self._queue.append((relation, entry, listening))

    def deliver(self) -> None:
        # Whoever finds the lock taken leaves its changes to the thread that has it, which looks again when done.
        while self._queue and self._delivering.acquire(blocking=False):
            try:
                while self._queue:
                    self._call(*self._queue.popleft())
            finally:
                self._delivering.release()

    def _call(self, relation: Relation, entry: Entry, listening: list[Subscription]) -> None:
        from whence.session.arrow import changes_table

        table = changes_table(relation, changes(relation, [entry]))
        for subscription in listening:
            if not subscription.active:
                continue
            try:
                subscription.callback(table)
            except Exception:
                # The commit has happened and the other subscribers wait: what one of them raises must stop neither.
                logger.exception("a subscriber of %r failed at version %d", relation.name, entry.version)
