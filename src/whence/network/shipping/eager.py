"""MinShip, eager: what is kept goes out when there is a window full of it, and when nothing more is coming."""

from __future__ import annotations

from typing import TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.network.outbox import Outbox
from whence.network.provenance.annotations import Annotations
from whence.network.shipping.buffering import Buffering
from whence.network.shipping.ship import Target

A = TypeVar("A")


class Eager(Buffering[A]):
    def __init__(self, annotations: Annotations[A], outbox: Outbox[A], journal: Journal, window: int) -> None:
        super().__init__(annotations, outbox, journal)
        self._window = window

    def offer(self, target: Target, annotation: A) -> None:
        super().offer(target, annotation)
        if len(self._kept) >= self._window:
            self.flush()

    def flush(self) -> bool:
        kept = list(self._kept.items())
        for target, annotation in kept:
            self._kept.drop(target)
            self._sent.put(target, self._annotations.plus(self._sent[target], annotation))
            self._outbox.derived(*target, annotation)
        return bool(kept)
