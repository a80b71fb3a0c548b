"""MinShip: the first derivation of a row is sent at once, further ones are kept and merged.

Each row that was sent has `sent`, what its node knows from here, and perhaps `kept`, what it does not know. When the
last of `sent` is struck, what is kept goes out in its place. Subclasses say when it goes out before that.

The operator printed in the literature sends a deletion whenever it has something in its place, and sends it first. Here
everyone hears of a struck leaf from the node where it was, so that nothing but the replacement is sent.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.network.holders import Holders
from whence.network.ledger import Ledger
from whence.network.outbox import Outbox
from whence.network.provenance.annotations import Annotations
from whence.network.shipping.ship import Target
from whence.network.values import Writer

A = TypeVar("A")


class Buffering(Generic[A]):
    def __init__(self, annotations: Annotations[A], outbox: Outbox[A], journal: Journal) -> None:
        self._annotations = annotations
        self._outbox = outbox
        self._sent: Ledger[Target, A] = Ledger(journal)
        self._kept: Ledger[Target, A] = Ledger(journal)
        self._holders: Holders[Target] = Holders(journal)

    def offer(self, target: Target, annotation: A) -> None:
        sent = self._sent.get(target)
        if sent is None:
            self._send(target, annotation)
        elif self._annotations.plus(sent, annotation) != sent:
            kept = self._kept.get(target)
            total = annotation if kept is None else self._annotations.plus(kept, annotation)
            if total != kept:
                self._kept.put(target, total)
                self._holders.add(target, self._annotations.leaves(total, kept))

    def settle(self) -> None:
        """What is sent has been sent."""

    def retract(self, target: Target, last: bool) -> None:
        if target in self._sent:
            self._outbox.deleted(*target)
            if last:
                self._sent.drop(target)

    def strike(self, ids: Collection[int]) -> None:
        holders = self._holders.take(ids)
        for table in (self._sent, self._kept):
            self._strike(table, [target for target in holders if target in table], ids)
        for target in holders:
            if target not in self._sent and target in self._kept:
                kept = self._kept[target]
                self._kept.drop(target)
                self._send(target, kept)

    def _strike(self, table: Ledger[Target, A], targets: Sequence[Target], ids: Collection[int]) -> None:
        annotations = self._annotations.without([table[target] for target in targets], ids)
        for target, left in zip(targets, annotations, strict=True):
            if self._annotations.is_zero(left):
                table.drop(target)
            else:
                table.put(target, left)

    def start_over(self, relations: Collection[str]) -> None:
        for target in [each for each in self._sent if each[1] in relations]:
            self._sent.drop(target)

    def flush(self) -> bool:
        return False

    def write(self, writer: Writer) -> None:
        for table in (self._sent, self._kept):
            for _, _, row in table:
                writer.row(row)
            writer.block(self._annotations.write(list(table.values())))

    def _send(self, target: Target, annotation: A) -> None:
        self._sent.put(target, annotation)
        self._holders.add(target, self._annotations.leaves(annotation, None))
        self._outbox.derived(*target, annotation)
