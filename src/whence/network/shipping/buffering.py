"""MinShip: the first derivation of a row is sent at once, further ones are kept and merged.

Each row that was sent has `sent`, what its node knows from here, and perhaps `kept`, what it does not know. When the
last of `sent` is struck, what is kept goes out in its place. Subclasses say when it goes out before that.

The operator printed in the literature sends a deletion whenever it has something in its place, and sends it first. Here
everyone hears of a struck leaf from the node where it was, so that nothing but the replacement is sent.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

from whence.engines.local.recursive.journal import Journal
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
        # Where a leaf may occur; never too little.
        self._holders: Ledger[int, set[Target]] = Ledger(journal)

    def offer(self, target: Target, annotation: A) -> None:
        sent = self._sent.get(target)
        if sent is None:
            self._send(target, annotation)
        elif self._annotations.plus(sent, annotation) != sent:
            kept = self._kept.get(target)
            self._kept.put(target, annotation if kept is None else self._annotations.plus(kept, annotation))
            self._index(target, annotation)

    def retract(self, target: Target, last: bool) -> None:
        if target in self._sent:
            self._outbox.deleted(*target)
            if last:
                self._sent.drop(target)

    def strike(self, ids: Collection[int]) -> None:
        targets: dict[Target, None] = {}
        for tuple_id in ids:
            if tuple_id in self._holders:
                targets.update(dict.fromkeys(self._holders[tuple_id]))
                self._holders.drop(tuple_id)
        for target in sorted(targets, key=repr):
            self._strike(target, ids)

    def _strike(self, target: Target, ids: Collection[int]) -> None:
        kept = self._remaining(self._kept, target, ids)
        if self._remaining(self._sent, target, ids) is None and kept is not None:
            self._kept.drop(target)
            self._send(target, kept)

    def _remaining(self, table: Ledger[Target, A], target: Target, ids: Collection[int]) -> A | None:
        annotation = table.get(target)
        if annotation is None:
            return None
        left = self._annotations.without(annotation, ids)
        if self._annotations.is_zero(left):
            table.drop(target)
            return None
        table.put(target, left)
        return left

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
        self._index(target, annotation)
        self._outbox.derived(*target, annotation)

    def _index(self, target: Target, annotation: A) -> None:
        for leaf in self._annotations.leaves(annotation):
            holders = self._holders.get(leaf)
            if holders is None:
                self._holders.put(leaf, {target})
            else:
                holders.add(target)
