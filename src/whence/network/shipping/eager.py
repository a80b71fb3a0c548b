"""MinShip, eager: what is kept goes out when there is a window full of it, and when nothing more is coming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.model.types import Row
from whence.network.outbox import Outbox
from whence.network.provenance.annotations import Annotations
from whence.network.shipping.buffering import Buffering

A = TypeVar("A")


class Eager(Buffering[A]):
    def __init__(self, annotations: Annotations[A], outbox: Outbox[A], journal: Journal, window: int) -> None:
        super().__init__(annotations, outbox, journal)
        self._window = window

    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[A]) -> None:
        start = 0
        while start < len(rows):
            # So many fill the window at most.
            end = start + self._window - len(self._kept.rows())
            super().offer(relation, rows[start:end], annotations[start:end])
            if len(self._kept.rows()) >= self._window:
                self.flush()
            start = end

    def flush(self) -> bool:
        kept = self._kept.rows()
        annotations = self._kept.of(kept)
        self._kept.drop(kept)
        self._sent.add(kept, annotations)
        self._send(kept, annotations)
        return bool(kept)
