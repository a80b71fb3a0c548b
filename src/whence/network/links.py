"""The links: bytes arrive after a while, and on each link in the order in which they were sent."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import NamedTuple

# So many rounds without a message that is due; no delay worth simulating is longer.
PATIENCE = 10_000


class Parcel(NamedTuple):
    sender: int
    receiver: int
    due: float
    data: bytes


class Links:
    """A message takes one round, and up to `delay` more, drawn at random from `seed`."""

    def __init__(self, delay: int = 0, seed: int = 0, patience: int = PATIENCE) -> None:
        self.delay = delay
        self.patience = patience
        self.now = 0
        self._chance = Random(seed)  # noqa: S311 - chance is not a secret here
        self._queues: dict[tuple[int, int], deque[Parcel]] = {}

    @property
    def is_busy(self) -> bool:
        return any(self._queues.values())

    def send(self, sender: int, receiver: int, data: bytes) -> None:
        queue = self._queues.setdefault((sender, receiver), deque())
        due = self.now + 1 + self.extra_delay(sender, receiver)
        queue.append(Parcel(sender, receiver, max(due, queue[-1].due) if queue else due, data))

    def extra_delay(self, sender: int, receiver: int) -> float:  # noqa: ARG002 - links may differ
        return self._chance.randint(0, self.delay) if self.delay else 0

    def tick(self) -> list[Parcel]:
        """One more round: what arrives in it."""
        self.now += 1
        arrived: list[Parcel] = []
        for queue in self._queues.values():
            while queue and queue[0].due <= self.now:
                arrived.append(queue.popleft())
        return arrived

    def overdue(self) -> Parcel | None:
        """A message that nobody should wait for any longer."""
        waiting = (queue[0] for queue in self._queues.values() if queue)
        return next((parcel for parcel in waiting if parcel.due > self.now + self.patience), None)

    def clear(self) -> None:
        """Forget what is under way."""
        self._queues.clear()
