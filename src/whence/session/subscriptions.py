"""Callbacks that hear of what every commit changed."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from whence.interrupts import held, interruptible
from whence.model.schema import Relation
from whence.session.feeds import feed_table
from whence.session.journal import Entry

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
